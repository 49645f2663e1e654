"""How the energy of a pair pulls at one of its vectors: the gradients of L1, L2 and cosine, side by side."""

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from thawbench.leaderboard.ink import Ink, Theme
from thawbench.leaderboard.picture_page import page

Norm = Literal["l1", "l2", "cosine"]
Vectors = NDArray[np.float64]

_STARTS = np.arange(-5.5, 6)
"""Where arrows begin, on either axis; they are one apart."""
_REACH = 6.5
_PARTNER = (4.0, 2.0)
"""Halfway between arrows, so that none crosses the lines on which L1's gradient changes."""
_LENGTH = 0.48
"""Of an arrow for a gradient of 1, where a length of 1 is `_UNIT` of the axes."""
_UNIT = 4.0
_NEAREST = 1.0
"""No arrow of the cosine's begins nearer to the origin, where its gradient has no bound."""
_TOLD = {
    "l1": ("L1", "$|\\nabla E| = \\sqrt{dim}$, each component alike"),
    "l2": ("L2", "$|\\nabla E| = 1$, however near"),
    "cosine": ("cosine", "$|\\nabla E| = \\sin\\theta \\,/\\, |u|$, across $u$ only"),
}


def energies(norm: Norm, vectors: Vectors, partner: Vectors) -> NDArray[np.float64]:
    """E of each vector (..., dim) with the partner (dim,): |u - v| in L1 or L2, or 1 - cos; NaN for a zero vector."""
    if norm == "cosine":
        lengths = np.linalg.norm(vectors, axis=-1)
        with np.errstate(invalid="ignore"):
            return np.asarray(1 - vectors @ partner / (lengths * np.linalg.norm(partner)))
    return np.asarray(np.linalg.norm(vectors - partner, ord=1 if norm == "l1" else 2, axis=-1))


def gradients(norm: Norm, vectors: Vectors, partner: Vectors) -> Vectors:
    """dE/du at each vector u (..., dim) with the partner v (dim,).

    L1: the signs of u - v, so that every component is pulled at alike. L2: the unit vector of u - v, 0 at v itself.
    Cosine: -(v/|v| - cos u/|u|) / |u|, at right angles to u: it turns u and never shortens it. NaN for a zero vector.
    """
    difference = vectors - partner
    if norm == "l1":
        return np.sign(difference)
    if norm == "l2":
        lengths = np.linalg.norm(difference, axis=-1, keepdims=True)
        return np.asarray(difference / np.where(lengths > 0, lengths, 1.0))
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = vectors / lengths
        other = partner / np.linalg.norm(partner)
        cosine = (own * other).sum(axis=-1, keepdims=True)
        return np.asarray((cosine * own - other) / lengths)


def draw_energy(out: Path, theme: Theme = "light") -> None:
    """Write the picture of the plane: lines of equal energy, and arrows against the gradient at one scale for all.

    Raises:
        UserError: a kind of file that is not drawn, or one that cannot be written.
    """
    with page(out, theme, rows=1, columns=3, width=9.6, height=3.9, formulas=True) as drawn:
        for axes, norm in zip(drawn.axes.ravel(), get_args(Norm), strict=True):
            _panel(drawn.ink, axes, norm)
        drawn.note(
            "Arrows: where a genuine pair's $u$ is pulled, $-\\partial E/\\partial u$, at one scale for all three. "
            "Lines: equal energy with $v$ (the dot); the cross is the origin."
        )


def _panel(ink: Ink, axes: Any, norm: Norm) -> None:
    partner = np.array(_PARTNER)
    line = np.linspace(-_REACH, _REACH, 240)  # of even number, so that the origin is not on it
    plane = np.stack(np.meshgrid(line, line), axis=-1)
    axes.contour(line, line, energies(norm, plane, partner), levels=9, colors=ink.faint, linewidths=0.7)
    starts = np.stack(np.meshgrid(_STARTS, _STARTS), axis=-1).reshape(-1, 2)
    if norm == "cosine":
        starts = starts[np.linalg.norm(starts, axis=1) > _NEAREST]
    pull = -gradients(norm, starts / _UNIT, partner / _UNIT) * _LENGTH
    axes.quiver(
        *starts.T, *pull.T, color=ink.series[0], angles="xy", scale_units="xy", scale=1.0, width=0.006, headwidth=4
    )
    axes.plot(*partner, "o", color=ink.series[1], markersize=6)
    axes.plot(0, 0, "+", color=ink.text, markersize=6)
    title, told = _TOLD[norm]
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(told, fontsize=9)
    axes.set_xlim(-_REACH, _REACH)
    axes.set_ylim(-_REACH, _REACH)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
