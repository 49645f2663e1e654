"""What the cells of one comparison say: an effect, and the lines it is made of."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thawbench.leaderboard.claim_cells import NEAR, Cells, side_by_side
from thawbench.leaderboard.claim_effect import (
    Effect,
    distances_from_median,
    effect_of_correlation,
    effect_of_pairs,
    pseudo_values,
)
from thawbench.leaderboard.claim_reading import SECONDS, reading_of, rise_weights
from thawbench.leaderboard.claim_statement import FEWEST_STRATEGIES, LEAST_SETS, Part, data_set, size, sized
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.stability import expected_best
from thawbench.leaderboard.statistics import summarise
from thawbench.leaderboard.units import run_of, units_of
from thawbench.suite.records import Record

_FIRST, _SECOND = "first", "second"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One task, or one strategy of a correlation.

    Attributes:
        first, second: what the two sides are over the seeds that count; None where there is no second.
        effect: the first less the second, not turned; None of a correlation.
        seeds: how many both have; 0 where no seed moves either.
    """

    name: str
    first: float
    second: float | None
    effect: float | None
    seeds: int


@dataclass(frozen=True)
class Measured:
    """What was found.

    Attributes:
        effect: turned so that more of it speaks for the claim; None of too little.
        why: what there is too little of.
        lines: what the effect is of.
        used: the keys of the records of the cells behind it.
    """

    effect: Effect | None
    why: str = ""
    lines: tuple[Line, ...] = ()
    used: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rows:
    """The tasks where both sides have numbers: what is averaged, and what is told of each.

    Attributes:
        values: (rows, seeds), not turned; nan where one of two has no run.
        first, second: (rows, seeds), the numbers to show; `second` None where there is none.
        still: (rows,), no seed moves the value.
        strata: of each row the number of its stratum.
    """

    tasks: tuple[tuple[str, str], ...]
    values: Array
    first: Array
    second: Array | None
    still: NDArray[np.bool_]
    strata: tuple[int, ...]

    def on(self, rows: Sequence[int]) -> "_Rows":
        """These rows alone."""
        return _Rows(
            tuple(self.tasks[row] for row in rows),
            self.values[rows],
            self.first[rows],
            None if self.second is None else self.second[rows],
            self.still[rows],
            tuple(self.strata[row] for row in rows),
        )

    def in_common(self, *, over_n: bool) -> "_Rows":
        """With nothing at the seeds that do not count, as some row of the same unit lacks them.

        Args:
            over_n: the n of one task make one row.
        """
        lines = [sized(task) for task, _ in self.tasks]
        units = [self.strata[lines.index(each)] for each in lines] if over_n else self.strata
        values = self.values.copy()
        for members in grouped(range(len(units)), units.__getitem__).values():
            values[members] = np.where(np.isnan(self.values[members]).any(axis=0), np.nan, self.values[members])
        return replace(self, values=values)

    def common(self, rows: Sequence[int]) -> int:
        """Seeds that all of these have."""
        return int((~np.isnan(self.values[rows]).any(axis=0)).sum())


def measure(part: Part, cells: Cells) -> Measured:
    """The effect of a part whose cells are these."""
    return _correlated(part, cells) if part.kind == "correlation" else _paired(part, cells)


