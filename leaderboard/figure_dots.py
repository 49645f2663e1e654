"""Panels of dots, a strategy each, with intervals along both axes: one score against another, or against its cost."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, NullLocator

from thawbench.leaderboard.figure_lines import limits
from thawbench.leaderboard.figure_sheet import Label, Sheet
from thawbench.leaderboard.figure_style import Look, looks_of
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.statistics import Interval

_TICKS = tuple(factor * 10.0**power for power in range(-3, 7) for factor in (1, 3))
_ROUND = (1, 2, 2.5, 5, 10)

Scale = Literal["linear", "log", "same"]


@dataclass(frozen=True)
class Dot:
    """One strategy at (x, y), in the units that are shown; intervals are of 95 %."""

    strategy: str
    control: bool
    x: float
    y: float
    x_interval: Interval | None = None
    y_interval: Interval | None = None


def dot_looks(dots: Iterable[Dot], ink: Ink) -> dict[str, Look]:
    """Of all strategies of a figure."""
    return looks_of([(dot.strategy, dot.control) for dot in dots], ink, lines=False)


def draw_dots(
    sheet: Sheet,
    place: int,
    title: str,
    dots: Sequence[Dot],
    axis_labels: tuple[str, str],
    looks: Mapping[str, Look],
    *,
    scale: Scale = "linear",
) -> Axes:
    """Every dot with its intervals and its name.

    Args:
        looks: of each strategy.
        scale: of x; a logarithm needs it above 0, and `same` is that of y.
    """
    axes = sheet.panel(place, title)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    xs = [dot.x for dot in dots]
    heights = limits([dot.y for dot in dots])
    if scale == "log":
        low, high = (math.exp(end) for end in limits([math.log(x) for x in xs]))
        axes.set_xscale("log")
        ticks = _log_ticks(low, high)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.set_xticklabels([f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        low, high = limits(xs)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=_ROUND))
    if scale == "same":
        low, high = heights = min(low, heights[0]), max(high, heights[1])
    axes.set_xlim(low, high)
    axes.set_ylim(*heights)
    axes.set_xlabel(axis_labels[0], fontsize=8)
    axes.set_ylabel(axis_labels[1], fontsize=8)
    labels = []
    for dot in dots:
        look = looks[dot.strategy]
        across, along = dot.x_interval, dot.y_interval
        bars = [([dot.x] * 2, [along.low, along.high])] if along is not None else []
        bars += [([across.low, across.high], [dot.y] * 2)] if across is not None else []
        for x, y in bars:
            axes.plot(x, y, color=look.colour, linewidth=0.9, alpha=0.5, solid_capstyle="butt")
        axes.plot(
            dot.x, dot.y, linestyle="", marker=look.marker, markersize=6, color=look.colour,
            markeredgecolor=sheet.ink.paper, markeredgewidth=0.5, zorder=3,
        )  # fmt: skip
        labels.append(Label(dot.strategy, dot.x, dot.y, look.colour))
    sheet.label(axes, labels)
    return axes


def _log_ticks(low: float, high: float) -> list[float]:
    """Two or more: 1 and 3 of each power of ten, or in less than a decade or so those of an even scale."""
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    if len(ticks) > 1:
        return ticks
    return [float(tick) for tick in MaxNLocator(4, steps=_ROUND).tick_values(low, high) if low <= tick <= high]
