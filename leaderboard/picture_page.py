"""The page that a picture is drawn on: light or dark, and the same bytes for the same points."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thawbench.errors import UserError

Theme = Literal["light", "dark"]
KINDS = (".svg", ".png")
_MARKERS = "os^Dv<>p"
_DPI = 160


@dataclass(frozen=True)
class Ink:
    """The colours of a theme; `series` are told apart by people who see fewer of them, too (Okabe and Ito, 2008)."""

    paper: str
    text: str
    faint: str
    series: tuple[str, ...]


_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a", "#b8a900")
INKS = {
    "light": Ink("#ffffff", "#1f2328", "#b8bec6", _SERIES),
    "dark": Ink(
        "#0d1117", "#e6edf3", "#4c5561",
        ("#4aa3df", "#f0803c", "#2bc49a", "#e39ac4", "#f0b73a", "#8fd0f7", "#a8a8a8", "#e0d24a"),
    ),
}  # fmt: skip


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
        from matplotlib.lines import Line2D

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
    from matplotlib import rc_context, rcParamsDefault
    from matplotlib.figure import Figure

    if out.suffix not in KINDS:
        raise UserError(f"{out} is no {' or '.join(KINDS)}; pictures are drawn as these")
    ink = INKS[theme]
    defaults = {name: value for name, value in rcParamsDefault.items() if name not in ("backend", "interactive")}
    settings: Any = {**defaults, **_settings(ink), "text.parse_math": formulas}
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a name may be in any script
        figure = Figure(figsize=(width, height), layout="constrained")
        yield Page(ink, figure, figure.subplots(rows, columns, squeeze=False))
        _write(figure, out)


def _write(figure: Any, out: Path) -> None:
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    # neither the hour nor a program's version: the same points, the same bytes
    metadata = {"Date": None, "Creator": None} if out.suffix == ".svg" else {"Software": None}
    try:
        figure.savefig(temporary, format=out.suffix[1:], dpi=_DPI, metadata=metadata)
        os.replace(temporary, out)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error}; choose another place with --out") from None
    finally:
        temporary.unlink(missing_ok=True)


def _settings(ink: Ink) -> dict[str, Any]:
    return {
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), ink.text),
        **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), ink.paper),
        "axes.edgecolor": ink.faint,
        "font.family": "DejaVu Sans",  # it comes with matplotlib
        "svg.hashsalt": "thawbench",  # or the names of clip paths are drawn at random
        "svg.fonttype": "path",
    }