def _paired(part: Part, cells: Cells) -> Measured:
    others = part.second_tasks or part.tasks
    timed = bool(part.second) and part.metric in SECONDS
    if timed:
        cells = side_by_side(part, cells)
    tasks = tuple(
        (task, other)
        for task, other in zip(part.tasks, others, strict=True)
        if (part.first, task) in cells.found and (not part.second or (part.second, other) in cells.found)
    )
    if not tasks:
        sides = "both sides" if part.second else part.first
        return Measured(None, f"no task has numbers of {sides}" + timed * f", of runs within {NEAR} of each other")
    rows = _rows(part, cells, tasks)
    rows = rows.on(_repeated(rows, part.seeds))
    over_n = part.kind == "trend" and not part.curve
    rows = rows.in_common(over_n=over_n)
    merged, sets = _over_n(rows) if over_n else (rows, [data_set(task) for task, _ in rows.tasks])
    if len(set(sets)) < LEAST_SETS:
        return Measured(
            None, f"{len(rows.tasks)} of {len(part.tasks)} tasks have {part.seeds} seeds, of {len(set(sets))} data sets"
        )
    members = [[at for at, each in enumerate(merged.strata) if each == stratum] for stratum in sorted({*merged.strata})]
    sign = 1 if part.direction == "higher" else -1
    effect = effect_of_pairs(sign * merged.values, merged.still, members, sets)
    used = [(part.first, task) for task, _ in rows.tasks]
    used += [(part.second, other) for _, other in rows.tasks] if part.second else []
    return Measured(
        effect,
        "" if effect else f"no seed moves anything, and {len(set(sets))} data sets are too few",
        tuple(map(_line, *_columns(rows))),
        _keys(cells, used),
    )


def _rows(part: Part, cells: Cells, tasks: Sequence[tuple[str, str]]) -> _Rows:
    readings = {_FIRST: reading_of(part), _SECOND: reading_of(part, second=True)}
    sides = (_FIRST, _SECOND) if part.second else (_FIRST,)
    strategies = {_FIRST: part.first, _SECOND: part.second}
    # sides and rows as names, so that one strategy on two tasks is paired just as two strategies on one
    renamed = [
        replace(record, strategy=side, task=str(row))
        for row, pair in enumerate(tasks)
        for side, task in zip(sides, pair, strict=False)
        for record in cells.found[strategies[side], task]
    ]
    if part.kind in ("spread", "best_of"):
        renamed = _one_a_seed(renamed)
    names = [str(row) for row in range(len(tasks))]
    units = units_of(renamed, sides, names, lambda record: readings[record.strategy](record), up=True)
    first, second = units.scores[0], units.scores[1] if part.second else None
    still: NDArray[np.bool_] = np.asarray(units.fixed.all(axis=0))
    if part.kind == "spread" and second is not None:
        # the more runs, the farther they are from their median: both sides are to have as many
        alone = np.isnan(first) | np.isnan(second)
        first, second = np.where(alone, np.nan, first), np.where(alone, np.nan, second)
        values = distances_from_median(first) - distances_from_median(second)
        first, second = distances_from_median(first), distances_from_median(second)
    elif part.kind == "best_of":
        devs = units_of([each for each in renamed if each.strategy == _FIRST], [_FIRST], names, _dev, up=True).scores[0]
        best = np.array([_best_of(*row, part.k) for row in zip(first, devs, strict=True)])
        second = first if second is None else second
        values, first, still = best - second, best, np.zeros(len(tasks), np.bool_)
        values[units.fixed[0]] = np.nan  # of runs that are all one, none is the best
    else:
        values = first if second is None else first - second
    return _Rows(tuple(tasks), values, first, second, still, units.strata)


def _one_a_seed(records: Sequence[Record]) -> list[Record]:
    """One run of each cell and sample seed, or other seed if it draws no sample: means of several spread less."""
    ordered = sorted(records, key=lambda record: (record.seeds.sample, record.seeds.init, record.seeds.order))
    runs = grouped(ordered, lambda record: (record.strategy, record.task, run_of(record)))
    return [group[0] for group in runs.values()]


def _dev(record: Record) -> float | None:
    return record.dev_score


def _best_of(scores: Array, devs: Array, k: int) -> Array:
    """(seeds,): pseudo-values of the expected score of the best of k by dev; nan where there is no run."""
    found = np.full(len(scores), np.nan)
    there = ~np.isnan(scores)
    if there.sum() > k:
        pairs = np.stack([scores[there], devs[there]], axis=1)
        found[there] = pseudo_values(lambda some: expected_best(list(some[:, 0]), by=list(some[:, 1]))[k - 1], pairs)
    return found


