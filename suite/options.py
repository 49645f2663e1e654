"""The options that `pytest suite/` and `thawbench run` share: one list, so that both mean the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thawbench.errors import UserError
from thawbench.suite.profile import DEFAULT

_MOST = 10**9
"""Steps, or seconds: some thirty years, and about as many as an alarm can be set to."""

_MOST_THREADS = 4096
"""More than any machine has processors for; torch takes no number that is much greater, and cannot start so many."""


@dataclass(frozen=True)
class Option:
    """One option; `many` may be repeated, `flag` takes no value."""

    name: str
    help: str
    default: str = ""
    many: bool = False
    flag: bool = False

    @property
    def key(self) -> str:
        """The option's name as a Python name."""
        return self.name.replace("-", "_")


OPTIONS = (
    Option(
        "strategy", "a strategy such as frozen_ebm:norm=l2, a glob, `all`, or a file my_idea.py; repeatable", many=True
    ),
    Option("task", "a task such as sts/STS12, or a glob over the profile's tasks; repeatable", many=True),
    Option("set", "a TOML file that makes your own rows a set: then fewshot/NAME@100; repeatable", many=True),
    Option("profile", "which matrix to run: `thawbench list profiles`, or a TOML file", default=DEFAULT),
    Option("backbone", "`embedded`, `tiny`, an encoder on the Hub (org/name@revision), or a folder [the profile's]"),
    Option("seeds", "a number, or ranges that are crossed: sample=0-4,init=0-2,order=0 [the profile's]"),
    Option("results", "the folder that keeps records, traces and checkpoints", default="results"),
    Option("precision", "float32, bfloat16, or auto: bfloat16 where the hardware is faster in it", default="auto"),
    Option("device", "cpu, cuda, mps, or auto", default="auto"),
    Option("threads", "processor threads; recorded, as they change the last bits of trained weights [torch's]"),
    Option("steps", "so many training steps in every fit: a quick look [the strategy's own]"),
    Option("cell-timeout", "seconds a cell may take; then it is recorded as such, and goes on when asked again [none]"),
    Option("fresh", "run every cell again, whatever is recorded", flag=True),
    Option("keep-checkpoints", "keep adapted weights after the last planned cell that needs them", flag=True),
)


@dataclass(frozen=True)
class Settings:
    """The options' values, checked."""

    strategy: tuple[str, ...]
    task: tuple[str, ...]
    set: tuple[str, ...]
    profile: str
    backbone: str
    seeds: str
    results: Path
    precision: str
    device: str
    threads: int | None
    steps: int | None
    cell_timeout: int | None
    fresh: bool
    keep_checkpoints: bool


def settings(values: Mapping[str, Any]) -> Settings:
    """Settings out of raw values, by the options' keys.

    Raises:
        UserError: a value that cannot be.
    """
    return Settings(
        strategy=tuple(values["strategy"] or ()),
        task=tuple(values["task"] or ()),
        set=tuple(values["set"] or ()),
        profile=values["profile"],
        backbone=values["backbone"] or "",
        seeds=values["seeds"] or "",
        results=Path(values["results"]),
        precision=values["precision"],
        device=values["device"],
        threads=_count("threads", values),
        steps=_count("steps", values),
        cell_timeout=_count("cell_timeout", values),
        fresh=bool(values["fresh"]),
        keep_checkpoints=bool(values["keep_checkpoints"]),
    )


def _count(key: str, values: Mapping[str, Any]) -> int | None:
    text = str(values[key] or "")
    number = int(text[:20]) if text.isdecimal() else 0  # more digits than that are too many, and int takes not all
    if text and number < 1:
        raise UserError(f"--{key.replace('_', '-')} {text} is not a whole number above 0")
    most = _MOST_THREADS if key == "threads" else _MOST
    if number > most:
        raise UserError(f"--{key.replace('_', '-')} {text} is too large; give at most {most}")
    return number or None
