"""The grammar of names, parsed in one place.

    strategy   frozen_ebm:norm=l2,dim=64        several in a row: mlm+frozen_ebm
    task       sts/STS12:train=nli              family, slash, what the family reads, options
    train set  sst2@1000                        several in a row: sst2+ag_news
    backbone   embedded:pooling=cls,layer=4     or org/name@revision, or a folder
    seeds      5                                or sample=0-4,init=0-2,order=0

A name holds no character that a shell takes. Every error quotes the name and marks the character it stumbled on.
"""

import dataclasses
import functools
import math
import re
import types
import typing
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeVar

from thawbench.contracts import Seeds, Stream
from thawbench.errors import UserError, nearest, unknown

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRATEGY_VALUE = re.compile(r"[A-Za-z0-9_./@~-]+")
_TASK_BODY = re.compile(r"[A-Za-z0-9_./@~+-]+")
_TASK_VALUE = _TASK_BODY
_BACKBONE = re.compile(r"[A-Za-z0-9_./@~+-]+")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_STREAMS = typing.get_args(Stream)
_FILE = re.compile(r"(.+?\.py)(?=[:+]|$)(.*)")

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True)
class Spec:
    """A name and its options, as they were given."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        listed = ",".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}:{listed}" if listed else self.name

    def without(self, key: str) -> "Spec":
        """The same, less one option."""
        return Spec(self.name, tuple(option for option in self.options if option[0] != key))

    def get(self, key: str) -> str | None:
        """An option's value, or None."""
        return dict(self.options).get(key)


class _Reader:
    """A cursor over one name."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)

    def fail(self, expected: str) -> UserError:
        if self.done:
            where = f"at its end: {self.text}»«"
        else:
            marked = f"{self.text[: self.at]}»{self.text[self.at]}«{self.text[self.at + 1 :]}"
            where = f"at character {self.at + 1}: {marked}"
        return UserError(f"malformed {self.kind} {where} (expected {expected})")

    def take(self, pattern: re.Pattern[str], expected: str) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise self.fail(expected)
        self.at = match.end()
        return match.group()

    def accept(self, character: str) -> bool:
        if not self.done and self.text[self.at] == character:
            self.at += 1
            return True
        return False

    def options(self, value: re.Pattern[str], end: str) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        if self.accept(":"):
            while True:
                start = self.at
                key = self.take(_KEY, "a key, as in key=value")
                if key in found:
                    self.at = start
                    raise self.fail(f"each key once, and {key!r} came before")
                if not self.accept("="):
                    raise self.fail(f"'=' after {key!r}")
                found[key] = self.take(value, f"a value for {key!r}")
                if not self.accept(","):
                    break
        if not self.done and self.text[self.at] not in end:
            allowed = " or ".join(f"{character!r}" for character in (":" if not found else ",") + end)
            raise self.fail(f"{allowed}, or the end")
        return tuple(found.items())


def strategy_file(text: str) -> tuple[str, str]:
    """Where a strategy is given as a file, its path, which may hold any character, and the text behind it.

    `.pyenv/a+b/my_idea.py:dim=64+frozen_ebm` is `.pyenv/a+b/my_idea.py` and `:dim=64+frozen_ebm`. If there is no file,
    the path is empty and the text is the whole.
    """
    match = _FILE.fullmatch(text)
    return (match[1], match[2]) if match else ("", text)


def parse_strategies(text: str) -> tuple[Spec, ...]:
    """Strategies in a row: `mlm+frozen_ebm:dim=64`.

    Raises:
        UserError: malformed; the character is marked.
    """
    reader = _Reader("strategy", text)
    specs = []
    while True:
        name = reader.take(_WORD, "the name of a strategy")
        specs.append(Spec(name, reader.options(_STRATEGY_VALUE, "+")))
        if not reader.accept("+"):
            return tuple(specs)


@dataclass(frozen=True)
class TaskName:
    """A task's name in its parts: `sts/STS12:train=nli` is the family `sts`, the body `STS12` and one option."""

    family: str
    body: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return str(Spec(f"{self.family}/{self.body}", self.options))


