"""Layers as small pictures in a row: each layer's points in its own plane, coloured by class or by sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thawbench.leaderboard.ink import Theme
from thawbench.leaderboard.picture_page import in_order, page

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
    groups = list(dict.fromkeys(group for strip in strips for group in in_order(strip.groups)))
    width, height = _SIDE * columns, 0.9 + 1.13 * _SIDE * len(lines)
    with page(out, theme, rows=len(lines), columns=columns, width=width, height=height) as drawn:
        drawn.legend(groups)
        for row, (strip, at) in zip(drawn.axes, lines, strict=True):
            row[0].set_ylabel(strip.name, fontsize=9)
            for layer, axes in enumerate(row, start=at):
                if layer < len(strip.points):
                    told = f"layer {layer} · {100 * strip.shares[layer]:.0f} %"
                    drawn.plane(axes, told, strip.points[layer], strip.groups)
                else:
                    axes.set_axis_off()
        drawn.title(title)
