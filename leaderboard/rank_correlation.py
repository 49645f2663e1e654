"""Rank correlations, Spearman's and Kendall's, with their intervals. Equal values share the middle of their ranks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thawbench.leaderboard.statistics import Interval

LEAST = 10
"""Points that an interval needs. From here on those of normal scores hold the truth in 92 to 97 cases of 100, if it is
0.8 or less; with fewer, too often all points agree and there is none."""
_NORMAL = 1.959963984540054


@dataclass(frozen=True)
class RankCorrelation:
    """Both correlations of two scores over `n` points.

    Attributes:
        spearman, kendall: rho, and tau-b; None where one of the scores is the same everywhere.
        spearman_interval, kendall_interval: 95 %; None with fewer than `LEAST` points, or where all agree.
    """

    n: int
    spearman: float | None
    kendall: float | None
    spearman_interval: Interval | None
    kendall_interval: Interval | None


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> RankCorrelation:
    """How alike two scores order the same points.

    The intervals are those of Fisher's z with the standard errors of Bonett and Wright ("Sample size requirements for
    estimating Pearson, Kendall and Spearman correlations", Psychometrika 65, 2000).

    Raises:
        ValueError: not as many of one as of the other.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores against {len(second)}")
    n = len(first)
    if n < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return RankCorrelation(n, None, None, None, None)
    rho, tau = spearman(first, second), kendall(first, second)
    enough = n >= LEAST
    return RankCorrelation(
        n=n,
        spearman=rho,
        kendall=tau,
        spearman_interval=_interval(rho, (1 + rho**2 / 2) / (n - 3)) if enough else None,
        kendall_interval=_interval(tau, 0.437 / (n - 4)) if enough else None,
    )


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """The correlation of the ranks (n,); nan where one of the scores is the same everywhere."""
    a, b = _centred_ranks(first), _centred_ranks(second)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale else math.nan


def kendall(first: ArrayLike, second: ArrayLike) -> float:
    """tau-b of scores (n,): pairs in the same order less pairs in opposite orders; nan as of `spearman`."""
    one, two = (np.sign(np.subtract.outer(each, each)) for each in (np.asarray(first), np.asarray(second)))
    scale = math.sqrt(float((one**2).sum()) * float((two**2).sum()))
    return float((one * two).sum()) / scale if scale else math.nan


def _centred_ranks(values: ArrayLike) -> NDArray[np.float64]:
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks - (len(ranks) + 1) / 2


def _interval(found: float, variance: float) -> Interval | None:
    if abs(found) > 1 - 1e-12:
        return None
    centre, half = math.atanh(found), _NORMAL * math.sqrt(variance)
    return Interval(math.tanh(centre - half), math.tanh(centre + half))
