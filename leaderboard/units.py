"""The unit of comparison: a task at one sample seed, where all strategies saw the same rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Stream
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.statistics import Interval, Summary, t_interval
from thawbench.suite.records import Record

STREAMS: tuple[Stream, ...] = get_args(Stream)


@dataclass(frozen=True)
class Units:
    """What the strategies of one table scored, on every task at every sample seed.

    Attributes:
        strata: for each task the number of its stratum. Tasks whose train sets are the same, whatever the n, share one:
            a draw moves them together, so that they count once.
        scores: (strategies, tasks, seeds), nan where there is no run; a mean where one sample has several runs.
        fixed: (strategies, tasks); no seed moves this score, which therefore stands at all of them.
        up: greater is better.
    """

    strategies: tuple[str, ...]
    tasks: tuple[str, ...]
    strata: tuple[int, ...]
    scores: NDArray[np.float64]
    fixed: NDArray[np.bool_]
    up: bool

    def on(self, positions: Sequence[int]) -> "Units":
        """The same on these tasks alone."""
        return replace(
            self,
            tasks=tuple(self.tasks[at] for at in positions),
            strata=tuple(self.strata[at] for at in positions),
            scores=self.scores[:, positions],
            fixed=self.fixed[:, positions],
        )

    def repeated(self, seeds: int) -> list[int]:
        """The tasks that at least one strategy ran at so many seeds, and those where no seed moves any."""
        enough = (~np.isnan(self.scores)).sum(axis=2) >= seeds
        moved = enough & ~self.fixed
        return [at for at in range(len(self.tasks)) if moved[:, at].any() or self.fixed[:, at].all()]

    @property
    def members(self) -> list[list[int]]:
        """The positions of the tasks of each stratum."""
        return [[at for at, stratum in enumerate(self.strata) if stratum == each] for each in sorted(set(self.strata))]


def units_of(
    records: Sequence[Record],
    strategies: Sequence[str],
    tasks: Sequence[str],
    score: Callable[[Record], float | None],
    *,
    up: bool,
) -> Units:
    """Units of strategies that have a score in each of their cells on each of these tasks.

    A strategy that draws seeds, and not the sample, is paired with the samples in the order of its seeds: any pairing
    of what is drawn apart is as good as another.

    Args:
        records: all of the table; those of other strategies and tasks are passed over.
    """
    wanted = {(strategy, task) for strategy in strategies for task in tasks}
    records = [record for record in records if (record.strategy, record.task) in wanted]
    cells = grouped(records, lambda record: (record.strategy, record.task))
    samples = _samples(records)
    # a sample seed has one place on all tasks, for those of a stratum are averaged at it
    known = sorted(set().union(*samples.values()))
    dealt = [len(group) for group in cells.values() if "sample" not in group[0].draws]
    length = len(known) + max(dealt, default=0)
    scores = np.full((len(strategies), len(tasks), length), np.nan)
    fixed = np.zeros((len(strategies), len(tasks)), bool)
    for row, strategy in enumerate(strategies):
        for column, task in enumerate(tasks):
            group = cells[strategy, task]
            if not group[0].draws:
                fixed[row, column] = True
            elif "sample" in group[0].draws:
                for seed, runs in grouped(group, lambda record: record.seeds.sample).items():
                    scores[row, column, known.index(seed)] = _mean([score(run) for run in runs])
            else:
                runs = sorted(group, key=lambda record: (record.seeds.init, record.seeds.order, record.key))
                own = [place for place, seed in enumerate(known) if seed in samples.get(task, ())]
                places = [*own, *(place for place in range(length) if place not in own)]
                scores[row, column, places[: len(runs)]] = [score(run) for run in runs]
    used = (~np.isnan(scores)).any(axis=(0, 1)).nonzero()[0]
    scores = scores[:, :, : max(used, default=0) + 1]
    for row, column in zip(*fixed.nonzero(), strict=True):
        scores[row, column] = score(cells[strategies[row], tasks[column]][0])
    strata = _strata([group[0] for group in cells.values()], tasks)
    return Units(tuple(strategies), tuple(tasks), strata, scores, fixed, up)


def runs_interval(records: Sequence[Record], summary: Summary) -> Interval | None:
    """Of 95 %, for the mean of these runs; None where some share a seed that others do not have, as crossed seeds do.

    Such runs move together, so that they tell less than as many that were drawn apart.
    """
    for stream in STREAMS:
        seeds = [getattr(record.seeds, stream) for record in records if stream in record.draws]
        if 1 < len(set(seeds)) < len(seeds):
            return None
    return t_interval(summary)


def run_of(record: Record) -> int:
    """The seed that tells a cell's runs apart: that of the sample, or of the first stream that is drawn."""
    stream = next((each for each in STREAMS if each in record.draws), "sample")
    return int(getattr(record.seeds, stream))


def _samples(records: Sequence[Record]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for record in records:
        if "sample" in record.draws:
            found.setdefault(record.task, set()).add(record.seeds.sample)
    return found


def _mean(values: Sequence[float | None]) -> float:
    return math.fsum(value for value in values if value is not None) / len(values)


def _strata(records: Sequence[Record], tasks: Sequence[str]) -> tuple[int, ...]:
    """Tasks joined by any train set that they share, directly or through others."""
    strata: list[set[str]] = []
    by_task = grouped(records, lambda record: record.task)
    for task in tasks:
        drawn_on = {
            step["train"]["name"].partition("@")[0] if step.get("train") else ""  # drawn on no rows: one for all tasks
            for record in by_task.get(task, ())
            for step in record.cell["adaptation"]["steps"]
            if step.get("train") or step["seeds"]
        }
        joined = {f"task {task}", *(f"set {name}" for name in drawn_on)}
        joined |= {name for stratum in strata if stratum & joined for name in stratum}
        strata = [stratum for stratum in strata if not stratum & joined] + [joined]
    return tuple(next(at for at, stratum in enumerate(strata) if f"task {task}" in stratum) for task in tasks)
