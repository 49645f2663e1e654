"""JSON read with nothing taken on trust: into frozen dataclasses, every field there, known and of its type."""

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: keys sorted, no spaces, no NaN.

    Raises:
        TypeError, ValueError: it holds a key that is not a string, a number that is not finite, or no JSON at all.
    """
    _check_keys(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def loads(content: bytes) -> Any:
    """Parsed JSON.

    Raises:
        ValueError: not UTF-8, not JSON, NaN or an infinity in it, or one key twice in an object.
    """
    return json.loads(content.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)


def decode(target: type[T], value: Any) -> T:
    """A dataclass out of parsed JSON. Its fields may be plain types, Any, Literal, X | None, tuple[X, ...],
    Mapping[str, X] and dataclasses of these.

    Raises:
        ValueError: a field is missing, unknown or of another type, or the dataclass refuses it; the field is named.
    """
    decoded: T = _decode_fields(target, value, "")
    return decoded


def _decode(hint: Any, value: Any, field: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _decode_fields(hint, value, field)
    if origin is types.UnionType:
        (option,) = [option for option in arguments if option is not type(None)]
        return None if value is None else _decode(option, value, field)
    if origin is Literal and isinstance(value, str) and value in arguments:
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_decode(arguments[0], item, f"{field}[{position}]") for position, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _decode(arguments[1], item, f"{field}.{key}") for key, item in value.items()}
    # bool is a subclass of int, and 1e999 is read as an infinity
    if hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if hint is not float and type(value) is hint:
        return value
    expected = hint.__name__ if origin is None else str(hint).replace("typing.", "").replace("collections.abc.", "")
    raise ValueError(f"{field} is {value!r:.60}, expected {expected}")


def _decode_fields(hint: Any, value: Any, field: str) -> Any:
    prefix = f"{field}." if field else ""
    if not isinstance(value, dict):
        raise ValueError(f"{field or 'the whole'} is {value!r:.60}, expected an object")
    hints = _hints(hint)
    for name in hints:
        if name not in value:
            raise ValueError(f"{prefix}{name} is missing")
    for name in value:
        if name not in hints:
            raise ValueError(f"{prefix}{name} is unknown")
    decoded = {name: _decode(each, value[name], f"{prefix}{name}") for name, each in hints.items()}
    try:
        return hint(**decoded)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{prefix}{error}") from None


@functools.cache
def _hints(target: Any) -> Mapping[str, Any]:
    """The type of each field, worked out once: a folder has thousands of records."""
    hints = typing.get_type_hints(target)
    return {item.name: hints[item.name] for item in dataclasses.fields(target)}


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):  # json.dumps would make 1 and "1" the same key
                raise TypeError(f"{key!r} is a key in JSON, and not a string")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
