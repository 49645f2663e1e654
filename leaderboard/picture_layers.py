"""Layers as small pictures in a row: each layer's points in its own plane, coloured by class or by sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.errors import UserError
from thawbench.leaderboard.ink import Theme
from thawbench.leaderboard.picture_page import Page, page

_COLUMNS = 7
_SIDE = 1.75


@dataclass(frozen=True)
class Strip:
    """One encoder's layers.

    Attributes:
        name: what stands at its left.
        points: (layers, n, 2); layer 0 is what goes into the first block.
        shares: (layers,), the part of a layer's variance that its plane holds.
        groups: (n,), the name of each point's colour.
    """

    name: str
    points: NDArray[np.float64]
    shares: NDArray[np.float64]
    groups: tuple[str, ...]


def draw_layers(out: Path, strips: Sequence[Strip], title: str, theme: Theme = "light") -> None:
    """Write the picture: a strip below the other, layers from left to right, seven to a line.

    Raises:
        UserError: more groups than colours, a kind of file that is not drawn, or one that cannot be written.
    """
    lines = [(strip, at) for strip in strips for at in range(0, len(strip.points), _COLUMNS)]
    columns = min(_COLUMNS, max(len(strip.points) for strip in strips))
    groups = list(dict.fromkeys(group for strip in strips for group in sorted(set(strip.groups), key=_natural)))
    width, height = _SIDE * columns, 0.9 + 1.13 * _SIDE * len(lines)
    with page(out, theme, rows=len(lines), columns=columns, width=width, height=height) as drawn:
        colours = drawn.ink.series
        if len(groups) > len(colours):
            raise UserError(f"{len(groups)} groups are more than there are colours; show {len(colours)} at most")
        for row, (strip, at) in zip(drawn.axes, lines, strict=True):
            row[0].set_ylabel(strip.name, fontsize=9)
            for layer, axes in enumerate(row, start=at):
                if layer < len(strip.points):
                    _panel(drawn, axes, strip, layer, groups)
                else:
                    axes.set_axis_off()
        drawn.title(title)
        drawn.legend(groups)


def _panel(drawn: Page, axes: Any, strip: Strip, layer: int, groups: Sequence[str]) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(f"layer {layer} · {100 * strip.shares[layer]:.0f} %", fontsize=8)
    for place, group in enumerate(groups):
        mine = strip.points[layer][[each == group for each in strip.groups]]
        axes.plot(
            *mine.T, drawn.marker(place), color=drawn.ink.series[place], markersize=2.6, markeredgewidth=0, alpha=0.75
        )


def _natural(name: str) -> tuple[int, str]:
    """Numbers in the order of their size, `sentence 2` before `sentence 10`."""
    return len(name) if any(character.isdigit() for character in name) else 0, name
