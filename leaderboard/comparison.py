"""Two strategies on the same tasks at the same sample seeds: how much better, how sure, and what would have shown.

All of it speaks of other seeds on these tasks, and not of other test rows: `model_pair` does that for two models.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, nctdtrinc, stdtrit

from thawbench.leaderboard.paired_test import PairedTests, paired_tests
from thawbench.leaderboard.statistics import Interval
from thawbench.leaderboard.units import Units

LEVEL = 0.05
"""The chance that anything at all in one table is told apart that is not different."""
POWER = 0.8


@dataclass(frozen=True)
class Comparison:
    """The first strategy against the second.

    Attributes:
        difference: mean over tasks of the paired differences; above 0 the first is better.
        interval: of the difference, at 95 %, for this pair alone; None where seeds move it and all gave the same.
        better: probability of improvement: the share of pairs in which the first is better, ties as halves, tasks
            weighing the same.
        p: paired t test, two-sided. Tasks of one stratum are first averaged at each seed, for one draw moves them all.
        adjusted: p after Holm (1979), over all pairs of the table.
        seeds: pairs in the smallest stratum that seeds move; None where no seed moves either strategy.
        detectable: the least true difference that this many seeds would have shown with a probability of 80 %, at the
            strictest of Holm's steps; None where the differences have no spread to tell it from.
    """

    first: str
    second: str
    difference: float
    interval: Interval | None
    better: float
    p: float
    adjusted: float
    seeds: int | None
    detectable: float | None

    @property
    def apart(self) -> bool:
        """Told apart, with a chance of 5 % that this is wrong of any pair of the table."""
        return self.adjusted < LEVEL


def compare_all(units: Units) -> tuple[Comparison, ...]:
    """Every pair of strategies that has three seeds or more in common, or that no seed moves."""
    first, second = np.triu_indices(len(units.strategies), 1)
    tests = _tests(units, first, second)
    chosen = np.flatnonzero(tests.enough)
    p = tests.p[chosen]
    level = LEVEL / max(1, len(chosen))
    least = minimal_differences(tests.error[chosen], tests.freedom[chosen], level=level).tolist()
    found = []
    for pair, of_pair, adjusted, half, detectable in zip(
        chosen.tolist(),
        p.tolist(),
        holm(p).tolist(),
        tests.half_width()[chosen].tolist(),
        least,
        strict=True,
    ):
        mean = float(tests.mean[pair])
        found.append(
            Comparison(
                units.strategies[first[pair]],
                units.strategies[second[pair]],
                difference=mean,
                interval=None if math.isnan(half) else Interval(mean - half, mean + half),
                better=float(tests.better[pair]),
                p=of_pair,
                adjusted=adjusted,
                seeds=int(tests.least[pair]) or None,
                detectable=None if math.isnan(detectable) else detectable,
            )
        )
    return tuple(found)


def maybe_best(units: Units, best: str) -> frozenset[str]:
    """The strategies that have three seeds or more in common with the best one, and are not told apart from it.

    Whoever is best in truth is left out in at most 5 % of columns: it is compared with each other once at the most, so
    that Bonferroni's bound over the others holds whichever of them came out first (multiple comparisons with the best,
    Hsu 1984). With all pairs of a long column to answer for hardly anything would be told apart.
    """
    others = np.array([at for at, name in enumerate(units.strategies) if name != best], np.intp)
    tests = _tests(units, others, np.full_like(others, units.strategies.index(best)))
    alike = tests.enough & (tests.p * tests.enough.sum() >= LEVEL)
    return frozenset(units.strategies[at] for at in others[alike])


def _tests(units: Units, first: NDArray[np.intp], second: NDArray[np.intp]) -> PairedTests:
    """Of each pair of places among the strategies."""
    differences = (units.scores[first] - units.scores[second]) * (1 if units.up else -1)
    return paired_tests(differences, units.fixed[first] & units.fixed[second], units.members)


def holm(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """p-values (pairs,) adjusted so that one below 5 % is an error in at most 5 % of families (Holm 1979)."""
    p = np.asarray(values, np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    return adjusted


def minimal_difference(error: float, freedom: float, *, level: float = LEVEL, power: float = POWER) -> float:
    """The true difference that a two-sided t test of this standard error finds with this probability."""
    return float(minimal_differences(np.array([error]), np.array([freedom]), level=level, power=power)[0])


def minimal_differences(
    errors: NDArray[np.float64], freedoms: NDArray[np.float64], *, level: float = LEVEL, power: float = POWER
) -> NDArray[np.float64]:
    """The same of many tests: (tests,); nan where the standard error is 0.

    A test finds the noncentrality at which the noncentral t exceeds the critical value with probability `power`.
    """
    found = np.full(errors.shape, np.nan)
    moving = errors > 0
    freedom = freedoms[moving]
    critical = stdtrit(freedom, 1 - level / 2)
    where = nctdtrinc(freedom, 1 - power, critical)  # right to some five digits
    step = 1e-4 * where
    slope = (nctdtr(freedom, where + step, critical) - nctdtr(freedom, where, critical)) / step
    for _ in range(3):  # each adds four
        where -= (nctdtr(freedom, where, critical) - (1 - power)) / slope
    found[moving] = where * errors[moving]
    return found
