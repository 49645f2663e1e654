"""Effects, their intervals and what would decide them: against scipy, by hand and by simulation."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from thawbench.leaderboard.claim_effect import (
    FAILING_FAVOURED,
    Effect,
    distances_from_median,
    effect_of_correlation,
    effect_of_pairs,
    pseudo_values,
)

Array = NDArray[np.float64]
ROUNDS = 500


def moving(values: Array, strata: list[list[int]] | None = None) -> Effect | None:
    rows = len(values)
    return effect_of_pairs(
        values, np.zeros(rows, bool), strata or [[row] for row in range(rows)], list("abcdef"[:rows])
    )


def share(effects: list[Effect | None], threshold: float) -> tuple[float, float]:
    """How many are supported, and how many refuted."""
    found = [effect.interval() for effect in effects if effect]
    above = sum(interval is not None and interval.low > threshold for interval in found)
    below = sum(interval is not None and interval.high < threshold for interval in found)
    return above / len(effects), below / len(effects)


def test_one_stratum_is_a_paired_t_interval() -> None:
    differences = np.array([[0.02, 0.05, 0.01, 0.04]])
    found = moving(differences)
    expected = stats.ttest_1samp(differences[0], 0).confidence_interval(0.95)
    assert found is not None
    interval = found.interval()
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.count, found.unit) == (4, "seeds")


def test_where_no_seed_moves_anything_the_unit_is_a_data_set() -> None:
    values = np.repeat([[0.1], [0.3], [0.2], [0.5]], 3, axis=1)
    still = np.ones(4, bool)
    found = effect_of_pairs(values, still, [[0], [1], [2], [3]], ["a", "a", "b", "c"])  # the a's mean is .2
    expected = stats.ttest_1samp([0.2, 0.2, 0.5], 0).confidence_interval(0.95)
    assert found is not None
    interval = found.interval()
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.count, found.unit) == (3, "data sets")
    assert effect_of_pairs(values[:3], still[:3], [[0], [1], [2]], ["a", "a", "b"]) is None


def test_values_that_are_all_one_say_nothing_until_there_are_six() -> None:
    few, enough = moving(np.full((1, 5), 0.1)), moving(np.full((1, 6), 0.1))
    assert few is not None
    assert enough is not None
    assert few.interval() is None
    assert few.needed(0.0) == 6
    interval = enough.interval()
    assert interval is not None
    assert interval.low == interval.high == pytest.approx(0.1)


def test_a_correlation_is_spearmans() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 9))
    found = effect_of_correlation(list(first), list(second), -1)
    assert found is not None
    assert found.value == pytest.approx(-stats.spearmanr(first, second).statistic, abs=1e-12)
    interval = found.interval()
    assert interval is not None
    half = stats.t.ppf(0.975, 7) * math.sqrt((1 + found.value**2 / 2) / 6)
    assert interval.low == pytest.approx(math.tanh(math.atanh(found.value) - half), abs=1e-12)
    assert effect_of_correlation([1.0] * 9, list(second), 1) is None


def test_perfect_agreement_counts_as_if_two_neighbours_were_swapped() -> None:
    perfect, swapped = (effect_of_correlation(list(range(8)), order, 1) for order in (range(8), [1, 0, *range(2, 8)]))
    assert perfect is not None
    assert swapped is not None
    assert perfect.value == 1.0
    one, two = perfect.interval(), swapped.interval()
    assert one is not None
    assert two is not None
    assert 0 < one.low == pytest.approx(two.low, abs=0.02)


def test_pseudo_values_of_a_mean_are_the_values_and_of_a_variance_average_to_it() -> None:
    values = np.array([0.3, 0.1, 0.4, 0.15, 0.9])
    np.testing.assert_allclose(pseudo_values(lambda some: float(some.mean()), values), values)
    assert pseudo_values(lambda some: float(some.var(ddof=1)), values).mean() == pytest.approx(values.var(ddof=1))


def test_distances_from_the_median_are_what_levenes_test_compares() -> None:
    scores = np.array([[0.1, 0.4, 0.2, 0.9, np.nan]])
    np.testing.assert_allclose(distances_from_median(scores), [[0.2, 0.1, 0.1, 0.6, np.nan]])
    unpaired = distances_from_median(np.array([[0.1, 0.4, 0.2, 0.9], [0.3, 0.35, 0.2, 0.4]]))
    assert stats.f_oneway(*unpaired).statistic == pytest.approx(
        stats.levene([0.1, 0.4, 0.2, 0.9], [0.3, 0.35, 0.2, 0.4], center="median").statistic
    )


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("strata", [[[0, 1]], [[0], [1, 2]]], ids=["one stratum", "two strata"])
@pytest.mark.parametrize("truth", [0.0, 0.5, 1.0], ids=["no difference", "half of what matters", "just what matters"])
def test_a_claim_is_supported_in_at_most_one_of_twenty_where_it_does_not_hold(
    seeds: int, strata: list[list[int]], truth: float
) -> None:
    generator = np.random.default_rng(seeds)
    rows = sum(map(len, strata))
    spreads = np.array([1.0, 3.0, 2.0])[:rows, None]
    effects = [moving(truth + spreads * generator.normal(size=(rows, seeds)), strata) for _ in range(ROUNDS)]
    supported, refuted = share(effects, 1.0)
    assert supported <= 0.05
    assert refuted <= 0.05 or truth < 1.0


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_two_strategies_that_are_alike_support_no_claim_though_one_run_in_five_fails(seeds: int) -> None:
    generator = np.random.default_rng(seeds)

    def scores() -> Array:
        return np.where(generator.random((2, seeds)) < 0.2, 0.5, 0.7) + 0.02 * generator.normal(size=(2, seeds))

    assert max(share([moving(scores() - scores()) for _ in range(ROUNDS)], 0.0)) <= 0.05


def test_how_often_a_strategy_that_fails_now_and_then_is_favoured_is_what_the_page_says() -> None:
    generator = np.random.default_rng(0)
    draws = [np.where(generator.random((2, 5)) < 0.2, -0.4, 0.1) for _ in range(2 * ROUNDS)]
    effects = [moving(each + 0.05 * generator.normal(size=(2, 5))) for each in draws]
    assert share(effects, 0.0)[0] == pytest.approx(FAILING_FAVOURED, abs=0.02)


@pytest.mark.parametrize("seeds", [5, 10])
def test_equal_spreads_support_no_claim_though_one_run_in_five_fails(seeds: int) -> None:
    generator = np.random.default_rng(seeds)

    def distances() -> Array:
        failed = np.where(generator.random((2, seeds)) < 0.2, 0.5, 0.7)
        return distances_from_median(failed + 0.02 * generator.normal(size=(2, seeds)))

    assert max(share([moving(distances() - distances()) for _ in range(ROUNDS)], 0.0)) <= 0.05


def test_scores_that_are_unrelated_support_no_correlation() -> None:
    generator = np.random.default_rng(0)
    pairs = [generator.normal(size=(2, 8)).tolist() for _ in range(ROUNDS)]
    effects = [effect_of_correlation(first, second, 1) for first, second in pairs]
    assert max(share(effects, 0.0)) <= 0.05


@pytest.mark.parametrize(("distance", "spread"), [(1.0, 2.0), (2.0, 2.0), (0.5, 1.0)])
def test_as_many_seeds_as_are_said_to_be_needed_decide_with_a_probability_of_80_percent(
    distance: float, spread: float
) -> None:
    generator = np.random.default_rng(1)
    seen = Effect(1 + distance, spread / math.sqrt(5), 4.0, 5, "seeds")  # five seeds that look just like the truth
    needed = seen.needed(1.0)
    assert needed is not None
    effects = [moving(1 + distance + spread * generator.normal(size=(1, needed))) for _ in range(ROUNDS)]
    assert 0.74 <= share(effects, 1.0)[0] <= 0.9  # a whole number of seeds is a little more than enough
    fewer = [moving(1 + distance + spread * generator.normal(size=(1, needed - 1))) for _ in range(ROUNDS)]
    assert share(fewer, 1.0)[0] < 0.86


def test_no_number_of_seeds_is_named_that_nobody_would_run() -> None:
    assert Effect(1.0001, 1.0, 4.0, 5, "seeds").needed(1.0) is None
