"""How great an effect is, how sure that is, and how many more units would make it sure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thawbench.leaderboard.comparison import LEVEL, POWER, minimal_difference
from thawbench.leaderboard.paired_test import LEAST_SEEDS, PairedTests, paired_tests
from thawbench.leaderboard.rank_correlation import spearman
from thawbench.leaderboard.statistics import Interval

ALL_ALIKE = 6
"""Values without a spread are an interval of 95 % if there are so many: the sign test's exact p is then below 5 %."""
MOST = 1000
"""No more units than this are ever asked for."""
FAILING_FAVOURED = 0.08
"""How often a strategy that fails in one run of five, and in the rest is so much better that its mean is that of the
other, is found better by 5 seeds on two data sets of one spread. Simulated; tests/leaderboard does it again."""

Unit = Literal["seeds", "data sets", "strategies"]


@dataclass(frozen=True)
class Effect:
    """An effect in fractions, such that more of it speaks for the claim.

    Attributes:
        value: the estimate.
        error, freedom: its standard error and degrees of freedom; of a correlation those of its artanh.
        count: units, in the smallest stratum if there are several.
        unit: what would be other another time.
    """

    value: float
    error: float
    freedom: float
    count: int
    unit: Unit

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Of which each end is beyond the truth in half of `level`; None where nothing says how sure the effect is."""
        if not self.error:
            return Interval(self.value, self.value) if self.count >= ALL_ALIKE else None
        half = float(stdtrit(self.freedom, 1 - level / 2)) * self.error
        middle = self._scaled(self.value)
        return Interval(self._unscaled(middle - half), self._unscaled(middle + half))

    def needed(self, threshold: float) -> int | None:
        """Units at which the interval would be on its side of the threshold, if effect and spread are what they seem.

        With a probability of `POWER`. None where so many as `MOST` would not do.
        """
        if not self.error:  # a value that is the threshold stays there, and so does one that so many do not decide
            return ALL_ALIKE if self.count < ALL_ALIKE and self.value != threshold else None
        distance = abs(self._scaled(self.value) - self._scaled(threshold))
        if self._reach(MOST) > distance:
            return None
        low, high = self.count, MOST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reach(middle) <= distance else (middle, high)
        return high

    def _reach(self, count: int) -> float:
        """How far from a threshold the truth must be for so many units to show it."""
        lost = 3 if self.unit == "strategies" else 0
        error = self.error * math.sqrt((self.count - lost) / (count - lost))
        return minimal_difference(error, self.freedom * (count - 1) / (self.count - 1), level=LEVEL, power=POWER)

    def _scaled(self, value: float) -> float:
        if self.unit != "strategies":
            return value
        # perfect agreement counts as if two neighbours were the other way round: its artanh is infinite
        most = 1 - 12 / (self.count * (self.count**2 - 1))
        return math.atanh(max(-most, min(most, value)))

    def _unscaled(self, value: float) -> float:
        return math.tanh(value) if self.unit == "strategies" else value


def effect_of_pairs(
    differences: NDArray[np.float64], still: NDArray[np.bool_], strata: Sequence[Sequence[int]], sets: Sequence[str]
) -> Effect | None:
    """The mean over tasks of paired differences; None of too few.

    Its unit is a seed, at which the tasks of one stratum are averaged first. Where no seed moves anything it is a data
    set, there being nothing else that could have been another.

    Args:
        differences: (tasks, seeds), nan where one of two has no run.
        still: (tasks,), no seed moves it.
        strata: the tasks of each.
        sets: the data set of each task.
    """
    if still.all():
        names = sorted(set(sets))
        values = [differences[[each == name for each in sets], 0].mean() for name in names]
        if len(names) < LEAST_SEEDS:
            return None
        return _read(paired_tests(np.array(values)[None, None], np.array([[False]]), [[0]]), "data sets")
    tests = paired_tests(differences[None], still[None], strata)
    return _read(tests, "seeds") if tests.enough[0] else None


def effect_of_correlation(first: Sequence[float], second: Sequence[float], sign: int) -> Effect | None:
    """Spearman's correlation; None where a column is constant.

    Fisher's interval with the variance (1 + r² / 2) / (n - 3) of Bonett and Wright (2000), and Student's quantiles at
    n - 2: a verdict on few strategies must not come too easily.
    """
    value = sign * spearman(first, second)
    if math.isnan(value):
        return None
    count = len(first)
    return Effect(value, math.sqrt((1 + value**2 / 2) / (count - 3)), count - 2, count, "strategies")


def distances_from_median(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """(tasks, seeds): how far each run is from the median of its task, as Brown and Forsythe (1974) test spreads."""
    medians = [np.median(runs) if len(runs := row[~np.isnan(row)]) else np.nan for row in scores]
    distances: NDArray[np.float64] = abs(scores - np.reshape(medians, (-1, 1)))
    return distances


def pseudo_values(
    statistic: Callable[[NDArray[np.float64]], float], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n,): n times the statistic of all, less n - 1 times that of all but one (Tukey's jackknife).

    Args:
        values: (n, …).
    """
    count = len(values)
    whole = statistic(values)
    return np.array([count * whole - (count - 1) * statistic(np.delete(values, at, axis=0)) for at in range(count)])


def _read(tests: PairedTests, unit: Unit) -> Effect:
    return Effect(
        value=float(tests.mean[0]),
        error=float(tests.error[0]),
        freedom=float(tests.freedom[0]),
        count=int(tests.least[0]),
        unit=unit,
    )
