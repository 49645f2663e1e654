"""JSON read with nothing taken on trust: into frozen dataclasses, every field there, known and of its type."""

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

T = TypeVar("T")
_Decoder = Callable[[Any], Any]
_LEAVES = frozenset({str, int, float, bool, type(None)})


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
    hint: Any = target  # mypy does not know that a class can be hashed
    try:
        decoded: T = _decoder(hint)(value)
    except ValueError as error:
        raise ValueError(_at("the whole", error) if str(error).startswith(" ") else str(error)) from None
    return decoded


@functools.cache
def _decoder(hint: Any) -> _Decoder:
    """What makes a value of this type, worked out once: a folder has thousands of records.

    It raises ValueError with a text that goes on from the name of the field: ` is 1, expected str`.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: value
    if dataclasses.is_dataclass(hint):
        return _fields_decoder(hint)
    if origin is types.UnionType:
        (option,) = [option for option in arguments if option is not type(None)]
        decode_option = _decoder(option)
        return lambda value: None if value is None else decode_option(value)
    if origin is tuple:
        return _items_decoder(_decoder(arguments[0]), hint)
    if origin is Mapping:
        return _values_decoder(_decoder(arguments[1]), hint)
    return _plain_decoder(hint, arguments if origin is Literal else None)


def _plain_decoder(hint: Any, choices: tuple[Any, ...] | None) -> _Decoder:
    def decode_plain(value: Any) -> Any:
        if choices is not None:
            if isinstance(value, str) and value in choices:
                return value
        # bool is a subclass of int, and 1e999 is read as an infinity
        elif hint is float:
            if type(value) in (int, float) and math.isfinite(value):
                return float(value)
        elif type(value) is hint:
            return value
        raise _wrong(value, hint)

    return decode_plain


def _items_decoder(decode_item: _Decoder, hint: Any) -> _Decoder:
    def decode_items(value: Any) -> Any:
        if not isinstance(value, list):
            raise _wrong(value, hint)
        found: list[Any] = []
        try:
            for item in value:
                found.append(decode_item(item))
        except ValueError as error:
            raise ValueError(_at(f"[{len(found)}]", error)) from None
        return tuple(found)

    return decode_items


def _values_decoder(decode_value: _Decoder, hint: Any) -> _Decoder:
    def decode_values(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, hint)
        found = {}
        key = ""
        try:
            for key, item in value.items():
                found[key] = decode_value(item)
        except ValueError as error:
            raise ValueError(_at(key, error)) from None
        return found

    return decode_values


def _fields_decoder(hint: Any) -> _Decoder:
    hints = typing.get_type_hints(hint)
    decoders = {item.name: _decoder(hints[item.name]) for item in dataclasses.fields(hint)}

    def decode_fields(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f" is {value!r:.60}, expected an object")
        if value.keys() != decoders.keys():
            for name in decoders:
                if name not in value:
                    raise ValueError(f"{name} is missing")
            raise ValueError(f"{next(name for name in value if name not in decoders)} is unknown")
        decoded = {}
        name = ""
        try:
            for name, decode_field in decoders.items():
                decoded[name] = decode_field(value[name])
        except ValueError as error:
            raise ValueError(_at(name, error)) from None
        try:
            return hint(**decoded)
        except TypeError as error:
            raise ValueError(str(error)) from None

    return decode_fields


def _at(name: str, error: ValueError) -> str:
    """The text of an error inside this field."""
    text = str(error)
    return f"{name}{text}" if text.startswith((" ", "[")) else f"{name}.{text}"


def _wrong(value: Any, hint: Any) -> ValueError:
    plain = typing.get_origin(hint) is None
    expected = hint.__name__ if plain else str(hint).replace("typing.", "").replace("collections.abc.", "")
    return ValueError(f" is {value!r:.60}, expected {expected}")


def _check_keys(value: Any) -> None:
    if isinstance(value, dict | Mapping):
        for key, item in value.items():
            if not isinstance(key, str):  # json.dumps would make 1 and "1" the same key
                raise TypeError(f"{key!r} is a key in JSON, and not a string")
            if type(item) not in _LEAVES:
                _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            if type(item) not in _LEAVES:
                _check_keys(item)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
