"""What figures read of records: the scores of each strategy on each task, and curves averaged over seeds."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.statistics import Interval, Summary, summarise
from thawbench.leaderboard.units import runs_interval
from thawbench.suite.records import Record

Reading = Callable[[Record], float | None]
_UNSCALED = ("readout_s", "hidden words")
"""Curves of seconds, and of a loss in nats."""
_MOST_GAPS = 6


@dataclass(frozen=True)
class Run:
    """One score; `sample` is None where the sample seed does not move it."""

    sample: int | None
    value: float


@dataclass(frozen=True)
class Cell:
    """One strategy on one task.

    Attributes:
        runs: those that have a score, by seeds.
        asked: all that there are.
        drawn: a seed moves it.
        interval: of 95 %, of the mean over seeds; see `runs_interval`.
    """

    strategy: str
    control: bool
    task: str
    runs: tuple[Run, ...]
    asked: int
    drawn: bool
    interval: Interval | None = None

    @property
    def summary(self) -> Summary | None:
        """None if a run has no score: a mean over those that survived would flatter."""
        return summarise([run.value for run in self.runs]) if self.runs and len(self.runs) == self.asked else None


@dataclass(frozen=True)
class Point:
    """A mean over `n` runs, with its interval of 95 %."""

    x: float
    mean: float
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Line:
    """One strategy along an axis; None where it has a gap."""

    strategy: str
    control: bool
    points: tuple[Point | None, ...]

    @property
    def there(self) -> tuple[Point, ...]:
        """The points that are no gaps."""
        return tuple(point for point in self.points if point is not None)

    @property
    def stretches(self) -> list[list[Point]]:
        """Points without a gap between them, to be joined by a line."""
        found: list[list[Point]] = [[]]
        for point in self.points:
            if point is not None:
                found[-1].append(point)
            elif found[-1]:
                found.append([])
        return [stretch for stretch in found if stretch]


@dataclass(frozen=True)
class Measure:
    """What the records of one panel are scored by.

    Attributes:
        up: greater is better.
        chance: of the best constant answer; None where cells disagree, or there is no such.
    """

    metric: str
    up: bool
    chance: float | None

    def best_first(self, score: float) -> float:
        """What scores are sorted by."""
        return -score if self.up else score


def measure_of(records: Sequence[Record]) -> Measure:
    """The main metric of these records, of which some may have none."""
    mains = [record.main for record in records if record.main is not None]
    chances = {main.chance for main in mains}
    return Measure(
        min((main.name for main in mains), default="score"),
        all(main.direction != "down" for main in mains),
        chances.pop() if len(chances) == 1 else None,
    )


def main_score(record: Record) -> float | None:
    """What boards show."""
    return record.main.value if record.status == "ok" and record.main is not None else None


def metric_score(name: str) -> Reading:
    """A metric by its name."""

    def score(record: Record) -> float | None:
        metric = record.metric(name) if record.status == "ok" else None
        return None if metric is None else metric.value

    return score


def cells_of(records: Sequence[Record], reading: Reading = main_score) -> tuple[Cell, ...]:
    """Every cell, by task and strategy, whatever the order of the records."""
    groups = grouped(sorted(records, key=_by_seeds), lambda record: (record.task, record.strategy))
    cells = []
    for (task, strategy), group in sorted(groups.items()):
        scores = [(record, reading(record)) for record in group]
        runs = tuple(
            Run(record.seeds.sample if "sample" in record.draws else None, value)
            for record, value in scores
            if value is not None
        )
        cell = Cell(strategy, group[0].control, task, runs, len(group), any(record.draws for record in group))
        interval = runs_interval(group, cell.summary) if cell.summary else None
        cells.append(replace(cell, interval=interval))
    return tuple(cells)


def curve_points(records: Sequence[Record], name: str) -> tuple[Point, ...]:
    """The curve of this name, averaged over the records of one cell; empty unless each has it at the same x."""
    curves = [curve for record in records if record.status == "ok" for curve in record.curves if curve.name == name]
    if len(curves) != len(records) or len({curve.x for curve in curves}) != 1:
        return ()
    found = []
    for x, *values in zip(curves[0].x, *(curve.y for curve in curves), strict=True):
        summary = summarise(values)
        found.append(Point(x, summary.mean, runs_interval(records, summary), summary.n))
    return tuple(found)


def curve_scale(family: str, axis: str, name: str) -> float:
    """What a curve is multiplied by to be shown: 100 of shares and correlations; cosines are shown as they are.

    Args:
        axis: of forgetting only the drift through the layers is a cosine.
    """
    cosines = family == "geometry" or (family == "forgetting" and axis == "layer")
    return 1.0 if cosines or name in _UNSCALED else 100.0


def names_note(head: str, names: Mapping[str, Sequence[str]]) -> str:
    """`head: a, b on x; c on y.`, of names by task; empty if there are none."""
    told = [f"{', '.join(each)} on {task}" for task, each in names.items() if each]
    return f"{head}: {'; '.join(told)}." if told else ""


def gaps_note(cells: Sequence[Cell]) -> str:
    """Which cells are not shown, and how many of their runs have a score; empty if there are none."""
    gaps = [
        f"{cell.strategy} on {cell.task} ({len(cell.runs)} of {cell.asked})" for cell in cells if cell.summary is None
    ]
    more = f", and {len(gaps) - _MOST_GAPS} more" if len(gaps) > _MOST_GAPS else ""
    return f"Gaps, as not every run has a score: {', '.join(gaps[:_MOST_GAPS])}{more}." if gaps else ""


def natural(name: str) -> tuple[str | int, ...]:
    """A key that puts `sst2@20` before `sst2@100`."""
    return tuple(int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", name)))


def _by_seeds(record: Record) -> tuple[int, int, int, str]:
    return (record.seeds.sample, record.seeds.init, record.seeds.order, record.key)
