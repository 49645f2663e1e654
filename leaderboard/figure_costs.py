"""Score against the seconds of a fit, and which strategies no other beats in both."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from thawbench.leaderboard.costs import costs_of, shared_machine
from thawbench.leaderboard.figure_cells import Cell, cells_of, gaps_note, names_note, natural
from thawbench.leaderboard.figure_dots import Dot, dot_looks, draw_dots
from thawbench.leaderboard.figure_lines import INTERVALS
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.leaderboard.statistics import Interval
from thawbench.suite.records import Record

LEAST_S = 0.1
"""Seconds below which a fit is shown as taking so long: a logarithm has no 0."""
_FEWEST = 3
_MOST_PANELS = 6


@dataclass(frozen=True)
class CostPanel:
    """One task.

    Attributes:
        dots: mean seconds of a fit, and 100 times the mean score.
        frontier: the contenders that none beats, from the cheapest on.
        few: strategies left out, as they have fewer than three runs where others have more.
        elsewhere: strategies left out, as they ran on another kind of machine than most.
        gaps: cells left out, as not every run has a score.
    """

    task: str
    metric: str
    dots: tuple[Dot, ...]
    frontier: tuple[Dot, ...]
    few: tuple[str, ...]
    elsewhere: tuple[str, ...]
    gaps: tuple[Cell, ...]


def cost_panels(records: Sequence[Record]) -> tuple[CostPanel, ...]:
    """The tasks that three strategies or more have a score on: few-shot ones first, then those with the most."""
    found = []
    for task, members in sorted(grouped(records, lambda record: record.task).items()):
        mains = [record.main for record in members if record.main is not None]
        directions = {main.direction for main in mains}
        if len(directions) != 1 or directions == {"none"}:
            continue
        every = cells_of(members)
        cells = [cell for cell in every if cell.summary is not None]
        repeated = [cell for cell in cells if cell.asked >= LEAST_SEEDS or not cell.drawn]
        shown = repeated if len(repeated) >= _FEWEST else cells
        seconds = _seconds(members, {cell.strategy for cell in shown})
        timed = [cell for cell in shown if cell.strategy in seconds]
        dots = tuple(_dot(cell, cell.summary.mean, seconds[cell.strategy]) for cell in timed if cell.summary)
        if len(dots) >= _FEWEST:
            frontier = pareto(dots, up=directions == {"up"})
            few = tuple(cell.strategy for cell in cells if cell not in shown)
            elsewhere = tuple(cell.strategy for cell in shown if cell not in timed)
            gaps = tuple(cell for cell in every if cell.summary is None)
            found.append(CostPanel(task, min(main.name for main in mains), dots, frontier, few, elsewhere, gaps))
    return tuple(sorted(found, key=lambda panel: (not _few_shot(panel), -len(panel.dots), panel.task)))


def _few_shot(panel: CostPanel) -> bool:
    return panel.task.startswith("fewshot/")


def _seconds(records: Sequence[Record], strategies: Collection[str]) -> dict[str, float]:
    """Of a fit, by strategy: of those of `strategies` that ran on the kind of machine that most of them ran on."""
    costs = [cost for cost in costs_of(records) if cost.strategy in strategies]
    ran_on = grouped(costs, lambda cost: cost.strategy).values()
    machine = shared_machine([cost.machine for cost in group] for group in ran_on)
    return {cost.strategy: cost.fit_s for cost in costs if cost.machine == machine}


def _dot(cell: Cell, mean: float, seconds: float) -> Dot:
    interval = cell.interval if cell.asked >= LEAST_SEEDS else None
    shown = None if interval is None else Interval(100 * interval.low, 100 * interval.high)
    return Dot(cell.strategy, cell.control, max(LEAST_S, seconds), 100 * mean, y_interval=shown)


def pareto(dots: Sequence[Dot], *, up: bool = True) -> tuple[Dot, ...]:
    """Those that no other beats in one of the two without being beaten in the other; controls do not count."""
    best = -math.inf
    found = []
    for dot in sorted((dot for dot in dots if not dot.control), key=lambda dot: (dot.x, -dot.y if up else dot.y)):
        score = dot.y if up else -dot.y
        if score > best:
            best = score
            found.append(dot)
    return tuple(found)


@themed
def draw_costs(found: Sequence[CostPanel], ink: Ink) -> Figure:
    """A panel for each of the first tasks; the line is the frontier, which only means decide."""
    panels = sorted(found[:_MOST_PANELS], key=lambda panel: natural(panel.task))
    names = [dot.strategy for panel in panels for dot in panel.dots]
    notes = [
        (
            f"{INTERVALS} Line: the strategies that no other beats in both, by their means; controls (grey) do not "
            f"count. Seconds are those of one fit as of a cold cache, on one kind of machine; below {LEAST_S:g} "
            "s they are shown there."
        ),
        names_note(f"Left out, with fewer than {LEAST_SEEDS} runs", {panel.task: panel.few for panel in panels}),
        names_note(
            "Left out, as they ran on another kind of machine", {panel.task: panel.elsewhere for panel in panels}
        ),
        gaps_note([cell for panel in panels for cell in panel.gaps]),
        _passed_over(found),
    ]
    sheet = Sheet(
        ink, "Score against cost", [height_for(len(panel.dots), 2.2) for panel in panels], columns=2, width=2.7,
        margins=Margins(right=width_of(names)), notes=notes,
    )  # fmt: skip
    looks = dot_looks([dot for panel in panels for dot in panel.dots], ink)
    for place, panel in enumerate(panels):
        units = ("seconds of a fit", f"{panel.metric} × 100")
        axes = draw_dots(sheet, place, panel.task, panel.dots, units, looks, scale="log")
        axes.step(
            [dot.x for dot in panel.frontier], [dot.y for dot in panel.frontier], where="post", color=ink.text,
            linewidth=0.8, alpha=0.6, zorder=1,
        )  # fmt: skip
    return sheet.figure


def _passed_over(found: Sequence[CostPanel]) -> str:
    """By what tasks were chosen, where some were not."""
    shown, rest = found[:_MOST_PANELS], found[_MOST_PANELS:]
    if not rest:
        return ""
    kind = "few-shot tasks" if all(map(_few_shot, shown)) else "tasks, few-shot ones before others,"
    return f"The {len(shown)} {kind} with the most strategies, of {len(found)} tasks that could be drawn."
