"""Paired t tests of many pairs at once, on several tasks in strata that one draw moves together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

LEAST_SEEDS = 3
_NOISE = 1e-12
"""Scores are fractions; what differs by less is the same number, added up in another order."""


@dataclass(frozen=True)
class PairedTests:
    """Arrays of (pairs,).

    Attributes:
        mean: of the differences, over tasks that weigh the same.
        error, freedom: the standard error of it, 0 where the differences have no spread, and its degrees of freedom.
        better: the share of differences above 0, ties as halves.
        least, moving: seeds of the smallest, and of all the strata that seeds move; 0 where none does.
        enough: there are `LEAST_SEEDS` in every such stratum.
    """

    mean: NDArray[np.float64]
    error: NDArray[np.float64]
    freedom: NDArray[np.float64]
    better: NDArray[np.float64]
    least: NDArray[np.intp]
    moving: NDArray[np.intp]
    enough: NDArray[np.bool_]

    @property
    def p(self) -> NDArray[np.float64]:
        """Two-sided. Without a spread t says nothing, and it is the exact p of Wilcoxon's and of the sign test."""
        with np.errstate(divide="ignore", invalid="ignore"):
            student = 2 * stdtr(self.freedom, -abs(self.mean) / self.error)
        equal = np.where(self.moving > 0, 2.0 ** (1 - self.moving), 0.0)
        different = np.where(self.error > 0, student, equal)
        found: NDArray[np.float64] = np.where(abs(self.mean) < _NOISE, 1.0, different)
        return found

    def half_width(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """Of Student's interval; nan where seeds move the difference and it has no spread."""
        with np.errstate(invalid="ignore"):
            half = stdtrit(self.freedom, (1 + confidence) / 2) * self.error
        found: NDArray[np.float64] = np.where(self.error > 0, half, np.where(self.moving > 0, np.nan, 0.0))
        return found


def paired_tests(
    differences: NDArray[np.float64], still: NDArray[np.bool_], strata: Sequence[Sequence[int]]
) -> PairedTests:
    """Test the mean difference of each pair against 0.

    Args:
        differences: (pairs, tasks, seeds), nan where one of the two has no run.
        still: (pairs, tasks), no seed moves this difference.
        strata: the tasks of each. At a seed their differences are averaged first, for they are no independent looks.
    """
    count = len(differences)
    mean, better = np.zeros(count), np.zeros(count)
    variances, counts, enough = [], [], np.ones(count, bool)
    for tasks in strata:
        paired = differences[:, tasks]
        there: NDArray[np.bool_] = np.logical_not(np.isnan(paired).any(axis=1))
        seeds = there.sum(axis=1)
        weight = len(tasks) / differences.shape[1]
        centre, variance = _moments(paired.mean(axis=1), there)
        wins = np.where(abs(paired) < _NOISE, 0.5, paired > 0).mean(axis=1)
        moves = ~still[:, tasks].all(axis=1)
        mean += weight * centre
        better += weight * _moments(wins, there)[0]
        variances.append(np.where(moves, weight**2 * variance / np.maximum(seeds, 1), 0.0))
        counts.append(np.where(moves, seeds, 0))
        enough &= ~moves | (seeds >= LEAST_SEEDS)
    parts, sizes = np.array(variances), np.array(counts)
    error = np.sqrt(parts.sum(axis=0))
    return PairedTests(
        mean=mean,
        error=np.where(error > _NOISE, error, 0.0),
        freedom=degrees_of_freedom(parts, sizes),
        better=better,
        least=_least(sizes),
        moving=sizes.sum(axis=0),
        enough=enough,
    )


def degrees_of_freedom(variances: NDArray[np.float64], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Halfway between Satterthwaite's (1946) degrees of freedom and those of the smallest stratum.

    Satterthwaite's alone err too often, by up to a factor of 2 far out in the tail, where Holm's first steps are and
    strata have 3 to 10 seeds and spreads that differ; for a single stratum both are n - 1, the paired t test.

    Args:
        variances: (strata, ...), what each adds to the squared standard error.
        counts: of the same shape, its pairs; 0 where no seed moves it.
    """
    squares = np.where(counts > 1, variances**2 / np.maximum(counts - 1, 1), 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        satterthwaite = variances.sum(axis=0) ** 2 / squares
    found: NDArray[np.float64] = (satterthwaite + _least(counts) - 1) / 2
    return found


def _least(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The least along the first axis that is above 0, or 0."""
    highest = counts.max(axis=0)
    found: NDArray[np.intp] = np.where(counts > 0, counts, highest).min(axis=0)
    return found


def _moments(values: NDArray[np.float64], there: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and unbiased variance along the last axis, of what is there."""
    count = there.sum(axis=-1)
    mean = np.where(there, values, 0.0).sum(axis=-1) / np.maximum(count, 1)
    squares = np.where(there, values - mean[..., None], 0.0) ** 2
    return mean, squares.sum(axis=-1) / np.maximum(count - 1, 1)
