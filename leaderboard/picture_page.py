"""The page that a picture is drawn on: light or dark, and the same bytes for the same points."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from thawbench.errors import UserError
from thawbench.leaderboard.figure_style import Kind, render, settings
from thawbench.leaderboard.ink import INKS, Ink, Theme
from thawbench.whole_file import replacing

KINDS: Mapping[str, Kind] = {".svg": "svg", ".png": "png"}
_MARKERS = "os^Dv<>p"


class Page:
    """A figure of small panels with room for a title, a note and a legend.

    Attributes:
        ink: the theme's colours.
        axes: (rows, columns) of panels.
    """

    def __init__(self, ink: Ink, figure: Any, axes: Any) -> None:
        self.ink, self._figure, self.axes = ink, figure, axes

    def marker(self, place: int) -> str:
        """A shape for the group at this place, so that colour is not all that tells it."""
        return _MARKERS[place % len(_MARKERS)]

    def title(self, text: str) -> None:
        """What the picture shows, over all panels."""
        self._figure.suptitle(text, fontsize=10)

    def note(self, text: str) -> None:
        """How to read it, under all panels."""
        self._figure.supxlabel(text, fontsize=8.5)

    def legend(self, groups: Sequence[str]) -> None:
        """Which group has which colour and shape, under all panels."""
        keys = [
            Line2D([], [], color=self.ink.series[place], marker=self.marker(place), linestyle="", markersize=4)
            for place in range(len(groups))
        ]
        self._figure.legend(
            keys, groups, loc="outside lower center", ncols=min(8, len(groups)), fontsize=8, frameon=False,
            handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip


@contextmanager
def page(
    out: Path, theme: Theme, *, rows: int, columns: int, width: float, height: float, formulas: bool = False
) -> Iterator[Page]:
    """An empty page to draw on, which is written at the end; the user's own matplotlib settings do not count.

    Args:
        width, height: in inches.
        formulas: whether what stands between two dollar signs is one; else it may be a part of a name.

    Raises:
        UserError: a kind of file that is not drawn, or one that cannot be written.
    """
    if out.suffix not in KINDS:
        raise UserError(f"{out} is no {' or '.join(KINDS)}; pictures are drawn as these")
    ink = INKS[theme]
    with settings(ink, formulas=formulas):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield Page(ink, figure, figure.subplots(rows, columns, squeeze=False))
    content = render(figure, KINDS[out.suffix], formulas=formulas)
    try:
        with replacing(out) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error}; choose another place with --out") from None
