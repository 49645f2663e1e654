"""The page that a picture is drawn on: light or dark, and the same bytes for the same points."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from thawbench.errors import UserError
from thawbench.leaderboard.figure_style import Kind, render, settings
from thawbench.leaderboard.ink import INKS, Ink, Theme
from thawbench.whole_file import replacing

KINDS: Mapping[str, Kind] = {".svg": "svg", ".png": "png"}
_MARKERS = "os^Dv<>p"
_KEY, _LETTER = 0.36, 0.064
"""Inches that a group's key takes in the legend with the room about it, and a letter of its name."""


class Page:
    """A figure of small panels with room for a title, a note and a legend.

    Attributes:
        ink: the theme's colours.
        axes: (rows, columns) of panels.
        above: the panel over all columns, if one was asked for.
    """

    def __init__(self, ink: Ink, figure: Any, axes: Any, above: Any) -> None:
        self.ink, self._figure, self.axes, self.above = ink, figure, axes, above
        self._groups: Sequence[str] = ()

    def title(self, text: str) -> None:
        """What the picture shows, over all panels."""
        self._figure.suptitle(text, fontsize=10)

    def note(self, text: str) -> None:
        """How to read it, under all panels."""
        self._figure.supxlabel(text, fontsize=8.5)

    def legend(self, groups: Sequence[str]) -> None:
        """Give each group a colour and a shape, so that colour is not all that tells it, and say so under all panels.

        Raises:
            UserError: more groups than colours.
        """
        colours = self.ink.series
        if len(groups) > len(colours):
            raise UserError(f"{len(groups)} groups are more than there are colours; show {len(colours)} at most")
        self._groups = groups
        keys = [
            Line2D([], [], color=colour, marker=marker, linestyle="", markersize=4)
            for _, colour, marker in zip(groups, colours, _MARKERS, strict=False)
        ]
        fitting = max(1, int(self._figure.get_figwidth() / (_KEY + _LETTER * max(map(len, groups)))))
        self._figure.legend(
            keys, groups, loc="outside lower center", ncols=min(8, len(groups), fitting), fontsize=8, frameon=False,
            handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip

    def plane(self, axes: Any, told: str, points: NDArray[np.float64], groups: Sequence[str]) -> None:
        """Points (n, 2) in a panel without numbers, each in the colour and shape that the legend gives its group."""
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(told, fontsize=8)
        for group, colour, marker in zip(self._groups, self.ink.series, _MARKERS, strict=False):
            mine = points[[each == group for each in groups]]
            axes.plot(*mine.T, marker, color=colour, markersize=2.6, markeredgewidth=0, alpha=0.75)


@contextmanager
def page(
    out: Path,
    theme: Theme,
    *,
    rows: int,
    columns: int,
    width: float,
    height: float,
    above: float = 0.0,
    formulas: bool = False,
) -> Iterator[Page]:
    """An empty page to draw on, which is written at the end; the user's own matplotlib settings do not count.

    Args:
        width, height: in inches.
        above: how high a panel over all columns is, where a row is 1; 0 for none.
        formulas: whether what stands between two dollar signs is one; else it may be a part of a name.

    Raises:
        UserError: a kind of file that is not drawn, or one that cannot be written.
    """
    refuse_unfit(out)
    ink = INKS[theme]
    with settings(ink, formulas=formulas):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield Page(ink, figure, *_panels(figure, rows, columns, above))
    content = render(figure, KINDS[out.suffix], formulas=formulas)
    try:
        with replacing(out) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error}; choose another place with --out") from None


def refuse_unfit(out: Path) -> None:
    """To be asked before anything is fitted for a picture.

    Raises:
        UserError: a kind of file that is not drawn, or a place where there can be none.
    """
    if out.suffix not in KINDS:
        raise UserError(f"{out} is no {' or '.join(KINDS)}; pictures are drawn as these")
    if out.is_dir() or not out.parent.is_dir():
        why = "it is a folder" if out.is_dir() else f"there is no folder {out.parent}"
        raise UserError(f"cannot write {out}: {why}; choose another place with --out")


def in_order(groups: Iterable[str]) -> list[str]:
    """Each of them once, as people count: `sentence 2` before `sentence 10`."""
    return sorted(set(groups), key=lambda name: (len(name) if any(map(str.isdigit, name)) else 0, name))


def _panels(figure: Any, rows: int, columns: int, above: float) -> tuple[Any, Any]:
    """The panels (rows, columns), and the one over them if there is one."""
    if not above:
        return figure.subplots(rows, columns, squeeze=False), None
    axes = figure.subplots(rows + 1, columns, squeeze=False, height_ratios=[above] + [1.0] * rows)
    for each in axes[0]:
        each.remove()
    return axes[1:], figure.add_subplot(axes[0, 0].get_gridspec()[0, :])
