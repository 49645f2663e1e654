"""What `strict_json` makes of bytes that a sum vouches for, by msgspec and at some three times the speed."""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from thawbench.suite.strict_json import check_of

T = TypeVar("T")
_Builder = Callable[[Any], Any]
_KEPT = 1024
"""Spellings that are remembered of each type of which many are alike."""


def decode_written(target: type[T], content: bytes, alike: frozenset[type] = frozenset()) -> T:
    """What `strict_json.decode` makes of these bytes, which `json.dumps` wrote: no key stands twice in an object.

    Args:
        alike: dataclasses that are mostly spelled as they were before, as an environment is in thousands of records:
            a spelling is read once, and its object then stands in all of them. Not so where null may stand.

    Raises:
        ValueError: something is wrong, and `strict_json.decode` says what.
    """
    hint: Any = target  # mypy does not know that a class can be hashed
    try:
        made: T = _reader(hint, alike)(content)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    return made


@functools.cache
def _reader(hint: Any, alike: frozenset[type]) -> Callable[[Any], Any]:
    """What parses JSON into structs, which take no unknown field as dataclasses would, and makes of them what is asked.

    Those of which many are alike stay as they are spelled at first.
    """
    build = _dataclass_builder(hint, alike)
    parse = msgspec.json.Decoder(_struct(hint, alike)).decode
    return lambda content: build(parse(content))


def _struct(hint: Any, alike: frozenset[type]) -> Any:
    hints = typing.get_type_hints(hint)
    fields = [(field.name, _shape(hints[field.name], alike)) for field in dataclasses.fields(hint)]
    return msgspec.defstruct(getattr(hint, "__name__", "Shape"), fields, forbid_unknown_fields=True, gc=False)


@functools.cache
def _shape(hint: Any, alike: frozenset[type]) -> Any:
    """The type for msgspec: each dataclass is a struct whose fields are all required."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return msgspec.Raw if hint in alike else _struct(hint, alike)
    if origin is types.UnionType:
        shapes = tuple(_shape(each, frozenset()) for each in arguments)  # msgspec knows no Raw | None
        return typing.Union[shapes]  # noqa: UP007 - built from what is only known here
    if origin is tuple:
        return types.GenericAlias(tuple, (_shape(arguments[0], alike), ...))
    return types.GenericAlias(dict, (str, _shape(arguments[1], alike))) if origin is Mapping else hint


@functools.cache
def _builder(hint: Any, alike: frozenset[type]) -> _Builder | None:
    """What makes the value of this type from that of its shape; None if they are one and the same."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        known = functools.lru_cache(_KEPT)(_reader(hint, alike)) if hint in alike else None
        return _dataclass_builder(hint, alike) if known is None else lambda spelled: known(bytes(spelled))
    if origin is Literal or not arguments:
        return None
    kept = frozenset() if origin is types.UnionType else alike
    build = next(filter(None, (_builder(each, kept) for each in arguments)), None)
    if build is None:
        return None
    if origin is tuple:
        return lambda items: tuple(map(build, items))
    if origin is Mapping:
        return lambda items: {key: build(item) for key, item in items.items()}
    return lambda value: None if value is None else build(value)


def _dataclass_builder(hint: Any, alike: frozenset[type]) -> _Builder:
    hints = typing.get_type_hints(hint)
    inner = [(field.name, _builder(hints[field.name], alike)) for field in dataclasses.fields(hint)]
    nested = [(name, build) for name, build in inner if build is not None]
    check = check_of(hint)

    def build(parsed: msgspec.Struct) -> Any:
        made = object.__new__(hint)
        inside = made.__dict__
        inside.update(msgspec.structs.asdict(parsed))
        for name, build_field in nested:
            inside[name] = build_field(inside[name])
        if check is not None:
            check(made)
        return made

    return build