def _repeated(rows: _Rows, seeds: int) -> list[int]:
    """The rows that have so many seeds, those of one stratum the same seeds."""
    kept = [row for row in range(len(rows.tasks)) if rows.still[row] or rows.common([row]) >= seeds]
    for stratum in sorted({*rows.strata}):
        members = [row for row in kept if rows.strata[row] == stratum and not rows.still[row]]
        while len(members) > 1 and rows.common(members) < seeds:
            least = min(reversed(members), key=lambda row: rows.common([row]))
            members.remove(least)
            kept.remove(least)
    return kept


def _over_n(rows: _Rows) -> tuple[_Rows, list[str]]:
    """For each task at two n or more one row, how much the value rises over log n; and the data set of each."""
    groups = grouped(range(len(rows.tasks)), lambda row: sized(rows.tasks[row][0]))
    groups = {name: members for name, members in groups.items() if len(members) > 1}
    firsts = [members[0] for members in groups.values()]
    values = [
        np.array(rise_weights([math.log(size(rows.tasks[row][0]) or 1) for row in members])) @ rows.values[members]
        for members in groups.values()
    ]
    merged = rows.on(firsts)
    still = np.array([bool(rows.still[members].all()) for members in groups.values()], np.bool_)
    shaped = np.array(values).reshape(len(firsts), rows.values.shape[1])
    return replace(merged, values=shaped, still=still), [data_set(task) for task, _ in merged.tasks]


def _columns(rows: _Rows) -> tuple[Sequence[str], Sequence[Array], Sequence[Array | None], Sequence[Array], list[bool]]:
    names = [task if task == other else f"{task} – {other}" for task, other in rows.tasks]
    second = [None] * len(names) if rows.second is None else list(rows.second)
    return names, list(rows.first), second, list(rows.values), rows.still.tolist()


def _line(name: str, first: Array, second: Array | None, values: Array, still: bool) -> Line:
    there = ~np.isnan(values)
    return Line(
        name,
        first=_mean(first[there]),
        second=None if second is None else _mean(second[there]),
        effect=_mean(values[there]),
        seeds=0 if still else int(there.sum()),
    )


def _mean(values: Array) -> float:
    return summarise(values.tolist()).mean


def _correlated(part: Part, cells: Cells) -> Measured:
    readings = (reading_of(part), reading_of(part, second=True))
    columns = (part.tasks, part.second_tasks)
    lines = []
    used: list[tuple[str, str]] = []
    for strategy in part.strategies:
        groups = [[cells.found.get((strategy, task), ()) for task in tasks] for tasks in columns]
        if not all(_enough(group, part.seeds) for side in groups for group in side):
            continue
        x, y = (
            summarise([_average(group, reading) for group in side]).mean
            for side, reading in zip(groups, readings, strict=True)
        )
        lines.append(Line(strategy, x, y, None, 0))
        used += [(strategy, task) for tasks in columns for task in tasks]
    if len(lines) < FEWEST_STRATEGIES:
        told = f"{len(lines)} of {len(part.strategies)} strategies have all cells; {FEWEST_STRATEGIES} are needed"
        return Measured(None, told, tuple(lines), _keys(cells, used))
    sign = 1 if part.direction == "higher" else -1
    seconds = [line.second for line in lines if line.second is not None]
    effect = effect_of_correlation([line.first for line in lines], seconds, sign)
    return Measured(effect, "" if effect else "a column is constant", tuple(lines), _keys(cells, used))


def _keys(cells: Cells, used: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({record.key for cell in used for record in cells.found[cell]}))


def _enough(group: Sequence[Record], seeds: int) -> bool:
    return bool(group) and (not group[0].draws or len(group) >= seeds)


def _average(group: Sequence[Record], reading: Callable[[Record], float | None]) -> float:
    return summarise([value for record in group if (value := reading(record)) is not None]).mean
