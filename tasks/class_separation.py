"""How far the classes of a space lie apart: the variance between their means over the variance about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thawbench.errors import DegenerateError
from thawbench.tasks.isotropy import Vectors

_FLAT = 1e-10
"""The share of its squared lengths below which a spread is rounding."""


@dataclass(frozen=True)
class Separation:
    """The two parts of a space's variance; their sum is the mean squared distance of a row to the mean of all.

    Attributes:
        between: tr(S_B) = sum_c n_c/N |m_c - m|^2, of the N rows' mean m and the means m_c of the classes' n_c rows.
        within: tr(S_W), the mean squared distance of a row to the mean of its own class.
    """

    between: float
    within: float

    @property
    def ratio(self) -> float:
        """tr(S_B) / tr(S_W): 0 where the means are one point, 1 where classes explain half of the variance."""
        return self.between / self.within


def class_separation(vectors: Vectors, classes: Sequence[str]) -> Separation:
    """Fisher's ratio in trace form, of the vectors as they are, in float64.

    Fukunaga, "Introduction to Statistical Pattern Recognition", 2nd ed. 1990, section 10.2, criterion J4. Turning,
    moving and scaling the whole space leave the ratio as it is; stretching one axis does not. Times (N - K) / (K - 1),
    for N rows of K classes, it is the index of Caliński and Harabasz (1974).

    Args:
        vectors: (n, dim).
        classes: each row's.

    Raises:
        DegenerateError: rows of one class only, or vectors for which there is no ratio: not finite, one and the same,
            or one and the same within each class.
    """
    names = sorted(set(classes))
    if len(names) < 2:
        found = f"are all of {names[0]}" if names else "are none"
        raise DegenerateError(f"variance between classes needs two of them, and the {len(classes)} rows {found}")
    wide = np.asarray(vectors, dtype=np.float64)
    scale = _mean_square(wide)
    if not np.isfinite(scale):
        raise DegenerateError(f"the vectors of {len(wide)} rows are not all finite")
    place = {name: number for number, name in enumerate(names)}
    of = np.array([place[name] for name in classes])
    means = np.stack([wide[of == number].mean(axis=0) for number in range(len(names))])
    between, within = _mean_square((means - wide.mean(axis=0))[of]), _mean_square(wide - means[of])
    if between + within <= _FLAT * scale:
        raise DegenerateError(f"the vectors of {len(wide)} rows are one and the same")
    if within <= _FLAT * scale:
        raise DegenerateError("the vectors of each class are one and the same, so that the ratio has no bound")
    return Separation(between, within)


def chance_ratio(rows: int, classes: int) -> float:
    """Mean tr(S_B) over mean tr(S_W) where labels say nothing: (K - 1) / (N - K)."""
    return (classes - 1) / (rows - classes)


def _mean_square(rows: Vectors) -> float:
    """The mean squared length."""
    return float((rows * rows).sum() / len(rows))
