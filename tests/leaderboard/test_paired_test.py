"""Paired tests by simulation: how often they err where nothing differs, and find what was planted."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from thawbench.leaderboard.comparison import minimal_difference
from thawbench.leaderboard.coverage import FALSE_GROUPS
from thawbench.leaderboard.paired_test import PairedTests, degrees_of_freedom, paired_tests

STRATEGIES = 5
ROUNDS = 1500


def families(scores: NDArray[np.float64], strata: list[list[int]]) -> NDArray[np.float64]:
    """The least p of each family after the first of Holm's steps, of scores (rounds, strategies, tasks, seeds)."""
    first, second = np.triu_indices(scores.shape[1], 1)
    differences = (scores[:, first] - scores[:, second]).reshape(-1, *scores.shape[2:])
    p = run(differences, strata).p.reshape(len(scores), -1)
    least: NDArray[np.float64] = p.min(axis=1) * p.shape[1]
    return least


def run(differences: NDArray[np.float64], strata: list[list[int]]) -> PairedTests:
    return paired_tests(differences, np.zeros(differences.shape[:2], bool), strata)


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(
    ("strata", "spreads"),
    [
        ([[0]], (1,)),
        ([[0, 1, 2]], (1, 2, 3)),
        ([[0], [1], [2]], (1, 1, 1)),
        ([[0], [1]], (1, 4)),
        ([[0], [1], [2], [3], [4], [5]], (1, 1, 1, 1, 1, 4)),
    ],
)
def test_of_families_without_a_difference_at_most_5_percent_show_one(
    seeds: int, strata: list[list[int]], spreads: tuple[float, ...]
) -> None:
    draw = np.random.default_rng(seeds)
    scores = draw.normal(size=(ROUNDS, STRATEGIES, len(spreads), seeds)) * np.array(spreads)[:, None]
    scores += draw.normal(size=(ROUNDS, 1, len(spreads), seeds))  # samples that are hard for everybody
    chance = 2 * np.sqrt(0.05 * 0.95 / ROUNDS)  # of the simulation itself
    assert (families(scores, strata) < 0.05).mean() < 0.05 + chance


@pytest.mark.parametrize("share", FALSE_GROUPS)
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_note_says_how_many_tables_err_where_runs_fail(share: float, seeds: int) -> None:
    draw = np.random.default_rng(0)
    size = (ROUNDS, 8, 1, seeds)
    scores = np.where(draw.random(size) < share, 0.5, 0.9) + draw.normal(0, 0.02, size)
    wrong = (families(scores, [[0]]) < 0.05).mean()
    if seeds == 3:
        assert wrong == pytest.approx(FALSE_GROUPS[share], abs=0.02)
    else:
        assert wrong < 0.05


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("pairs", [1, 28])
def test_a_planted_difference_is_found_with_the_power_that_is_stated(seeds: int, pairs: int) -> None:
    planted = minimal_difference(0.1 / np.sqrt(seeds), seeds - 1, level=0.05 / pairs)
    differences = np.random.default_rng(seeds).normal(planted, 0.1, (20_000, 1, seeds))
    assert (run(differences, [[0]]).p * pairs < 0.05).mean() == pytest.approx(0.8, abs=0.01)


def test_intervals_of_differences_hold_the_truth_at_least_as_often_as_they_say() -> None:
    draw = np.random.default_rng(0)
    for seeds in (3, 5, 10):
        differences = draw.normal(0.1, 1, (20_000, 3, seeds)) * np.array([1, 2, 1])[:, None]
        found = run(differences, [[0], [1], [2]])
        held = abs(found.mean - 0.1 * 4 / 3) <= found.half_width()
        assert 0.945 < held.mean() < 0.99


def test_degrees_of_freedom_by_hand() -> None:
    # Satterthwaite: (1 + 4)^2 / (1 / 2 + 16 / 4) = 50 / 9; the smallest stratum has 3 seeds
    found = degrees_of_freedom(np.array([[1.0], [4.0], [0.0]]), np.array([[3], [5], [0]]))
    assert found == pytest.approx((50 / 9 + 2) / 2)
    assert degrees_of_freedom(np.array([2.0]), np.array([7])) == 6


def test_many_pairs_at_once_are_each_the_test_of_scipy() -> None:
    differences = np.random.default_rng(3).normal(0.1, 1, (20, 1, 6))
    differences[4, 0, 2] = differences[9, 0, [0, 5]] = np.nan
    found = run(differences, [[0]])
    references = [stats.ttest_1samp(row[0][~np.isnan(row[0])], 0) for row in differences]
    assert found.p == pytest.approx([each.pvalue for each in references], abs=1e-9)
    assert found.least.tolist() == [6 - (at == 4) - 2 * (at == 9) for at in range(20)]
