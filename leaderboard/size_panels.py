"""One labelled set at its sizes, in domain and shifted: scores by n, and where each strategy overtakes freezing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thawbench.leaderboard.figure_cells import (
    Cell,
    Line,
    Point,
    Reading,
    cells_of,
    main_score,
    measure_of,
    metric_score,
)
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.overtaking import Overtaking, overtaking_of
from thawbench.suite.records import Record

FROZEN = "frozen"
_IN_DOMAIN = re.compile(r"fewshot/(?P<set>[^@:]+)@(?P<n>\d+)")
_SHIFTED = re.compile(r"shift/(?P<set>[^@:~]+)@(?P<n>\d+)~(?P<other>[^~:]+)")


@dataclass(frozen=True)
class SizePanel:
    """One set at its sizes, or one set tested on another.

    Attributes:
        other: the set that it is tested on; empty in domain.
        up: greater is better.
        lines: strategies with a score at two sizes or more, the best at the greatest n first.
        single: those that have one at one size alone.
        gaps: cells without a mean.
        overtakings: of every strategy that is no control over `FROZEN`.
    """

    train: str
    other: str
    metric: str
    up: bool
    chance: float | None
    sizes: tuple[int, ...]
    lines: tuple[Line, ...]
    single: tuple[str, ...]
    gaps: tuple[Cell, ...]
    overtakings: tuple[Overtaking, ...]

    @property
    def title(self) -> str:
        """What was learnt, and where it was tested."""
        return f"{self.train} → {self.other}, shifted" if self.other else f"{self.train}, in domain"

    @property
    def name(self) -> str:
        """As tasks have it, without family and size: `sst2`, `sst2~imdb`."""
        return f"{self.train}~{self.other}" if self.other else self.train

    def task(self, n: int) -> str:
        """The task of one size."""
        return f"shift/{self.train}@{n}~{self.other}" if self.other else f"fewshot/{self.train}@{n}"


def size_panels(records: Sequence[Record]) -> tuple[SizePanel, ...]:
    """A panel for each set that two sizes or more were measured of, in domain first and then on other sets."""
    found = [
        *_panels(records, _IN_DOMAIN, main_score),
        *_panels(records, _SHIFTED, metric_score("shifted")),
    ]
    return tuple(sorted(found, key=lambda panel: (panel.train, panel.other)))


def _panels(records: Sequence[Record], pattern: re.Pattern[str], reading: Reading) -> list[SizePanel]:
    named = [(match, record) for record in records if (match := pattern.fullmatch(record.task))]
    places = {record.task: (match["set"], match.groupdict().get("other") or "") for match, record in named}
    sized = [record for _, record in named]
    found = []
    for (train, other), members in sorted(grouped(sized, lambda record: places[record.task]).items()):
        panel = _panel(train, other, members, {match.string: int(match["n"]) for match, _ in named}, reading)
        if panel.lines:
            found.append(panel)
    return found


def _panel(train: str, other: str, records: Sequence[Record], sizes: Mapping[str, int], reading: Reading) -> SizePanel:
    cells = cells_of(records, reading)
    known = sorted({sizes[cell.task] for cell in cells})
    by_strategy: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        if cell.summary is not None:
            by_strategy.setdefault(cell.strategy, {})[sizes[cell.task]] = cell
    lines = [_line(group, known) for group in by_strategy.values() if len(group) > 1]
    measure = measure_of(records)
    frozen = by_strategy.get(FROZEN, {})
    contenders = [group for name, group in sorted(by_strategy.items()) if name != FROZEN]
    found = [
        overtaking_of(group, frozen, up=measure.up) for group in contenders if not next(iter(group.values())).control
    ]
    return SizePanel(
        train,
        other,
        measure.metric,
        measure.up,
        measure.chance,
        tuple(known),
        tuple(sorted(lines, key=lambda line: (measure.best_first(line.there[-1].mean), line.strategy))),
        tuple(name for name, group in sorted(by_strategy.items()) if len(group) == 1),
        tuple(cell for cell in cells if cell.summary is None),
        tuple(sorted((each for each in found if each is not None), key=lambda each: (each.at, each.first))),
    )


def _line(cells: Mapping[int, Cell], sizes: Sequence[int]) -> Line:
    some = next(iter(cells.values()))
    return Line(some.strategy, some.control, tuple(_point(n, cells.get(n)) for n in sizes))


def _point(n: int, cell: Cell | None) -> Point | None:
    if cell is None or cell.summary is None:
        return None
    return Point(float(n), cell.summary.mean, cell.interval, cell.summary.n)
