"""How figures look: a strategy's colour, marker and line by its name, two themes, and the same bytes each time."""

import hashlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, TypeVar

from matplotlib import rc_context, rcParamsDefault
from matplotlib.figure import Figure

from thawbench.leaderboard.ink import INKS, Ink, Theme

Kind = Literal["svg", "png"]
Data = TypeVar("Data")
_DPI = 160
_GREY = 6
"""The place among the colours that is kept for controls."""
_COLOURS = {"frozen": 0, "finetune": 1, "frozen_ebm": 2, "lp_ft": 3, "setfit": 4, "lora": 5, "scl": 7}
_OTHERS = (0, 1, 2, 3, 4, 5, 7)
_LOOKS = {
    "frozen": ("o", "-"),
    "finetune": ("s", "-"),
    "finetune:recipe=mosbach": ("s", "--"),
    "finetune:recipe=devlin": ("D", ":"),
    "frozen_ebm": ("^", "-"),
    "frozen_ebm:loss=mnr": ("v", "--"),
    "lp_ft": ("P", "-"),
}
_MARKERS = "osD^v<>pPXh*"
_LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)))

_CONTROL: Any = (0, (2.5, 1.5))


@dataclass(frozen=True)
class Look:
    """What tells a strategy from others: three things, as no one of them is enough for everybody."""

    colour: str
    marker: str
    line: Any


def look_of(strategy: str, control: bool, ink: Ink) -> Look:
    """The same for the same name, whatever else stands there; variants have their strategy's colour.

    Controls are grey and in short dashes: dots are the best constant answer's.
    """
    base = strategy.partition(":")[0]
    digest = hashlib.sha256(strategy.encode("utf-8", "replace")).digest()
    marker, line = _LOOKS.get(strategy, (_MARKERS[digest[0] % len(_MARKERS)], _LINES[digest[1] % len(_LINES)]))
    if control:
        return Look(ink.series[_GREY], marker, _CONTROL)
    own = _OTHERS[hashlib.sha256(base.encode("utf-8", "replace")).digest()[0] % len(_OTHERS)]
    return Look(ink.series[_COLOURS.get(base, own)], marker, line)


def looks_of(strategies: Iterable[tuple[str, bool]], ink: Ink, *, lines: bool) -> dict[str, Look]:
    """Of all strategies of one figure, such that no two are alike as long as there are markers.

    Each has its own look of `look_of` unless it is another's. Of those alike the first by name keeps it, or one whose
    look is set here; the others take the next marker that no strategy of the figure has with that colour and line.

    Args:
        strategies: names, and whether each is a control.
        lines: whether lines are drawn, which tell strategies apart as well.
    """
    own = {name: look_of(name, control, ink) for name, control in strategies}

    def seen(look: Look) -> tuple[Any, ...]:
        return (look.colour, look.marker, look.line) if lines else (look.colour, look.marker)

    taken = {seen(look) for look in own.values()}
    kept: set[tuple[Any, ...]] = set()
    found = {}
    for name in sorted(own, key=lambda name: (name not in _LOOKS, name)):
        look = own[name]
        if seen(look) in kept:
            at = _MARKERS.index(look.marker)
            others = [replace(look, marker=marker) for marker in _MARKERS[at + 1 :] + _MARKERS[:at]]
            look = next((each for each in others if seen(each) not in taken), look)
        kept.add(seen(look))
        taken.add(seen(look))
        found[name] = look
    return found


def themed(draw: Callable[[Data, Ink], Figure]) -> Callable[[Data, Theme], Figure]:
    """A drawing function that takes the theme's name, and heeds none of the user's own matplotlib settings."""

    @wraps(draw)
    def drawn(data: Data, theme: Theme) -> Figure:
        ink = INKS[theme]
        with settings(ink):
            return draw(data, ink)

    return drawn


def render(figure: Figure, kind: Kind, *, formulas: bool = False) -> bytes:
    """The figure as a file: neither the hour, nor a program's version, nor anything drawn at random is in it."""
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with settings(None, formulas=formulas), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a name may be in any script
        figure.savefig(out, format=kind, dpi=_DPI, metadata=metadata)
    return out.getvalue()


@contextmanager
def settings(ink: Ink | None, *, formulas: bool = False) -> Iterator[None]:
    """matplotlib's own settings and ours, and none of the user's.

    Args:
        ink: the colours of what is drawn; None while a figure is only written.
        formulas: whether what stands between two dollar signs is one; else it may be a part of a name.
    """
    changed: dict[Any, Any] = {
        "font.family": "DejaVu Sans",  # it comes with matplotlib
        "text.parse_math": formulas,
        "svg.hashsalt": "thawbench",  # or the names of clip paths are drawn at random
        "svg.fonttype": "path",
    }
    if ink is not None:
        texts = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor")
        changed |= dict.fromkeys(texts, ink.text)
        changed |= dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), ink.paper)
        changed |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), ink.faint)
    whole: Any = {**rcParamsDefault, **changed}
    for name in ("backend", "interactive"):
        del whole[name]
    with rc_context(whole):
        yield
