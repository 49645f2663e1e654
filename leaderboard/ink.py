"""The colours that figures and pictures are drawn in, on a light page and on a dark one."""

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]


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