def parse_task(text: str) -> TaskName:
    """A task: family, slash, body, options.

    Raises:
        UserError: malformed; the character is marked.
    """
    reader = _Reader("task", text)
    family = reader.take(_KEY, "a family of tasks, as in sts/STS12")
    if not reader.accept("/"):
        raise reader.fail("'/' after the family, as in sts/STS12")
    body = reader.take(_TASK_BODY, "what the family is to measure, as in sts/STS12")
    return TaskName(family, body, reader.options(_TASK_VALUE, ""))


def parse_chain(text: str) -> tuple[str, ...]:
    """Train sets in a row: `sst2@100+ag_news`.

    Raises:
        UserError: malformed; the character is marked.
    """
    reader = _Reader("train set", text)
    names = []
    while True:
        names.append(reader.take(re.compile(r"[A-Za-z0-9_./@~-]+"), "the name of a train set"))
        if not reader.accept("+"):
            break
    if not reader.done:
        raise reader.fail("'+' or the end")
    return tuple(names)


def parse_backbone(text: str) -> Spec:
    """A backbone: `embedded`, an id on the Hub or a folder, and options.

    Raises:
        UserError: malformed; the character is marked.
    """
    reader = _Reader("backbone", text)
    name = reader.take(_BACKBONE, "`embedded`, org/name or a folder")
    return Spec(name, reader.options(_STRATEGY_VALUE, ""))


def parse_seeds(text: str) -> tuple[Seeds, ...]:
    """Seeds: a number n gives (k, k, k) for k < n; ranges by stream are crossed.

    Raises:
        UserError: malformed; the character is marked.
    """
    reader = _Reader("seeds", text)
    if text.isdecimal():
        if int(text) < 1:
            raise reader.fail("at least 1 seed")
        return tuple(Seeds(k, k, k) for k in range(int(text)))
    ranges: dict[str, range] = {}
    while True:
        start = reader.at
        key = reader.take(_KEY, "a number, or ranges such as sample=0-4,init=0-2,order=0")
        if key not in _STREAMS or key in ranges:
            reader.at = start
            close = [] if key in ranges else nearest(key, _STREAMS)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise reader.fail(f"each of sample, init and order at most once{hint}")
        if not reader.accept("="):
            raise reader.fail(f"'=' after {key!r}")
        at = reader.at
        match = _RANGE.fullmatch(reader.take(re.compile(r"[0-9-]+"), "a range such as 0-4"))
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if high < low:
            reader.at = at
            raise reader.fail("a range such as 0-4, from low to high")
        ranges[key] = range(low, high + 1)
        if not reader.accept(","):
            break
    if not reader.done:
        raise reader.fail("',' or the end")
    zero = range(1)
    streams = [ranges.get(stream, zero) for stream in _STREAMS]
    return tuple(Seeds(*triple) for triple in product(*streams))


def configure(config: type[ConfigT], spec: Spec, kind: str) -> ConfigT:
    """A configuration dataclass out of a name's options, each converted to its field's type.

    Raises:
        UserError: a key that is no field, or a value that its field's type does not take.
    """
    hints = _hints(typing.cast(Any, config))
    fields = [item.name for item in dataclasses.fields(config)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, text in spec.options:
        if key not in fields:
            raise unknown(f"option of {kind} {spec.name}", key, fields)
        values[key] = _convert(text, hints[key], f"{kind} {spec.name}: {key}={text}")
    try:
        return config(**values)
    except ValueError as error:  # a configuration may check its own ranges
        raise UserError(f"{kind} {spec}: {error}") from None


@functools.cache
def _hints(config: type[Any]) -> dict[str, Any]:
    """The types of a class's fields; a plan of a whole matrix asks for them at every step of every cell."""
    return typing.get_type_hints(config)


def _convert(text: str, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        if text == "none" and len(options) < len(typing.get_args(hint)):
            return None
        return _convert(text, options[0], where)
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        for choice in choices:
            if str(choice) == text:
                return choice
        raise UserError(f"{where} is not one of {', '.join(map(str, choices))}")
    if hint is bool:
        if text in ("true", "false"):
            return text == "true"
        raise UserError(f"{where} is not true or false")
    try:
        value = hint(text)
        if hint is float and not math.isfinite(value):  # it could not be part of a key: JSON has no such number
            raise ValueError
        return value
    except ValueError:
        raise UserError(f"{where} is not {'a whole number' if hint is int else 'a number'}") from None
