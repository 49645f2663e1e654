"""A claim as its TOML file states it: a sentence, whose it is, and the comparisons that records decide it by."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.names import TaskName, parse_strategies, parse_task

FOLDER = Path(__file__).parent / "claims"
LEAST_SETS = 2
BEST_OF_MORE = 2
"""A best of k is read at k + 2 seeds or more: one is left out at a time, and it must still be a best of k."""

Kind = Literal["difference", "spread", "best_of", "trend", "correlation"]
Direction = Literal["higher", "lower"]

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "difference": ("first", "second"),
    "spread": ("first", "second"),
    "best_of": ("first", "k"),
    "trend": ("first",),
    "correlation": ("strategies", "second_tasks"),
}
_TAKES: Mapping[str, tuple[str, ...]] = {
    "difference": ("second_tasks", "metric"),
    "spread": ("metric",),
    "best_of": ("second",),
    "trend": ("second", "second_tasks", "metric", "curve"),
    "correlation": ("metric", "second_metric"),
}
_ALWAYS = ("kind", "direction", "smallest", "tasks")
_ANYWAY = ("seeds", "backbone")
_LEAST = {"spread": 5, "correlation": LEAST_SEEDS}
FEWEST_STRATEGIES = 7


@dataclass(frozen=True)
class Part:
    """One comparison of a claim. What a kind does not take is empty.

    Attributes:
        kind: `difference`: the first strategy's score less the second's. `spread`: of their distances from the median
            over seeds. `best_of`: the first's run of k that is best on dev, against a single run of the second, or of
            its own. `trend`: how much a curve of the first rises from end to end, or its score over the n of its tasks;
            less the second's. `correlation`: Spearman's, over strategies, of two columns of tasks.
        direction: of what the claim says of that number.
        smallest: the least effect that matters, times 100 as boards print scores. Only what is beyond it is claimed;
            below 0 it is a loss that does not matter.
        tasks, second_tasks: those of the first and of the second strategy (else the same), or of the two columns.
        metric, second_metric: a metric's name, else the main one; of `fit_s` and `encode_s` the logarithm is taken.
        curve: the name of a curve, or a glob of several, whose mean counts.
        seeds: a verdict needs so many.
        backbone: as records spell it.
    """

    kind: Kind
    direction: Direction
    smallest: float
    tasks: tuple[str, ...]
    first: str = ""
    second: str = ""
    strategies: tuple[str, ...] = ()
    second_tasks: tuple[str, ...] = ()
    metric: str = ""
    second_metric: str = ""
    curve: str = ""
    k: int = 0
    seeds: int = LEAST_SEEDS
    backbone: str = "embedded"

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Every strategy with every task that is read of it, once each."""
        others = self.second_tasks or self.tasks
        if self.kind == "correlation":
            pairs = [(name, task) for name in self.strategies for task in (*self.tasks, *others)]
        else:
            pairs = [(self.first, task) for task in self.tasks]
            pairs += [(self.second, task) for task in others] if self.second else []
        return tuple(dict.fromkeys(pairs))


@dataclass(frozen=True)
class Claim:
    """What is claimed. It holds if every part does, and does not if any does not.

    Attributes:
        id: the stem of its file.
        source: who says so, or hopes so.
        note: where what is measured here differs from the source; may be empty.
    """

    id: str
    sentence: str
    source: str
    parts: tuple[Part, ...]
    note: str = ""


def read_claims(folder: Path = FOLDER) -> tuple[Claim, ...]:
    """Every claim of a folder, by id.

    Raises:
        UserError: there is none, or as of `read_claim`.
    """
    paths = sorted(folder.glob("*.toml"), key=lambda path: path.stem)
    if not paths:
        raise UserError(f"there are no claims in {folder}; a claim is a TOML file there, as CONTRIBUTING.md says")
    return tuple(map(read_claim, paths))


def read_claim(path: Path) -> Claim:
    """A claim out of its file. Keys of the file's top hold for every part that does not say otherwise.

    Raises:
        UserError: no TOML; a key that is unknown, missing, or not taken by that kind; a value of another type or out of
            range; a malformed name; or fewer than two data sets.
    """
    try:
        read = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"the claim {path} cannot be read ({error})") from None
    shared = {key: value for key, value in read.items() if key not in ("sentence", "source", "note", "part")}
    tables = read.get("part", [{}])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"claim {path.name}: a part is written as a table of its own, under [[part]]")
    for key in ("sentence", "source"):
        if key not in read:
            raise UserError(f"claim {path.name} has no {key!r}")
    told = {key: _typed(path.name, key, read.get(key, ""), str) for key in ("sentence", "source", "note")}
    return Claim(path.stem, parts=tuple(_part(path.name, {**shared, **table}) for table in tables), **told)


def data_set(task: str) -> str:
    """What a task reads, without family, options and numbers of rows: `shift/sst2@100~imdb` is sst2~imdb."""
    return re.sub(r"@\d+", "", parse_task(task).body)


