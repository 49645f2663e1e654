"""A sheet of panels, measured in inches so that what stands beside a panel finds its place before anything is drawn."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thawbench.leaderboard.ink import Ink

_LABEL_PT, _NOTE_PT, _TITLE_PT = 7.5, 7.0, 11.0
LABEL_STEP = _LABEL_PT * 1.22 / 72
"""Inches from one label to the next."""
_LONGEST = 38
_EDGE = 0.12
_NARROWEST = 4.6


@dataclass(frozen=True)
class Label:
    """A name for a point at (x, y) of a panel."""

    text: str
    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Margins:
    """Inches around each panel."""

    left: float = 0.62
    right: float = 0.2
    above: float = 0.46
    below: float = 0.55


class Sheet:
    """A figure with a title, panels in rows of one width, and notes below.

    Args:
        width, heights: inches, of every panel and of each; a row is as high as its highest.
        notes: a paragraph each; empty ones are left out.
    """

    def __init__(
        self,
        ink: Ink,
        title: str,
        heights: Sequence[float],
        *,
        columns: int,
        width: float,
        margins: Margins,
        notes: Sequence[str] = (),
    ) -> None:
        self.ink = ink
        self._columns, self._panel, self._heights, self._margins = min(columns, len(heights)), width, heights, margins
        self._step = margins.left + width + margins.right
        self._width = max(_EDGE + self._columns * self._step, _NARROWEST)
        titles = _wrapped(title, self._width - 2 * _EDGE, _TITLE_PT)
        lines = [line for note in notes if note for line in _wrapped(note, self._width - 2 * _EDGE, _NOTE_PT)]
        self._tops = [0.12 + len(titles) * _high(_TITLE_PT)]
        for at in range(0, len(heights), self._columns):
            row = margins.above + max(heights[at : at + self._columns]) + margins.below
            self._tops.append(self._tops[-1] + row)
        self._height = self._tops[-1] + _EDGE + len(lines) * _high(_NOTE_PT)
        self.figure = Figure(figsize=(self._width, self._height))
        left = _EDGE / self._width
        self.figure.text(
            left, 1 - 0.14 / self._height, "\n".join(titles), fontsize=_TITLE_PT, fontweight="bold", va="top"
        )
        self.figure.text(left, _EDGE / self._height, "\n".join(lines), fontsize=_NOTE_PT, va="bottom", linespacing=1.2)

    def panel(self, place: int, title: str, told: str = "", *, over: float = 0.07) -> Axes:
        """The panel at this place, row by row.

        Args:
            told: a smaller line below its title.
            over: inches between both and the panel.
        """
        row, column = divmod(place, self._columns)
        high = self._heights[place]
        left = _EDGE + column * self._step + self._margins.left
        bottom = self._height - self._tops[row] - self._margins.above - high
        axes = self.figure.add_axes(
            (left / self._width, bottom / self._height, self._panel / self._width, high / self._height)
        )
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=_LABEL_PT, length=2.5)
        axes.grid(axis="y", linewidth=0.4, alpha=0.6)
        axes.set_axisbelow(True)
        room = self._panel + self._margins.right
        for text, points, weight in ((told, _NOTE_PT, "normal"), (title, 9.0, "bold")):
            if text:
                fitted = short(text, int(room / _wide(points)))
                axes.text(
                    0,
                    1 + over / high,
                    fitted,
                    transform=axes.transAxes,
                    fontsize=points,
                    fontweight=weight,
                    va="bottom",
                )
                over += _high(points)
        return axes

    def label(self, axes: Axes, labels: Sequence[Label]) -> None:
        """Write names at the right of a panel, each as near to its point as the others leave room, with a thin line.

        The limits of the panel must be set before.
        """
        if not labels:
            return
        high = axes.get_position().height * self._height
        ordered = sorted(labels, key=lambda each: (each.y, each.text))
        points = [axes.transLimits.transform(axes.transScale.transform((each.x, each.y))) for each in ordered]
        places = spread([float(y) for _, y in points], LABEL_STEP / high)
        beside = 1 + 0.14 / self._panel
        for each, (x, y), place in zip(ordered, points, places, strict=True):
            axes.plot(
                [float(x), beside - 0.03 / self._panel], [float(y), place], transform=axes.transAxes, clip_on=False,
                color=each.colour, linewidth=0.5, alpha=0.55, zorder=1,
            )  # fmt: skip
            axes.text(
                beside, place, short(each.text), transform=axes.transAxes, fontsize=_LABEL_PT, color=each.colour,
                va="center_baseline",
            )  # fmt: skip

    def name(self, axes: Axes, row: float, text: str, colour: str) -> None:
        """Write the name of a row at the left of a panel."""
        axes.text(
            -0.08 / self._panel, row, short(text), transform=axes.get_yaxis_transform(), fontsize=_LABEL_PT,
            color=colour, ha="right", va="center_baseline",
        )  # fmt: skip

    def beside(self, axes: Axes, row: float, text: str) -> None:
        """Write what there is to tell of a row at the right of a panel."""
        axes.text(
            1 + 0.16 / self._panel, row, plain(text), transform=axes.get_yaxis_transform(), fontsize=_NOTE_PT,
            va="center_baseline",
        )  # fmt: skip


def width_of(texts: Sequence[str]) -> float:
    """Inches that the longest label takes."""
    return 0.2 + max((len(short(text)) for text in texts), default=0) * _wide(_LABEL_PT)


def height_for(labels: int, least: float = 2.2) -> float:
    """Inches of a panel beside which so many labels fit."""
    return max(least, labels * LABEL_STEP)


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places moved as little as may be (least squares) until they are a gap apart, and into 0 to 1 if so
    many fit there."""
    blocks: list[list[float]] = []
    for number, place in enumerate(places):
        blocks.append([place - number * gap])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    flat = [_mean(block) for block in blocks for _ in block]
    room = 1 - (len(places) - 1) * gap
    low, high = (0.0, room) if room >= 0 else (room / 2, room / 2)
    return [min(max(place, low), high) + number * gap for number, place in enumerate(flat)]


def plain(text: str) -> str:
    """On one line, and in characters that a file can hold."""
    whole = text.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else " " for character in whole)


def short(text: str, longest: int = _LONGEST) -> str:
    """A name that is too long, without its middle."""
    name = plain(text)
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def _mean(block: Sequence[float]) -> float:
    return sum(block) / len(block)


def _wide(points: float) -> float:
    """Inches of a letter, on the whole."""
    return 0.57 * points / 72


def _high(points: float) -> float:
    """Inches of a line."""
    return 1.35 * points / 72


def _wrapped(text: str, inches: float, points: float) -> list[str]:
    return textwrap.wrap(plain(text), max(20, int(inches / _wide(points))))
