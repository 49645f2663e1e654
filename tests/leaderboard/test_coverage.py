"""The committed coverage of t intervals is what a simulation gives."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from thawbench.leaderboard.coverage import COVERAGE, FAILING, SEEDS, coverage_note
from thawbench.leaderboard.statistics import summarise, t_interval

Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


def two_humped(draw: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Runs that end near .9, but for those that failed, near .5."""
    centre: NDArray[np.float64] = np.where(draw.random(size) < FAILING, 0.5, 0.9)
    return centre + draw.normal(0, 0.02, size)


SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda draw, size: draw.normal(size=size), 0.0),
    "skewed as an exponential": (lambda draw, size: draw.exponential(size=size), 1.0),
    "two-humped, one run in five failing": (two_humped, 0.9 - 0.4 * FAILING),
}


@pytest.mark.parametrize("shape", COVERAGE)
def test_the_committed_coverage_is_simulated_again(shape: str) -> None:
    draw_scores, truth = SHAPES[shape]
    found = []
    for seeds in SEEDS:
        scores = draw_scores(np.random.default_rng(seeds), (100_000, seeds))
        half = stdtrit(seeds - 1, 0.975) * scores.std(axis=1, ddof=1) / np.sqrt(seeds)
        found.append(float((abs(scores.mean(axis=1) - truth) <= half).mean()))
    assert found == pytest.approx(COVERAGE[shape], abs=0.005)


@pytest.mark.parametrize("seeds", SEEDS)
def test_intervals_of_normal_scores_hold_the_mean_in_95_of_100_cases(seeds: int) -> None:
    scores = np.random.default_rng(seeds).normal(0.6, 0.05, (2000, seeds)).tolist()
    intervals = [t_interval(summarise(values)) for values in scores]
    held = sum(each is not None and each.low <= 0.6 <= each.high for each in intervals)
    assert 0.92 < held / 2000 < 0.98


def test_the_note_names_every_shape_with_its_numbers() -> None:
    assert "95 / 95 / 95 if normal; 88 / 88 / 90 if skewed" in coverage_note()
    assert "53 / 67 / 89 if two-humped, one run in five failing" in coverage_note()
    assert "all the same, 7 % if 20 % of runs do and 28 % if 40 % of runs do tell some apart" in coverage_note()