def size(task: str) -> int | None:
    """The n of a task on one set; None where there is none."""
    found = re.fullmatch(r".*@(\d+)", parse_task(task).body)
    return int(found[1]) if found else None


def sized(task: str) -> TaskName:
    """The task but for its n: those that differ in it alone make one line over n."""
    parsed = parse_task(task)
    return TaskName(parsed.family, data_set(task), parsed.options)


_TYPES: Mapping[str, type] = {
    field.name: {"smallest": float, "k": int, "seeds": int}.get(
        field.name, tuple if field.name in ("tasks", "second_tasks", "strategies") else str
    )
    for field in fields(Part)
}


def _part(name: str, table: Mapping[str, object]) -> Part:
    for key in table:
        if key not in _TYPES:
            raise unknown(f"key of claim {name}", key, [*_TYPES, "sentence", "source", "note", "part"])
    for key in _ALWAYS:
        if key not in table:
            raise UserError(f"claim {name} has no {key!r}")
    values: dict[str, Any] = {key: _typed(name, key, value, _TYPES[key]) for key, value in table.items()}
    for key, known in (("kind", get_args(Kind)), ("direction", get_args(Direction))):
        if values[key] not in known:
            raise unknown(f"{key} of claim {name}", values[key], known)
    kind = values["kind"]
    for key in _NEEDS[kind]:
        if not values.get(key):
            raise UserError(f"claim {name}: the kind {kind} needs {key!r}")
    taken = (*_ALWAYS, *_ANYWAY, *_NEEDS[kind], *_TAKES[kind])
    for key in values:
        if key not in taken:
            raise UserError(f"claim {name}: the kind {kind} takes no {key!r}; it takes {', '.join(taken)}")
    least = values["k"] + BEST_OF_MORE if kind == "best_of" else _LEAST.get(kind, LEAST_SEEDS)
    part = Part(**{"seeds": least, **values})
    _check(name, part, least)
    return part


def _check(name: str, part: Part, least: int) -> None:
    if part.seeds < least:
        raise UserError(f"claim {name}: seeds = {part.seeds}; the kind {part.kind} needs {least} at least")
    if part.kind == "best_of" and part.k < 2:
        raise UserError(f"claim {name}: k = {part.k}; a best is one of 2 runs at least")
    if not math.isfinite(part.smallest):
        raise UserError(f"claim {name}: smallest = {part.smallest} is no number to be beyond")
    if part.kind == "correlation" and len(set(part.strategies)) < FEWEST_STRATEGIES:
        raise UserError(
            f"claim {name}: a correlation over {len(set(part.strategies))} strategies says nothing; "
            f"name {FEWEST_STRATEGIES} at least"
        )
    for key in ("tasks", "second_tasks"):
        tasks: tuple[str, ...] = getattr(part, key)
        if len(set(tasks)) < len(tasks):
            raise UserError(f"claim {name}: {key} names one task twice")
        sets = {data_set(task) for task in tasks}
        if len(sets) < LEAST_SETS and (key == "tasks" or part.kind == "correlation"):
            raise UserError(
                f"claim {name}: {key} reads {', '.join(sorted(sets))} alone; "
                f"a claim reads {LEAST_SETS} data sets at least, whatever their n"
            )
    if part.kind != "correlation" and part.second_tasks and len(part.second_tasks) != len(part.tasks):
        raise UserError(
            f"claim {name}: tasks and second_tasks are compared one by one, and there are {len(part.tasks)} of one "
            f"and {len(part.second_tasks)} of the other"
        )
    if part.kind == "trend" and not part.curve:
        _check_sizes(name, part)
    for strategy in filter(None, (part.first, part.second, *part.strategies)):
        parse_strategies(strategy)
    if part.kind != "correlation" and part.first == part.second and part.second_tasks in ((), part.tasks):
        raise UserError(f"claim {name} compares {part.first} with itself on the same tasks")


def _check_sizes(name: str, part: Part) -> None:
    groups: dict[TaskName, set[int]] = {}
    for task in part.tasks:
        if (rows := size(task)) is None:
            raise UserError(f"claim {name}: a trend without a curve goes over n, and {task} has none behind an @")
        groups.setdefault(sized(task), set()).add(rows)
    if part.second_tasks:
        raise UserError(f"claim {name}: a trend over n reads the same tasks of both; leave out second_tasks")
    if single := [str(group) for group, sizes in groups.items() if len(sizes) < 2]:
        raise UserError(f"claim {name}: a trend over n needs two n of a set at least, and {single[0]} has one")


_WORDS: Mapping[type, str] = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    tuple: "a list of different names",
}


def _typed(name: str, key: str, value: object, kind: type) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (whole or isinstance(value, float)):
        return float(cast("float", value))
    if kind is tuple and isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return tuple(value)
    if (kind is int and whole) or (kind is str and isinstance(value, str)):
        return value
    raise UserError(f"claim {name}: {key!r} must be {_WORDS[kind]}, and is {value!r}")
