"""Scores in domain against scores on shifted test rows, of the same fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from thawbench.leaderboard.figure_cells import Cell, cells_of, gaps_note, metric_score
from thawbench.leaderboard.figure_dots import Dot, dot_looks, draw_dots
from thawbench.leaderboard.figure_lines import INTERVALS
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.leaderboard.statistics import Interval
from thawbench.suite.records import Record

_FAMILY = "shift"
_HOME, _AWAY = "in_domain", "shifted"
_COLUMNS = 3


@dataclass(frozen=True)
class ShiftPanel:
    """One task: 100 times the scores at home (x) and away (y)."""

    task: str
    dots: tuple[Dot, ...]
    gaps: tuple[Cell, ...]


def shift_panels(records: Sequence[Record]) -> tuple[ShiftPanel, ...]:
    """The tasks on which some strategy has both scores; a search elsewhere has none at home."""
    found = []
    members = [record for record in records if record.family == _FAMILY]
    for task, group in sorted(grouped(members, lambda record: record.task).items()):
        away = {cell.strategy: cell for cell in cells_of(group, metric_score(_AWAY))}
        cells = cells_of(group, metric_score(_HOME))
        dots = [_dot(cell, away[cell.strategy]) for cell in cells]
        gaps = tuple(cell for cell, dot in zip(cells, dots, strict=True) if dot is None)
        if any(dots):
            found.append(ShiftPanel(task, tuple(dot for dot in dots if dot), gaps))
    return tuple(found)


@themed
def draw_shift(panels: Sequence[ShiftPanel], ink: Ink) -> Figure:
    """A panel a task; on the diagonal nothing is lost."""
    names = [dot.strategy for panel in panels for dot in panel.dots]
    notes = [
        f"{INTERVALS} Below the dashed line a score falls where the test rows are others than those learnt from.",
        gaps_note([cell for panel in panels for cell in panel.gaps]),
    ]
    sheet = Sheet(
        ink, "In domain against shifted", [height_for(len(panel.dots)) for panel in panels],
        columns=_COLUMNS, width=2.2,
        margins=Margins(right=width_of(names)), notes=notes,
    )  # fmt: skip
    looks = dot_looks([dot for panel in panels for dot in panel.dots], ink)
    for place, panel in enumerate(panels):
        title = panel.task.removeprefix(f"{_FAMILY}/")
        axes = draw_dots(sheet, place, title, panel.dots, ("in domain × 100", "shifted × 100"), looks, scale="same")
        axes.axline((0, 0), slope=1, color=ink.text, linewidth=0.7, linestyle=(0, (4, 3)), alpha=0.6)
    return sheet.figure


def _dot(home: Cell, away: Cell) -> Dot | None:
    if home.summary is None or away.summary is None:
        return None
    x, y = (_shown(cell) for cell in (home, away))
    return Dot(home.strategy, home.control, 100 * home.summary.mean, 100 * away.summary.mean, x, y)


def _shown(cell: Cell) -> Interval | None:
    if cell.interval is None or cell.asked < LEAST_SEEDS:
        return None
    return Interval(100 * cell.interval.low, 100 * cell.interval.high)
