"""A table of text, before it is Markdown or LaTeX."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thawbench.leaderboard.statistics import Interval, shown

CONTROL = "†"
MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A text as it is meant, not escaped for any language."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Grid:
    """Heads, and rows of as many cells."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def grid(heads: Sequence[str], rows: Iterable[Sequence[Cell | str]]) -> Grid:
    """A grid out of cells and plain texts."""
    return Grid(
        tuple(heads), tuple(tuple(Cell(each) if isinstance(each, str) else each for each in row) for row in rows)
    )


def named(strategy: str, control: bool) -> str:
    """A strategy's name, marked if it is a control."""
    return f"{strategy} {CONTROL}" if control else strategy


def score(fraction: float | None, scale: float = 100.0) -> str:
    """Times 100 unless told otherwise, two decimals."""
    return MISSING if fraction is None else f"{shown(fraction, scale):.2f}"


def percent(fraction: float | None, decimals: int = 0) -> str:
    """A share."""
    return MISSING if fraction is None else f"{100 * fraction:.{decimals}f} %"


def between(interval: Interval | None) -> str:
    """Both ends, times 100."""
    return MISSING if interval is None else f"{score(interval.low)} to {score(interval.high)}"
