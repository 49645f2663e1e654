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


def decode_written(target: type[T], content: bytes) -> T:
    """What `strict_json.decode` makes of these bytes, which `json.dumps` wrote: no key stands twice in an object.

    Raises:
        ValueError: something is wrong, and `strict_json.decode` says what.
    """
    hint: Any = target  # mypy does not know that a class can be hashed
    parse, build = _reader(hint)
    try:
        made: T = build(parse(content))
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    return made


@functools.cache
def _reader(hint: Any) -> tuple[Callable[[bytes], Any], _Builder]:
    """How to parse JSON into structs, which take no unknown field as dataclasses would, and what to make of them."""
    build = _builder(hint)
    assert build is not None
    return msgspec.json.Decoder(_shape(hint)).decode, build


@functools.cache
def _shape(hint: Any) -> Any:
    """The type for msgspec: each dataclass is a struct whose fields are all required."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        fields = [(field.name, _shape(hints[field.name])) for field in dataclasses.fields(hint)]
        return msgspec.defstruct(getattr(hint, "__name__", "Shape"), fields, forbid_unknown_fields=True, gc=False)
    if origin is types.UnionType:
        return typing.Union[tuple(map(_shape, arguments))]  # noqa: UP007 - built from what is only known here
    if origin is tuple:
        return types.GenericAlias(tuple, (_shape(arguments[0]), ...))
    return types.GenericAlias(dict, (str, _shape(arguments[1]))) if origin is Mapping else hint


@functools.cache
def _builder(hint: Any) -> _Builder | None:
    """What makes the value of this type from that of its shape; None if they are one and the same."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return _dataclass_builder(hint)
    if origin is Literal or not arguments:
        return None
    build = next(filter(None, map(_builder, arguments)), None)
    if build is None:
        return None
    if origin is tuple:
        return lambda items: tuple(map(build, items))
    if origin is Mapping:
        return lambda items: {key: build(item) for key, item in items.items()}
    return lambda value: None if value is None else build(value)


def _dataclass_builder(hint: Any) -> _Builder:
    hints = typing.get_type_hints(hint)
    inner = [(field.name, _builder(hints[field.name])) for field in dataclasses.fields(hint)]
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
