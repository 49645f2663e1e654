"""Which cells a claim asks for: those that have a number, those that have none, and those that nobody ran."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from thawbench.leaderboard.claim_reading import Reading
from thawbench.leaderboard.claim_statement import Part
from thawbench.leaderboard.costs import machine_of
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.units import run_of
from thawbench.suite.records import Record

NEAR = "ten minutes"
_NEAR = timedelta(minutes=10)


@dataclass(frozen=True)
class Gap:
    """A strategy on a task, and the seeds of those asked for that nobody ran."""

    strategy: str
    task: str
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Aside:
    """A strategy on a task whose records are not all numbers, and what they are: `failed 1 of 5`."""

    strategy: str
    task: str
    outcome: str


@dataclass(frozen=True)
class Cells:
    """The records of one part.

    Attributes:
        found: by strategy and task, the records of every cell that is all numbers, by key.
        gaps: in the order of the part.
        aside: likewise; a mean over those runs that survived would flatter.
    """

    found: Mapping[tuple[str, str], tuple[Record, ...]]
    gaps: tuple[Gap, ...]
    aside: tuple[Aside, ...]


@dataclass(frozen=True)
class Shelf:
    """Records where claims look for them.

    Attributes:
        cells: those of a backbone, a strategy and a task, by key.
        still: backbones, strategies and families where, as far as is known, no seed moves anything.
    """

    cells: Mapping[tuple[str, str, str], Sequence[Record]]
    still: frozenset[tuple[str, str, str]]


def shelve(records: Iterable[Record]) -> Shelf:
    """Sort records in any order."""
    ordered = sorted(records, key=lambda record: record.key)
    families = grouped(ordered, lambda record: (record.backbone, record.strategy, record.family))
    return Shelf(
        grouped(ordered, lambda record: (record.backbone, record.strategy, record.task)),
        frozenset(name for name, group in families.items() if not any(record.draws for record in group)),
    )


def cells_of(part: Part, shelf: Shelf, readings: Sequence[Reading]) -> Cells:
    """Find the records of a part.

    Args:
        readings: what must be a number in every record: that of the first side, and that of the second.
    """
    found: dict[tuple[str, str], tuple[Record, ...]] = {}
    gaps, aside = [], []
    for strategy, task in part.cells:
        group = shelf.cells.get((part.backbone, strategy, task), ())
        if outcome := _outcome(group, [readings[side] for side in _sides(part, strategy, task)]):
            aside.append(Aside(strategy, task, outcome))
            continue
        if group:
            found[strategy, task] = tuple(group)
        asked = 1 if (part.backbone, strategy, task.partition("/")[0]) in shelf.still else part.seeds
        if seeds := _missing(group, asked):
            gaps.append(Gap(strategy, task, seeds))
    return Cells(found, tuple(gaps), tuple(aside))


def side_by_side(part: Part, cells: Cells) -> Cells:
    """Only runs whose other side, of the same sample, began within ten minutes of them on the same kind of processor.

    What else a machine does at the time takes more seconds than most of what is compared by them.
    """
    found = dict(cells.found)
    for task, other in zip(part.tasks, part.second_tasks or part.tasks, strict=True):
        sides = (part.first, task), (part.second, other)
        groups = [cells.found.get(side, ()) for side in sides]
        for side, mine, theirs in zip(sides, groups, reversed(groups), strict=True):
            found[side] = tuple(one for one in mine if any(_near(one, each) for each in theirs))
    return replace(cells, found={side: group for side, group in found.items() if group})


def _near(one: Record, other: Record) -> bool:
    apart = datetime.fromisoformat(one.started) - datetime.fromisoformat(other.started)
    return one.seeds.sample == other.seeds.sample and abs(apart) <= _NEAR and machine_of(one) == machine_of(other)


def _sides(part: Part, strategy: str, task: str) -> list[int]:
    """On which sides a cell stands: on both, where two readings are taken of it."""
    seconds = part.second_tasks or part.tasks
    if part.kind == "correlation":
        there = task in part.tasks, task in seconds
    else:
        there = strategy == part.first and task in part.tasks, strategy == part.second and task in seconds
    return [side for side in (0, 1) if there[side]]


def _outcome(group: Sequence[Record], readings: Sequence[Reading]) -> str:
    """What became of runs that lack a number; empty if none does."""
    counts = Counter(record.status.replace("_", " ") for record in group if record.status != "ok")
    counts["not taken"] = sum(
        record.status == "ok" and any(reading(record) is None for reading in readings) for record in group
    )
    return ", ".join(f"{status} {count} of {len(group)}" for status, count in sorted(counts.items()) if count)


def _missing(group: Sequence[Record], seeds: int) -> tuple[int, ...]:
    """Seeds of 0 to `seeds` - 1 without a record; none is missing of a cell that no seed moves."""
    if group and not group[0].draws:
        return ()
    seen = set(map(run_of, group))
    lacking = max(0, seeds - len(seen))  # other seeds than the first are as good
    return tuple([seed for seed in range(seeds) if seed not in seen][:lacking])
