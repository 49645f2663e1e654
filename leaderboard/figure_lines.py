"""Panels of lines, a strategy each: curves over n, over the strength of noise, over layers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullFormatter

from thawbench.leaderboard.figure_cells import Line, Point
from thawbench.leaderboard.figure_sheet import Label, Sheet
from thawbench.leaderboard.figure_style import Look, looks_of
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.paired_test import LEAST_SEEDS

INTERVALS = f"Means over seeds with 95 % t intervals where there are {LEAST_SEEDS} or more; the panel may cut them."
CHANCE = "Dots: the best constant answer."
"""To be said only where that line lies within a panel."""
DOTS = (0, (1, 3))
_DODGE = 0.008
"""How far strategies stand apart at one x, in parts of the axis: their intervals would lie on one another."""
_PAD = 0.06


@dataclass(frozen=True)
class Panel:
    """Lines over one axis.

    Attributes:
        told: what stands below the title.
        scale: what y is multiplied by to be shown.
        chance: what the best constant answer has; None where there is no such, or not one.
    """

    title: str
    told: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    scale: float = 100.0
    chance: float | None = None
    logarithmic: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the y axis."""
        return limits([point.mean * self.scale for line in self.lines for point in line.there])

    @property
    def shows_chance(self) -> bool:
        """Whether what the best constant answer has lies between them."""
        low, high = self.limits
        return self.chance is not None and low <= self.chance * self.scale <= high


def lines_note(panels: Sequence[Panel]) -> str:
    """What the intervals are, and the dots where a panel shows some."""
    return f"{INTERVALS} {CHANCE}" if any(panel.shows_chance for panel in panels) else INTERVALS


def line_looks(panels: Sequence[Panel], ink: Ink) -> dict[str, Look]:
    """Of the strategies of all panels of a figure."""
    return looks_of([(line.strategy, line.control) for panel in panels for line in panel.lines], ink, lines=True)


def draw_panel(
    sheet: Sheet, place: int, panel: Panel, looks: Mapping[str, Look], *, ticks: Sequence[float] = ()
) -> Axes:
    """Means with intervals, joined where there is no gap, each with its name at its right end.

    Args:
        looks: of each strategy.
        ticks: where x has a number; matplotlib chooses if there are none.
    """
    axes = sheet.panel(place, panel.title, panel.told)
    xs = sorted({point.x for line in panel.lines for point in line.there})
    low, high = _x_limits(xs, panel.logarithmic)
    if panel.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.set_xlim(low, high)
    if ticks:
        axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
        axes.set_xticklabels([f"{tick:g}" for tick in ticks])
    axes.set_ylim(*panel.limits)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    if panel.chance is not None:
        axes.axhline(panel.chance * panel.scale, color=sheet.ink.text, linewidth=0.7, linestyle=DOTS)
    labels = []
    repeated = any(point.n >= LEAST_SEEDS for line in panel.lines for point in line.there)
    dodge = _DODGE / max(1, len(panel.lines) / 5) if repeated else 0.0
    for number, line in enumerate(panel.lines):
        shift = (number - (len(panel.lines) - 1) / 2) * dodge
        look = looks[line.strategy]
        end = _draw_line(sheet, axes, line, look, panel, shift)
        labels.append(Label(line.strategy, *end, look.colour))
    sheet.label(axes, labels)
    return axes


def limits(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis that holds all values with room beside them; intervals may run out."""
    low, high = min(values), max(values)
    pad = _PAD * (high - low) or max(1e-3, 0.02 * abs(high))
    return low - pad, high + pad


def _draw_line(sheet: Sheet, axes: Axes, line: Line, look: Look, panel: Panel, shift: float) -> tuple[float, float]:
    faint = 0.75 if line.control else 1.0
    low, high = axes.get_xlim()

    def beside(x: float) -> float:
        return x * (high / low) ** shift if panel.logarithmic else x + shift * (high - low)

    for stretch in line.stretches:
        axes.plot(
            [beside(point.x) for point in stretch], [point.mean * panel.scale for point in stretch],
            color=look.colour, linestyle=look.line, linewidth=1.3, marker=look.marker, markersize=4.2,
            markeredgecolor=sheet.ink.paper, markeredgewidth=0.4, alpha=faint,
        )  # fmt: skip
    for point in line.there:
        if point.n >= LEAST_SEEDS and point.interval is not None and point.interval.high > point.interval.low:
            axes.plot(
                [beside(point.x)] * 2, [point.interval.low * panel.scale, point.interval.high * panel.scale],
                color=look.colour, linewidth=0.9, alpha=0.55 * faint, solid_capstyle="butt",
            )  # fmt: skip
    last: Point = line.there[-1]
    return beside(last.x), last.mean * panel.scale


def _x_limits(xs: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    if logarithmic:
        ends = limits([math.log(x) for x in xs])
        return math.exp(ends[0]), math.exp(ends[1])
    return limits(xs)
