"""One strategy over the tasks of a table: ranks, the interquartile mean, the performance profile."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thawbench.leaderboard.paired_test import LEAST_SEEDS, degrees_of_freedom
from thawbench.leaderboard.statistics import Interval
from thawbench.leaderboard.units import Units

_ROUNDS = 500
_SEED = 0
PROFILE_AT = tuple(step / 20 for step in range(21))
"""The scores at which profiles are taken."""


@dataclass(frozen=True)
class Aggregate:
    """One complete strategy over tasks, every one weighing the same.

    Attributes:
        mean_rank: over tasks, among the strategies of the table; equal scores share the middle of their ranks.
        borda: strategies beaten, summed over tasks, a tie counting a half.
        iqm: interquartile mean of the scores over tasks and seeds (Agarwal et al. 2021).
        interval: of the iqm, 95 % by bootstrap; None with fewer than three seeds, a point where no seed moves it.
        failed: the share of runs no better than the best constant answer; None where there is no such.
        profile: the share of scores above each value of `PROFILE_AT`.
    """

    strategy: str
    mean_rank: float
    borda: float
    iqm: float
    interval: Interval | None
    failed: float | None
    profile: tuple[float, ...]


def aggregates_of(
    units: Units, means: Sequence[Sequence[float]], failed: Sequence[float | None]
) -> tuple[Aggregate, ...]:
    """Of each strategy of the table.

    Args:
        means: (strategies, tasks), the scores to rank by.
        failed: of each strategy, the share of its runs that failed.
    """
    ranks = mean_ranks(means, up=units.up)
    beaten = [len(units.strategies) - rank for rank in ranks]
    middles = [interquartile_mean(*_weighted(scores)) for scores in units.scores]
    return tuple(
        Aggregate(
            strategy=strategy,
            mean_rank=ranks[row],
            borda=len(units.tasks) * beaten[row],
            iqm=middles[row],
            interval=_bootstrap(units, row, middles[row]),
            failed=failed[row],
            profile=_profile(units.scores[row]),
        )
        for row, strategy in enumerate(units.strategies)
    )


def mid_ranks(values: Sequence[float], *, up: bool) -> tuple[float, ...]:
    """Ranks from 1, the best first; equal values share the mean of theirs."""
    signed = [value if up else -value for value in values]
    return tuple(
        1 + sum(other > value for other in signed) + (sum(other == value for other in signed) - 1) / 2
        for value in signed
    )


def mean_ranks(scores: Sequence[Sequence[float]], *, up: bool) -> tuple[float, ...]:
    """The mean mid-rank over columns of each row of (strategies, tasks)."""
    columns = [mid_ranks(column, up=up) for column in zip(*scores, strict=True)]
    return tuple(math.fsum(ranks) / len(columns) for ranks in zip(*columns, strict=True))


def interquartile_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The mean of the middle half of a weighted sample: scipy's `trim_mean(0.25)` where that cuts through no value.

    Args:
        values: (..., n).
        weights: (n,), summing to 1.
    """
    return float(_middle_mean(values, np.broadcast_to(weights, values.shape)))


def _middle_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if (weights == weights.flat[0]).all():  # as nearly always; sorting alone takes a third of the time
        upto = np.clip(np.linspace(0, 1, values.shape[-1] + 1), 0.25, 0.75)
        plain: NDArray[np.float64] = np.sort(values, axis=-1) @ np.diff(upto) * 2
        return plain
    order = np.argsort(values, axis=-1, kind="stable")
    ends = np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    upto = np.clip(ends, 0.25, 0.75) - 0.25
    inside = np.diff(upto, axis=-1, prepend=0.0)
    mean: NDArray[np.float64] = (inside * np.take_along_axis(values, order, axis=-1)).sum(axis=-1) / inside.sum(axis=-1)
    return mean


def _weighted(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scores of (tasks, seeds) that are there, each task with the same weight."""
    there = ~np.isnan(scores)
    weights = there / (there.sum(axis=1, keepdims=True) * len(scores))
    return scores[there], weights[there]


def _profile(scores: NDArray[np.float64]) -> tuple[float, ...]:
    values, weights = _weighted(scores)
    return tuple(math.fsum(weights[values > at]) for at in PROFILE_AT)


def _bootstrap(units: Units, row: int, mean: float) -> Interval | None:
    """Student's interval on the bootstrap's standard error; a stratum's seeds are drawn for all its tasks together.

    Of n seeds n - 1 are drawn (Rao and Wu 1988): with n, the spread of 3 seeds would come out a fifth too small.
    Percentiles of so few would hold the truth too rarely; the degrees of freedom are chosen as for comparisons.
    """
    draw = np.random.default_rng(_SEED)
    values, weights, counts = [], [], []
    for tasks in units.members:
        scores = units.scores[row, tasks]
        if units.fixed[row, tasks].all():
            drawn = np.broadcast_to(scores[:, :1, None], (len(tasks), _ROUNDS, 1))
        else:
            scores = scores[:, ~np.isnan(scores).any(axis=0)]
            counts.append(scores.shape[1])
            if counts[-1] < LEAST_SEEDS:
                return None
            drawn = scores[:, draw.integers(counts[-1], size=(_ROUNDS, counts[-1] - 1))]
        values.append(drawn.transpose(1, 0, 2).reshape(_ROUNDS, -1))
        weights.append(np.full(values[-1].shape[1], 1 / (len(units.tasks) * drawn.shape[2])))
    if not counts:
        return Interval(mean, mean)
    sample = np.concatenate(values, axis=1)
    error = float(_middle_mean(sample, np.broadcast_to(np.concatenate(weights), sample.shape)).std(ddof=1))
    half = float(stdtrit(degrees_of_freedom(np.ones(len(counts)), np.array(counts)), 0.975)) * error
    return Interval(mean - half, mean + half)
