"""The n at which one strategy overtakes another, and how sure that is: paired by sample seed, straight in log n."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thawbench.leaderboard.figure_cells import Cell
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.leaderboard.statistics import Interval

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Overtaking:
    """Where the difference of two strategies, paired by sample seed, turns from below 0 to above.

    Attributes:
        sizes: the n at which both have three seeds or more in common, two at least.
        seeds: in common at all of them.
        at: the n, of all pairs that each size has; 0 if the first is ahead at all sizes, inf if it is not ahead at the
            greatest.
        interval: 95 %, of the `seeds`; its ends are 0 and inf where the sizes do not bound it. None where no seed moves
            anything.
    """

    first: str
    second: str
    sizes: tuple[int, ...]
    seeds: int
    at: float
    interval: Interval | None

    @property
    def told(self) -> str:
        """The n and its interval in words."""
        if self.at == math.inf:
            found = f"not reached by n = {self.sizes[-1]}"
        elif not self.at:
            found = f"ahead from n = {self.sizes[0]} on"
        else:
            found = f"n ≈ {size_text(self.at)}"
        return found if self.interval is None else f"{found} (95 %: {_between(self.interval)})"


def overtaking_of(first: Mapping[int, Cell], second: Mapping[int, Cell], *, up: bool = True) -> Overtaking | None:
    """When the first overtakes the second as n grows; None with fewer than two sizes at three common seeds.

    Each seed's difference is taken to go straight in log n from one size to the next. `at` is where the mean over seeds
    crosses 0 upwards for the last time. The interval inverts Student's test at 5 % (Fieller's method, as the place is a
    ratio of two means): it ends where the mean difference is told to be above 0 for good, and begins where it ceases to
    be told below 0 after the last size that was measured to be so, at 5 % of all sizes together. Between sizes alone
    nothing is measured, and the spread of what is drawn straight may be next to none there. As @n is a prefix of one
    order, a seed that is lucky at one size may be so at the next, and is one and the same unit at all of them.

    Args:
        first, second: complete cells by n.
        up: greater is better.
    """
    scores = {n: (by_sample(first[n]), by_sample(second[n])) for n in sorted(first.keys() & second.keys())}
    shared = {n: _common(one, two) for n, (one, two) in scores.items()}
    sizes = [n for n, seeds in shared.items() if len(seeds) >= LEAST_SEEDS]
    seeds = sorted(set.intersection(*(shared[n] for n in sizes))) if sizes else []
    if len(sizes) < 2 or len(seeds) < LEAST_SEEDS:
        return None
    sign = 1.0 if up else -1.0
    differences = np.array([[sign * (_at(scores[n][0], k) - _at(scores[n][1], k)) for k in seeds] for n in sizes])
    logs = np.log(np.array(sizes, dtype=float))
    means = [sign * fmean(_at(scores[n][0], k) - _at(scores[n][1], k) for k in shared[n]) for n in sizes]
    at, interval = _crossing(np.array(means), logs), _interval(differences, logs)
    if interval is not None:  # a size may have more seeds than are in common
        interval = Interval(min(interval.low, at), max(interval.high, at))
    names = next(iter(first.values())).strategy, next(iter(second.values())).strategy
    return Overtaking(*names, tuple(sizes), len(seeds), at, interval)


def by_sample(cell: Cell) -> dict[int | None, float]:
    """The mean score at each sample seed; under None that of a strategy which draws no sample and has one run."""
    found: dict[int | None, list[float]] = {}
    for run in cell.runs:
        found.setdefault(run.sample, []).append(run.value)
    return {} if len(found.get(None, ())) > 1 else {sample: fmean(values) for sample, values in found.items()}


def size_text(n: float) -> str:
    """Two digits, for more would be noise."""
    return f"{float(f'{n:.2g}'):g}" if n < 1e6 else f"{n:.0e}"


def _between(interval: Interval) -> str:
    if interval.high == math.inf:
        return f"over {size_text(interval.low)}" if interval.low else "any n"
    return (
        f"{size_text(interval.low)} to {size_text(interval.high)}"
        if interval.low
        else f"under {size_text(interval.high)}"
    )


def _common(one: Mapping[int | None, float], two: Mapping[int | None, float]) -> set[int]:
    seeds = {seed for seed in (*one, *two) if seed is not None}
    return {seed for seed in seeds if all(seed in each or None in each for each in (one, two))}


def _at(scores: Mapping[int | None, float], seed: int) -> float:
    return scores[seed] if seed in scores else scores[None]


def _crossing(means: Array, logs: Array) -> float:
    if means[-1] <= 0:
        return math.inf
    behind = np.flatnonzero(means <= 0)
    if not len(behind):
        return 0.0
    left = int(behind[-1])
    part = -means[left] / (means[left + 1] - means[left])
    return float(np.exp(logs[left] + part * (logs[left + 1] - logs[left])))


def _interval(differences: Array, logs: Array) -> Interval | None:
    """From where the first ceases to be behind at the last size where it surely was, to where it is ahead for good."""
    if not differences.std(axis=1).any():
        return None
    whole = len(logs) - 1
    pairs = itertools.pairwise(differences)
    parts = [(left + low, left + high, sign) for left, pair in enumerate(pairs) for low, high, sign in _parts(*pair)]
    behind = _surely_behind(differences)
    low = 0.0 if behind is None else next((start for start, _, sign in parts if start >= behind and sign >= 0), whole)
    high = max((end for _, end, sign in parts if sign <= 0), default=0.0)
    ends = np.exp(np.interp([low, high], range(len(logs)), logs))
    return Interval(float(ends[0]) if behind is not None else 0.0, math.inf if high >= whole else float(ends[1]))


def _surely_behind(differences: Array) -> int | None:
    """The last size at which the mean is told below 0, with a chance of 2.5 % that this is wrong of any of them."""
    sizes, count = differences.shape
    means, errors = differences.mean(axis=1), differences.std(axis=1, ddof=1) / math.sqrt(count)
    found = np.flatnonzero(means < -float(stdtrit(count - 1, 1 - 0.025 / sizes)) * errors)
    return int(found[-1]) if len(found) else None


def _parts(left: Array, right: Array) -> list[tuple[float, float, int]]:
    """The way from one size to the next, in parts: where each begins and ends, and its sign if that can be told.

    At w of the way the mean of (1 - w) left + w right is told from 0 where mean² - t² variance > 0, a quadratic in w.
    """
    count = len(left)
    (v0, v01), (_, v1) = np.cov(left, right) / count
    m0, step = left.mean(), right.mean() - left.mean()
    t2 = float(stdtrit(count - 1, 0.975)) ** 2
    quadratic = [step**2 - t2 * (v0 - 2 * v01 + v1), 2 * m0 * step - 2 * t2 * (v01 - v0), m0**2 - t2 * v0]
    roots = np.roots(quadratic)
    inside = sorted(float(root.real) for root in roots if abs(root.imag) < 1e-12 and 0 < root.real < 1)
    ends = [0.0, *inside, 1.0]
    found = []
    for low, high in itertools.pairwise(ends):
        middle = (low + high) / 2
        told = np.polyval(quadratic, middle) > 0
        found.append((low, high, int(np.sign(m0 + middle * step)) if told else 0))
    return found
