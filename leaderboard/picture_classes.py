"""How far classes lie apart as more rows are learnt from: a ratio against n, and below it the spaces themselves."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from thawbench.leaderboard.ink import Ink, Theme
from thawbench.leaderboard.picture_page import in_order, page

_SIDE = 1.9
_NARROWEST = 5.2
_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)))
_MARKERS = "o^sD"
"""Lines have the colour of text: the others are the classes'."""
_DODGE = 0.035
"""How far strategies stand apart at one n, in parts of it: their seeds would lie on one another."""
_TICKS = tuple(step * 10.0**power for power in range(-6, 7) for step in (1, 2, 5))


@dataclass(frozen=True)
class ClassSpace:
    """What a strategy made of n rows.

    Attributes:
        ratios: of the variance between classes to that within, one for each seed; greater than 0.
        points: (rows, 2), the first seed's plane.
        share: the part of the variance that lies in the plane.
    """

    ratios: tuple[float, ...]
    points: NDArray[np.float64]
    share: float


@dataclass(frozen=True)
class ClassSpaces:
    """The same rows in all spaces.

    Attributes:
        sizes: each n, ascending.
        strategies: one to four names.
        spaces: of each strategy, one for each n.
        groups: (rows,), each row's class.
        chance: the ratio that labels at random have.
    """

    sizes: tuple[int, ...]
    strategies: tuple[str, ...]
    spaces: tuple[tuple[ClassSpace, ...], ...]
    groups: tuple[str, ...]
    chance: float


def draw_classes(out: Path, shown: ClassSpaces, title: str, theme: Theme = "light") -> None:
    """Write the picture: ratios against n above, and below them a row of planes for each strategy.

    Raises:
        UserError: more classes than colours, a kind of file that is not drawn, or one that cannot be written.
    """
    rows, columns = len(shown.strategies), len(shown.sizes)
    width = max(_NARROWEST, 0.4 + _SIDE * columns)
    height = 4.0 + 1.13 * _SIDE * rows
    with page(out, theme, rows=rows, columns=columns, width=width, height=height, above=1.1) as drawn:
        drawn.legend(in_order(shown.groups))
        _curves(drawn.ink, drawn.above, shown, int(width * 14))
        for row, strategy, spaces in zip(drawn.axes, shown.strategies, shown.spaces, strict=True):
            row[0].set_ylabel(_broken(strategy), fontsize=9)
            for axes, size, space in zip(row, shown.sizes, spaces, strict=True):
                told = f"n = {size} · ratio {space.ratios[0]:.3g} · {100 * space.share:.0f} %"
                drawn.plane(axes, told, space.points, shown.groups)
        drawn.title(textwrap.fill(title, int(width * 12)))


def _curves(ink: Ink, axes: Any, shown: ClassSpaces, letters: int) -> None:
    """The upper panel, with what is to be known of it on top and of the planes below, so many letters to a line."""
    middle = (len(shown.strategies) - 1) / 2
    for place, (strategy, spaces) in enumerate(zip(shown.strategies, shown.spaces, strict=True)):
        xs = [size * (1 + _DODGE) ** (place - middle) for size in shown.sizes]
        for x, space in zip(xs, spaces, strict=True):
            if len(space.ratios) > 1:
                axes.plot([x] * len(space.ratios), space.ratios, "_", color=ink.text, markersize=6, alpha=0.7)
        axes.plot(
            xs, [float(np.mean(space.ratios)) for space in spaces], color=ink.text, linestyle=_LINES[place],
            linewidth=1.2, marker=_MARKERS[place], markersize=4.5, label=strategy,
        )  # fmt: skip
    found = [ratio for spaces in shown.spaces for space in spaces for ratio in space.ratios]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(shown.sizes[0] / 1.3, shown.sizes[-1] * 1.3)
    low, high = np.searchsorted(_TICKS, [min(found) / 1.05, max(found) * 1.05])
    axes.set_ylim(_TICKS[max(low - 1, 0)], _TICKS[min(high, len(_TICKS) - 1)])
    for axis, ticks in ((axes.xaxis, shown.sizes), (axes.yaxis, _TICKS)):
        axis.set_major_locator(FixedLocator(list(ticks)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:g}")
    axes.tick_params(labelsize=8, length=2.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    seeds = max(len(space.ratios) for spaces in shown.spaces for space in spaces)
    above = f"Variance between classes over variance within, tr(S_B) / tr(S_W), of {len(shown.groups)} test rows; "
    above += f"labels at random have {shown.chance:.2g}."
    below = "Below: the same rows, each space in the plane of its first two principal components; % of variance in it."
    if seeds > 1:
        above += " Lines: means over seeds. Bars: each seed."
        below += " Planes and their ratios: first seed."
    axes.set_title(textwrap.fill(above, letters), fontsize=8, loc="left")
    told = "labelled train rows, n"
    axes.set_xlabel(f"{told}\n\n{textwrap.fill(below, letters)}", fontsize=8)
    axes.set_ylabel("between / within classes", fontsize=8)
    axes.legend(fontsize=8, frameon=False, handlelength=3)


def _broken(strategy: str) -> str:
    """The name in lines that a panel is high enough for, cut where it has a comma or a plus."""
    spaced = strategy.replace(",", ", ").replace("+", "+ ")
    return textwrap.fill(spaced, 26).replace(", ", ",").replace("+ ", "+")
