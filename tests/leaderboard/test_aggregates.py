"""Aggregates over tasks: against scipy, by hand, and by simulation."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from thawbench.leaderboard.aggregates import (
    PROFILE_AT,
    Aggregate,
    aggregates_of,
    interquartile_mean,
    mean_ranks,
    mid_ranks,
)
from thawbench.leaderboard.units import Units


def aggregates(scores: NDArray[np.float64], *, fixed: bool = False, apart: bool = True) -> tuple[Aggregate, ...]:
    """Of scores (strategies, tasks, seeds); `apart`: each task is a stratum."""
    count, tasks, _ = scores.shape
    units = Units(
        tuple(f"s{number}" for number in range(count)),
        tuple(f"t{number}" for number in range(tasks)),
        tuple(range(tasks)) if apart else (0,) * tasks,
        scores,
        np.full((count, tasks), fixed),
        True,
    )
    return aggregates_of(units, np.nanmean(scores, axis=2).tolist(), [None] * count)


def only(scores: list[list[float]], *, fixed: bool = False) -> Aggregate:
    (found,) = aggregates(np.array([scores]), fixed=fixed)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_mid_ranks_are_those_of_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 4, 9) / 4
    assert mid_ranks(values.tolist(), up=False) == pytest.approx(stats.rankdata(values))
    assert mid_ranks(values.tolist(), up=True) == pytest.approx(stats.rankdata(-values))


def test_mean_ranks_by_hand() -> None:
    # t0: 1, 2.5, 2.5; t1: 3, 1, 2
    assert mean_ranks([[0.9, 0.1], [0.5, 0.8], [0.5, 0.3]], up=True) == (2.0, 1.75, 2.25)


def test_borda_counts_the_beaten_and_half_of_the_tied() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (5, 4, 1)) / 2
    beaten = [
        sum((scores[a, t, 0] > scores[b, t, 0]) + (scores[a, t, 0] == scores[b, t, 0]) / 2 for b, t in
            product(set(range(5)) - {a}, range(4)))
        for a in range(5)
    ]  # fmt: skip
    assert [each.borda for each in aggregates(scores)] == pytest.approx(beaten)


@pytest.mark.parametrize("seed", range(5))
def test_the_interquartile_mean_is_the_trimmed_mean_of_scipy(seed: int) -> None:
    scores = np.random.default_rng(seed).random((1, 4, 5))  # 20 values: a quarter of them is 5
    (found,) = aggregates(scores)
    assert found.iqm == pytest.approx(stats.trim_mean(scores.ravel(), 0.25), abs=1e-9)


def test_the_interquartile_mean_takes_parts_of_values_at_its_ends() -> None:
    # of 3 values the middle half is all of the second and a quarter of each other
    found = interquartile_mean(np.array([0.6, 0.1, 0.4]), np.full(3, 1 / 3))
    assert found == pytest.approx((0.25 * 0.1 + 0.4 + 0.25 * 0.6) / 1.5)


def test_a_task_with_more_seeds_weighs_no_more() -> None:
    once = only([[0.1, np.nan, np.nan], [0.5, 0.5, 0.5], [0.9, np.nan, np.nan]])
    assert once.iqm == only([[0.1], [0.5], [0.9]]).iqm


def test_the_profile_is_the_share_of_scores_above() -> None:
    found = dict(zip(PROFILE_AT, only([[0.2, 0.4], [0.6, np.nan]]).profile, strict=True))
    assert (found[0.0], found[0.2], found[0.3], found[0.5], found[0.6], found[1.0]) == (1, 0.75, 0.75, 0.5, 0, 0)


def test_what_no_seed_moves_is_a_point_and_two_seeds_are_too_few() -> None:
    still = only([[0.3] * 3, [0.5] * 3], fixed=True)
    assert still.interval is not None
    assert still.interval.low == still.interval.high == still.iqm
    assert only([[0.3, 0.4], [0.5, 0.6]]).interval is None


def test_the_bootstrap_draws_from_a_generator_of_its_own() -> None:
    scores = np.random.default_rng(0).random((2, 3, 5))
    first = aggregates(scores)
    np.random.default_rng().random()
    assert aggregates(scores) == first


@pytest.mark.parametrize(("tasks", "seeds", "apart"), [(6, 3, True), (4, 5, True), (6, 3, False)])
def test_the_interval_of_the_interquartile_mean_holds_the_truth(tasks: int, seeds: int, apart: bool) -> None:
    draw = np.random.default_rng(tasks + seeds)
    means = draw.normal(0.6, 0.1, (tasks, 1))
    many = draw.normal(means, 0.02, (tasks, 50_000)).ravel()
    truth = interquartile_mean(many, np.full(many.size, 1 / many.size))
    noise = draw.normal(0, 0.02, (120, tasks if apart else 1, seeds))
    found = [each.interval for each in aggregates(means + noise, apart=apart)]
    held = sum(each is not None and each.low <= truth <= each.high for each in found)
    assert 0.9 < held / 120 <= 1
