"""R of each strategy on a chain of sets: what it scores on every set after every set."""

import math
from collections.abc import Sequence
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
_COLUMNS = 4
_SHADES = "cividis"


@dataclass(frozen=True)
class Matrix:
    """One strategy on one chain.

    Attributes:
        scores: [i][j], on set j after i + 1 sets, mean over `seeds`; None before a set's turn.
    """

    task: str
    strategy: str
    control: bool
    sets: tuple[str, ...]
    scores: tuple[tuple[float | None, ...], ...]
    seeds: int


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
                Chain(task, tuple(sorted(matrices, key=lambda each: (-_final(each), each.strategy))), tuple(gaps))
            )
    return tuple(found)


@themed
def draw_chains(found: Sequence[Chain], ink: Ink) -> Figure:
    """A small heat map for each strategy, all of one scale; a row is a moment, a column a set."""
    lines = [chain.matrices[at : at + _COLUMNS] for chain in found for at in range(0, len(chain.matrices), _COLUMNS)]
    most = max(len(matrix.sets) for chain in found for matrix in chain.matrices)
    values = [
        score for chain in found for each in chain.matrices for row in each.scores for score in row if score is not None
    ]
    notes = [
        (
            "R: the score × 100 on a set (column) by its own head, after the sets so far (row); means over seeds. "
            "Blank: before a set's turn. What falls down a column is forgotten. Order: mean of the last row."
        ),
        *(f"Not every run of {', '.join(chain.gaps)} has a score on {chain.task}." for chain in found if chain.gaps),
    ]
    columns = min(_COLUMNS, max(len(line) for line in lines))
    side = 0.2 + 0.42 * most
    names = [short(name) for chain in found for each in chain.matrices for name in each.sets]
    sheet = Sheet(
        ink, "Forgetting along a chain of sets", [side] * (len(lines) * columns), columns=columns, width=side,
        margins=Margins(left=0.35 + 0.06 * max(map(len, names)), right=0.25, above=0.5, below=0.5), notes=notes,
    )  # fmt: skip
    for row, line in enumerate(lines):
        for column, matrix in enumerate(line):
            told = "" if column else matrix.task.removeprefix(f"{_FAMILY}/")
            axes = sheet.panel(row * columns + column, matrix.strategy, told)
            _heat(axes, matrix, min(values), max(values))
    return sheet.figure


def _matrix(task: str, strategy: str, records: Sequence[Record]) -> Matrix | None:
    sets = tuple(task.partition("/")[2].partition(":")[0].split("+"))
    ordered = sorted(records, key=lambda record: record.key)
    columns = [{int(point.x): point.mean for point in curve_points(ordered, name)} for name in sets]
    if not all(columns):
        return None
    scores = tuple(tuple(column.get(turn) for column in columns) for turn in range(1, len(sets) + 1))
    return Matrix(task, strategy, records[0].control, sets, scores, len(records))


def _final(matrix: Matrix) -> float:
    last = [score for score in matrix.scores[-1] if score is not None]
    return math.fsum(last) / len(last) if last else -math.inf


def _heat(axes: Axes, matrix: Matrix, low: float, high: float) -> None:
    shades = colormaps[_SHADES]
    count = len(matrix.sets)
    for row, scores in enumerate(matrix.scores):
        for column, score in enumerate(scores):
            if score is None:
                continue
            depth = (score - low) / (high - low) if high > low else 0.5
            axes.fill(
                [column, column + 1, column + 1, column], [row, row, row + 1, row + 1], color=shades(depth), linewidth=0
            )
            axes.text(
                column + 0.5, row + 0.52, f"{100 * score:.0f}", ha="center", va="center", fontsize=8,
                color="#ffffff" if depth < 0.55 else "#000000",
            )  # fmt: skip
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlim(0, count)
    axes.set_ylim(count, 0)
    axes.tick_params(length=0)
    axes.set_xticks(
        [place + 0.5 for place in range(count)],
        [short(name) for name in matrix.sets],
        fontsize=6.5,
        rotation=20,
        ha="right",
    )
    axes.set_yticks(
        [place + 0.5 for place in range(count)], [f"after {short(name)}" for name in matrix.sets], fontsize=6.5
    )
