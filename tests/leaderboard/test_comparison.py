"""Comparisons: against scipy, by hand, and by simulation whose truth is known."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from thawbench.leaderboard.comparison import Comparison, compare_all, holm, maybe_best, minimal_difference
from thawbench.leaderboard.statistics import Interval
from thawbench.leaderboard.units import Units


def make_units(
    scores: NDArray[np.float64], *, strata: Sequence[int] = (), up: bool = True, fixed: Sequence[int] = ()
) -> Units:
    """Scores of (strategies, tasks, seeds); `fixed` are the strategies that no seed moves."""
    still = np.zeros(scores.shape[:2], bool)
    still[list(fixed)] = True
    names = tuple(f"s{number:02}" for number in range(len(scores)))
    tasks = tuple(f"t{number}" for number in range(scores.shape[1]))
    return Units(names, tasks, tuple(strata) or (0,) * len(tasks), scores, still, up)


def only(units: Units) -> Comparison:
    (found,) = compare_all(units)
    return found


def test_one_stratum_is_the_paired_t_test_of_scipy() -> None:
    scores = np.random.default_rng(0).normal(0.6, 0.1, (2, 3, 5))
    found = only(make_units(scores))
    first, second = scores.mean(axis=1)  # tasks that one draw moves count once
    reference = stats.ttest_rel(first, second)
    low, high = reference.confidence_interval()
    assert found.p == pytest.approx(reference.pvalue, abs=1e-9)
    assert found.adjusted == found.p
    assert found.difference == pytest.approx((first - second).mean(), abs=1e-12)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-9)
    assert found.seeds == 5


def test_two_strata_by_hand() -> None:
    # differences 1, 2, 3 on t0 and 4, 6, 8 on t1: means 2 and 6, variances 1 and 4
    scores = np.array([[[1.0, 2, 3], [4, 6, 8]], [[0, 0, 0], [0, 0, 0]]])
    found = only(make_units(scores, strata=(0, 1)))
    error = np.sqrt((1 / 3 + 4 / 3) / 4)
    satterthwaite = (1 + 4) ** 2 / (1**2 / 2 + 4**2 / 2)
    freedom = (satterthwaite + 2) / 2
    assert found.difference == 4
    assert found.p == pytest.approx(2 * stats.t.sf(4 / error, freedom), abs=1e-12)
    assert found.detectable == pytest.approx(minimal_difference(error, freedom))


def test_tasks_weigh_the_same_however_they_fall_into_strata() -> None:
    scores = np.random.default_rng(1).normal(size=(2, 4, 3))
    by_hand = (scores[0] - scores[1]).mean()
    for strata in ((0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 2, 3)):
        assert only(make_units(scores, strata=strata)).difference == pytest.approx(by_hand)


def test_where_less_is_better_the_lower_one_is_ahead() -> None:
    scores = np.array([[[0.1, 0.2, 0.3]], [[0.4, 0.5, 0.7]]])
    assert only(make_units(scores)).difference == pytest.approx(-1 / 3)
    turned = only(make_units(scores, up=False))
    assert turned.difference == pytest.approx(1 / 3)
    assert turned.better == 1.0


def test_probability_of_improvement_counts_ties_as_halves_and_tasks_alike() -> None:
    # t0: ahead, tied, behind, behind; t1: ahead wherever both ran
    first = [[0.5, 0.5, 0.5, 0.5], [0.9, 0.9, 0.9, np.nan]]
    second = [[0.4, 0.5, 0.6, 0.7], [0.1, 0.2, 0.3, 0.4]]
    found = only(make_units(np.array([first, second]), strata=(0, 1)))
    assert found.better == pytest.approx((1.5 / 4 + 1) / 2)
    assert found.seeds == 3


@pytest.mark.parametrize(("strata", "compared"), [((0, 1), True), ((0, 0), False)])
def test_a_stratum_counts_seeds_at_which_all_of_its_tasks_ran(strata: tuple[int, ...], compared: bool) -> None:
    scores = np.random.default_rng(2).normal(size=(2, 2, 4))
    scores[0, 0, 0] = scores[1, 1, 3] = np.nan
    assert bool(compare_all(make_units(scores, strata=strata))) == compared


def test_two_seeds_in_common_are_too_few() -> None:
    assert compare_all(make_units(np.array([[[0.1, 0.2]], [[0.8, 0.9]]]))) == ()
    assert compare_all(make_units(np.array([[[0.1, 0.2, 0.3, np.nan]], [[np.nan, 0.2, 0.3, 0.4]]]))) == ()


def test_two_that_no_seed_moves_differ_by_what_is_seen() -> None:
    found = only(make_units(np.array([[[0.5]], [[0.4]]]), fixed=(0, 1)))
    assert (found.p, found.seeds, found.detectable) == (0.0, None, None)
    assert found.interval == Interval(found.difference, found.difference)
    assert only(make_units(np.array([[[0.5]], [[0.5]]]), fixed=(0, 1))).p == 1.0


def test_a_fixed_score_against_seeds_is_the_one_sample_test() -> None:
    seeds = np.array([0.3, 0.4, 0.45, 0.37])
    found = only(make_units(np.array([[[0.5] * 4], [seeds]]), fixed=(0,)))
    assert found.p == pytest.approx(stats.ttest_1samp(seeds, 0.5).pvalue, abs=1e-9)


@pytest.mark.parametrize("seeds", [3, 6, 10])
def test_equal_differences_have_the_exact_p_of_wilcoxon(seeds: int) -> None:
    first = np.linspace(0.3, 0.7, seeds)
    found = only(make_units(np.array([[first], [first - 0.1]])))
    assert found.p == pytest.approx(stats.wilcoxon(np.full(seeds, 0.1) + np.arange(seeds) * 1e-3).pvalue)
    assert (found.interval, found.detectable) == (None, None)


def test_what_differs_by_rounding_alone_is_the_same() -> None:
    first = np.array([0.1 + 0.2, 0.3 + 0.3, 0.7])
    found = only(make_units(np.array([[first], [[0.3, 0.6, 0.7 + 1e-16]]])))
    assert (found.p, found.better, found.apart) == (1.0, 0.5, False)


def test_holm_by_hand() -> None:
    # .005 * 4, .01 * 3, .03 * 2, and .04 * 1 raised to the one before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("freedom", [2, 4, 9.5, 30])
@pytest.mark.parametrize("level", [0.05, 0.05 / 28])
def test_the_minimal_difference_has_its_power_by_scipy(freedom: float, level: float) -> None:
    found = minimal_difference(2.0, freedom, level=level)
    critical = stats.t.isf(level / 2, freedom)
    assert stats.nct.sf(critical, freedom, found / 2.0) == pytest.approx(0.8, abs=1e-8)


def test_forty_identical_strategies_are_never_apart() -> None:
    found = compare_all(make_units(np.tile(np.random.default_rng(0).random((1, 2, 3)), (40, 1, 1))))
    assert len(found) == 780
    assert {(each.difference, each.adjusted, each.better, each.apart) for each in found} == {(0.0, 1.0, 0.5, False)}


def test_one_strategy_or_none_has_nobody_to_be_compared_with() -> None:
    assert compare_all(make_units(np.zeros((1, 2, 3)))) == ()
    assert compare_all(make_units(np.zeros((0, 2, 3)))) == ()


@pytest.mark.parametrize("lead", [0.0, 0.02])
def test_who_is_best_in_truth_is_nearly_always_among_those_that_may_be(lead: float) -> None:
    draw = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        scores = 0.5 + 0.03 * draw.normal(size=(8, 1, 5))
        scores[0] += lead
        units = make_units(scores)
        first = units.strategies[int(scores.mean(axis=(1, 2)).argmax())]
        held += "s00" in {first} | maybe_best(units, first)
    assert held / 400 >= 0.95


def test_what_is_told_from_the_best_does_not_depend_on_how_many_others_are_compared_among_themselves() -> None:
    steady = np.array([0.01, -0.01, 0.0])
    near = [0.5 + steady + 0.001 * number for number in range(8)]
    units = make_units(np.array([[0.9 - steady], [0.6 + 2 * steady], *([row] for row in near)]))
    p = stats.ttest_rel(units.scores[0, 0], units.scores[1, 0]).pvalue
    assert 9 * p < 0.05 < 45 * p  # the 9 pairs with the best, and all 45
    assert maybe_best(units, "s00") == frozenset()
    assert [each.apart for each in compare_all(units) if {each.first, each.second} == {"s00", "s01"}] == [False]


def test_who_shares_too_few_seeds_with_the_best_is_not_said_to_be_maybe_best() -> None:
    scores = np.full((3, 1, 4), 0.5) + 0.01 * np.arange(4)
    scores[1, 0, 2:] = np.nan
    scores[2] += np.array([0.01, -0.01, 0.02, -0.02])
    assert maybe_best(make_units(scores), "s00") == {"s02"}
