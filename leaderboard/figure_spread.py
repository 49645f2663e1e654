"""How far scores lie apart over seeds: every run a point, a strip for each strategy."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from thawbench.leaderboard.figure_cells import Cell, cells_of, gaps_note, measure_of, names_note, natural
from thawbench.leaderboard.figure_lines import CHANCE, DOTS, limits
from thawbench.leaderboard.figure_sheet import Margins, Sheet, width_of
from thawbench.leaderboard.figure_style import look_of, themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.suite.records import Record

_FAMILY = "fewshot"
_ROW = 0.17
_JITTER = (0.0, 0.18, -0.18, 0.09, -0.09)
"""Heights in turn, so that equal scores do not hide each other: nothing is drawn at random."""


@dataclass(frozen=True)
class Strip:
    """One task.

    Attributes:
        cells: those with two scores or more, the greatest mean of them first.
        others: those with fewer, which are not shown.
    """

    task: str
    metric: str
    chance: float | None
    cells: tuple[Cell, ...]
    others: tuple[Cell, ...]


def strips(records: Sequence[Record]) -> tuple[Strip, ...]:
    """The few-shot tasks of which some strategy has three scores or more."""
    found = []
    few = [record for record in records if record.family == _FAMILY]
    for task, members in sorted(grouped(few, lambda record: record.task).items(), key=lambda pair: natural(pair[0])):
        every = cells_of(members)
        cells = [cell for cell in every if len(cell.runs) > 1]
        if max((len(cell.runs) for cell in cells), default=0) < LEAST_SEEDS:
            continue
        measure = measure_of(members)
        found.append(
            Strip(
                task,
                measure.metric,
                measure.chance,
                tuple(sorted(cells, key=lambda cell: (-_mean(cell), cell.strategy))),
                tuple(cell for cell in every if len(cell.runs) <= 1),
            )
        )
    return tuple(found)


@themed
def draw_strips(found: Sequence[Strip], ink: Ink) -> Figure:
    """Points, their mean as a stroke, its interval as a bar; a row that lacks a score has neither."""
    names = [cell.strategy for strip in found for cell in strip.cells]
    chance = f" {CHANCE}" if any(strip.chance is not None and _holds(strip, strip.chance) for strip in found) else ""
    notes = [
        (
            f"Every point is a run; stroke and bar: their mean and its 95 % t interval, with {LEAST_SEEDS} runs or "
            f"more.{chance} At the right: runs, or how many of them have a score, and then there is no mean."
        ),
        names_note(
            "Of one run, and so not shown",
            {strip.task: [cell.strategy for cell in strip.others if cell.summary is not None] for strip in found},
        ),
        gaps_note([cell for strip in found for cell in strip.others]),
    ]
    sheet = Sheet(
        ink, "Spread over seeds", [_ROW * len(strip.cells) + 0.1 for strip in found], columns=2, width=2.9,
        margins=Margins(left=width_of(names), right=0.75, below=0.5), notes=notes,
    )  # fmt: skip
    for place, strip in enumerate(found):
        axes = sheet.panel(place, strip.task)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", linewidth=0.4, alpha=0.6)
        axes.set_yticks([])
        axes.set_xlim(*_ends(strip))
        axes.set_ylim(len(strip.cells) - 0.4, -0.6)
        axes.set_xlabel(f"{strip.metric} × 100", fontsize=8)
        if strip.chance is not None:
            axes.axvline(100 * strip.chance, color=ink.text, linewidth=0.7, linestyle=DOTS)
        for row, cell in enumerate(strip.cells):
            look = look_of(cell.strategy, cell.control, ink)
            sheet.name(axes, row, cell.strategy, look.colour)
            sheet.beside(axes, row, str(cell.asked) if cell.summary else f"{len(cell.runs)} of {cell.asked}")
            for number, run in enumerate(sorted(cell.runs, key=lambda run: run.value)):
                height = row + _JITTER[number % len(_JITTER)]
                axes.plot(100 * run.value, height, marker="o", markersize=3, color=look.colour, alpha=0.7)
            if cell.summary is not None and cell.summary.n >= LEAST_SEEDS and cell.interval is not None:
                ends = [100 * cell.interval.low, 100 * cell.interval.high]
                axes.plot(ends, [row, row], color=look.colour, linewidth=3.5, alpha=0.25, solid_capstyle="butt")
                axes.plot([100 * cell.summary.mean] * 2, [row - 0.38, row + 0.38], color=look.colour, linewidth=1.6)
    return sheet.figure


def _ends(strip: Strip) -> tuple[float, float]:
    return limits([100 * run.value for cell in strip.cells for run in cell.runs])


def _holds(strip: Strip, score: float) -> bool:
    low, high = _ends(strip)
    return low <= 100 * score <= high


def _mean(cell: Cell) -> float:
    return sum(run.value for run in cell.runs) / len(cell.runs)
