"""R and P of each strategy on a chain of sets: what is scored on every set after every set."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thawbench.leaderboard.figure_cells import curve_points
from thawbench.leaderboard.figure_sheet import Margins, Sheet, short
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.suite.records import Record

_FAMILY = "forgetting"
_COLUMNS = 2
_SHADES = "cividis"
_CELL, _GAP = 0.42, 0.35
"""Inches of a cell's side, and cells between the two matrices."""

Scores = tuple[float | None, ...]
"""One a set."""


@dataclass(frozen=True)
class Moment:
    """A row of both matrices: what own heads (R) and fresh read-outs (P) score on each set then; None for no score."""

    name: str
    own: Scores
    fresh: Scores


@dataclass(frozen=True)
class Matrix:
    """One strategy on one chain; scores are means over `seeds`.

    Attributes:
        moments: before the first set, where there are fresh read-outs; after each; and last, where it was asked, each
            set learnt alone.
    """

    task: str
    strategy: str
    control: bool
    sets: tuple[str, ...]
    moments: tuple[Moment, ...]
    seeds: int

    @property
    def final(self) -> Scores:
        """By own heads, after the last set."""
        return next(each.own for each in self.moments if each.name == f"after {self.sets[-1]}")

    @property
    def cells(self) -> Iterator[tuple[int, float, float]]:
        """Row, column (P's stand behind a gap) and score of whatever has one."""
        for row, moment in enumerate(self.moments):
            for start, scores in ((0.0, moment.own), (len(self.sets) + _GAP, moment.fresh)):
                for column, score in enumerate(scores):
                    if score is not None:
                        yield row, start + column, score


@dataclass(frozen=True)
class Chain:
    """The strategies on one chain, the best on average after the last set first, and those without all their runs."""

    task: str
    matrices: tuple[Matrix, ...]
    gaps: tuple[str, ...]


def chains(records: Sequence[Record]) -> tuple[Chain, ...]:
    """Every chain on which some strategy has a matrix."""
    found = []
    members = [record for record in records if record.family == _FAMILY]
    for task, group in sorted(grouped(members, lambda record: record.task).items()):
        matrices, gaps = [], []
        for strategy, own in sorted(grouped(group, lambda record: record.strategy).items()):
            matrix = _matrix(task, strategy, own)
            if matrix is None:
                gaps.append(strategy)
            else:
                matrices.append(matrix)
        if matrices:
            found.append(
                Chain(task, tuple(sorted(matrices, key=lambda each: (-_mean(each.final), each.strategy))), tuple(gaps))
            )
    return tuple(found)


@themed
def draw_chains(found: Sequence[Chain], ink: Ink) -> Figure:
    """Two small heat maps for each strategy, all of one scale; a row is a moment, a column a set."""
    lines = [chain.matrices[at : at + _COLUMNS] for chain in found for at in range(0, len(chain.matrices), _COLUMNS)]
    matrices = [matrix for line in lines for matrix in line]
    columns = max(map(len, lines))
    values = [score for matrix in matrices for _, _, score in matrix.cells]
    notes = [
        (
            "Scores × 100 on each set (column), means over seeds. Left: by its own head, blank before its turn; what "
            "falls down a column is forgotten. Right: by a fresh read-out on the vectors of that moment; what falls "
            "there is no longer in the vectors. Alone: what has learnt that set and no other. Order: own heads, mean "
            "after the last set."
        ),
        *(f"Not every run of {', '.join(chain.gaps)} has a score on {chain.task}." for chain in found if chain.gaps),
    ]
    names = [moment.name for matrix in matrices for moment in matrix.moments]
    heights = [_CELL * max(len(each.moments) for each in line) for line in lines for _ in range(columns)]
    sheet = Sheet(
        ink, "Forgetting along a chain of sets", heights,
        columns=columns, width=_CELL * (2 * max(len(each.sets) for each in matrices) + _GAP),
        margins=Margins(left=0.35 + 0.055 * max(len(short(name)) for name in names), right=0.25, above=0.62, below=0.5),
        notes=notes,
    )  # fmt: skip
    for row, line in enumerate(lines):
        for column, matrix in enumerate(line):
            told = "" if column else matrix.task.removeprefix(f"{_FAMILY}/")
            axes = sheet.panel(row * columns + column, matrix.strategy, told, over=0.24)
            _heat(axes, matrix, min(values), max(values))
    return sheet.figure


def _matrix(task: str, strategy: str, records: Sequence[Record]) -> Matrix | None:
    sets = tuple(task.partition("/")[2].partition(":")[0].split("+"))
    ordered = sorted(records, key=lambda record: record.key)
    heads = [_column(ordered, name) for name in sets]
    if not all(heads):
        return None
    reads = [_column(ordered, f"fresh {name}") for name in sets]
    alone = _column(ordered, "alone")

    def scores(columns: Sequence[dict[int, float]], turn: int) -> Scores:
        return tuple(column.get(turn) for column in columns)

    moments = [Moment("at first", scores(heads, 0), scores(reads, 0))] if all(reads) else []
    for turn, name in enumerate(sets, start=1):
        moments.append(Moment(f"after {name}", scores(heads, turn), scores(reads, turn)))
    if alone:
        each = tuple(alone.get(turn) for turn in range(1, len(sets) + 1))
        moments.append(Moment("alone", each, (None,) * len(sets)))
    return Matrix(task, strategy, records[0].control, sets, tuple(moments), len(records))


def _column(records: Sequence[Record], name: str) -> dict[int, float]:
    return {int(point.x): point.mean for point in curve_points(records, name)}


def _mean(scores: Scores) -> float:
    there = [score for score in scores if score is not None]
    return math.fsum(there) / len(there) if there else -math.inf


def _heat(axes: Axes, matrix: Matrix, low: float, high: float) -> None:
    shades = colormaps[_SHADES]
    count = len(matrix.sets)
    for row, column, score in matrix.cells:
        depth = (score - low) / (high - low) if high > low else 0.5
        axes.fill(
            [column, column + 1, column + 1, column], [row, row, row + 1, row + 1], color=shades(depth), linewidth=0
        )
        axes.text(
            column + 0.5, row + 0.52, f"{100 * score:.0f}", ha="center", va="center", fontsize=8,
            color="#ffffff" if depth < 0.55 else "#000000",
        )  # fmt: skip
    starts = {"own heads": 0.0}
    if any(score is not None for moment in matrix.moments for score in moment.fresh):
        starts["fresh read-outs"] = count + _GAP
    for words, start in starts.items():
        axes.text(start, -0.12, words, fontsize=7, va="bottom")
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlim(0, 2 * count + _GAP)
    axes.set_ylim(len(matrix.moments), 0)
    axes.tick_params(length=0)
    axes.set_xticks(
        [start + place + 0.5 for start in starts.values() for place in range(count)],
        [short(name.partition("@")[0]) for _ in starts for name in matrix.sets],
        fontsize=6.5,
        rotation=20,
        ha="right",
    )
    axes.set_yticks(
        [place + 0.5 for place in range(len(matrix.moments))],
        [short(moment.name) for moment in matrix.moments],
        fontsize=6.5,
    )
