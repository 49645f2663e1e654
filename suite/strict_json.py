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
    return spelled_json(value)


def spelled_json(value: Any) -> str:
    """The same of what is plain JSON already, parsed for example: all keys are strings.

    Raises:
        ValueError: a number that is not finite.
    """
    return _SPELLER.encode(value)


def loads(content: bytes) -> Any:
    """Parsed JSON.

    Raises:
        ValueError: not UTF-8, not JSON, NaN or an infinity in it, or one key twice in an object.
    """
    return _PARSER.decode(content.decode())


def decode(target: type[T], value: Any) -> T:
    """A dataclass out of parsed JSON. Its fields may be plain types, Any, Literal, X | None, tuple[X, ...],
    Mapping[str, X] and dataclasses of these. If it has a method `check`, that takes the place of `__post_init__`: what
    comes out of JSON needs not be made plain.

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
        return _option_decoder(_decoder(option))
    if origin is tuple:
        return _items_decoder(_as_they_are(arguments[0]), _decoder(arguments[0]), hint)
    if origin is Mapping:
        return _values_decoder(_as_they_are(arguments[1]), _decoder(arguments[1]), hint)
    return _choice_decoder(hint, frozenset(arguments)) if origin is Literal else _plain_decoder(hint)


def check_of(hint: Any) -> Callable[[Any], None] | None:
    """What refuses a dataclass that comes out of JSON; None if nothing does."""
    found: Callable[[Any], None] | None = getattr(hint, "check", getattr(hint, "__post_init__", None))
    return found


def _option_decoder(decode_option: _Decoder) -> _Decoder:
    return lambda value: None if value is None else decode_option(value)


def _choice_decoder(hint: Any, choices: frozenset[Any]) -> _Decoder:
    def decode_choice(value: Any) -> Any:
        if type(value) is str and value in choices:
            return value
        raise _wrong(value, hint)

    return decode_choice


def _plain_decoder(hint: Any) -> _Decoder:
    if hint is float:
        return _decode_float

    def decode_plain(value: Any) -> Any:
        if type(value) is hint:  # bool is a subclass of int
            return value
        raise _wrong(value, hint)

    return decode_plain


def _decode_float(value: Any) -> float:
    try:
        if type(value) in (float, int) and math.isfinite(value):  # 1e999 is read as an infinity
            return float(value)
    except OverflowError:  # of a whole number with more digits than a float can have
        pass
    raise _wrong(value, float)


def _items_decoder(kinds: frozenset[type], decode_item: _Decoder, hint: Any) -> _Decoder:
    def decode_items(value: Any) -> Any:
        if not isinstance(value, list):
            raise _wrong(value, hint)
        found: list[Any] = []
        try:
            for item in value:
                found.append(item if type(item) in kinds else decode_item(item))
        except ValueError as error:
            raise ValueError(_at(f"[{len(found)}]", error)) from None
        return tuple(found)

    return decode_items


def _values_decoder(kinds: frozenset[type], decode_value: _Decoder, hint: Any) -> _Decoder:
    def decode_values(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, hint)
        found = {}
        key = ""
        try:
            for key, item in value.items():
                found[key] = item if type(item) in kinds else decode_value(item)
        except ValueError as error:
            raise ValueError(_at(key, error)) from None
        return found

    return decode_values


def _fields_decoder(hint: Any) -> _Decoder:
    """A folder has a hundred thousand records of some eighty fields: what is right at first sight is not called for,
    and the fields are put in at once, as every one of them is there."""
    hints = typing.get_type_hints(hint)
    fields = [
        (item.name, _as_they_are(hints[item.name]), _decoder(hints[item.name])) for item in dataclasses.fields(hint)
    ]
    names = frozenset(name for name, _, _ in fields)
    check = check_of(hint)

    def decode_fields(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f" is {value!r:.60}, expected an object")
        if value.keys() != names:
            for name, _, _ in fields:
                if name not in value:
                    raise ValueError(f"{name} is missing")
            raise ValueError(f"{next(name for name in value if name not in names)} is unknown")
        decoded = object.__new__(hint)
        inside = decoded.__dict__
        name = ""
        try:
            for name, kinds, decode_field in fields:
                item = value[name]
                inside[name] = item if type(item) in kinds else decode_field(item)
        except ValueError as error:
            raise ValueError(_at(name, error)) from None
        if check is not None:
            try:
                check(decoded)
            except TypeError as error:
                raise ValueError(str(error)) from None
        return decoded

    return decode_fields


def _as_they_are(hint: Any) -> frozenset[type]:
    """The types of JSON values that are right for this hint whatever their value, and stay as they are."""
    if hint is Any:
        return frozenset({str, int, float, bool, list, dict, type(None)})
    if hint in (str, bool, int):
        return frozenset({hint})
    if typing.get_origin(hint) is types.UnionType:
        options = typing.get_args(hint)
        return frozenset().union(*(_as_they_are(option) for option in options), {type(None)} & set(options))
    return frozenset()


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


_PARSER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_SPELLER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
