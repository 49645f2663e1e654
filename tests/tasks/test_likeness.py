"""Measures of two spaces: one for a space and itself, whichever way it is turned, and what loops calculate."""

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import cosine
from scipy.stats import ortho_group, pearsonr
from sklearn.metrics.pairwise import cosine_similarity

from thawbench.tasks.isotropy import Doubles
from thawbench.tasks.likeness import cka, rsa, token_cosine

DRAWS = np.random.default_rng(66)
SPACE = DRAWS.standard_normal((40, 12)) * np.geomspace(4, 0.2, 12) + 0.3
TURNED = SPACE @ ortho_group(12, seed=2).rvs()


@pytest.mark.parametrize("measure", [rsa, cka, token_cosine])
def test_a_space_is_itself(measure: type) -> None:
    assert measure(SPACE, SPACE) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("measure", [rsa, cka])
def test_a_space_that_was_turned_and_scaled_is_still_itself(measure: type) -> None:
    assert measure(SPACE, 3 * TURNED) == pytest.approx(1, abs=1e-12)
    assert measure(SPACE.astype(np.float32), TURNED.astype(np.float32)) == pytest.approx(1, abs=1e-5)


def test_the_mean_token_cosine_sees_a_turn_and_the_others_do_not() -> None:
    assert token_cosine(SPACE, TURNED) < 0.5
    assert token_cosine(SPACE, -SPACE) == pytest.approx(-1)


def test_cka_sees_no_shift_and_rsa_does() -> None:
    assert cka(SPACE, SPACE + 5) == pytest.approx(1)
    assert rsa(SPACE, SPACE + 5) < 0.99


def test_unrelated_spaces_are_not_alike_though_they_have_more_components_than_points() -> None:
    left, right = DRAWS.standard_normal((2, 200, 400))

    assert rsa(left, right) == pytest.approx(0, abs=0.05)
    assert cka(left, right) == pytest.approx(0, abs=0.05)
    assert plain_cka(left, right) > 0.6  # 400 / (200 + 400): why the bias is taken off


def test_spaces_may_differ_in_width() -> None:
    wide = np.hstack([SPACE, np.zeros((40, 5))])

    assert rsa(SPACE, wide) == pytest.approx(1)
    assert cka(SPACE, wide) == pytest.approx(1)


def test_rsa_is_the_correlation_of_the_upper_triangles() -> None:
    other = SPACE + DRAWS.standard_normal(SPACE.shape)
    above = np.triu(np.ones((40, 40), dtype=bool), k=1)
    expected = pearsonr(cosine_similarity(SPACE)[above], cosine_similarity(other)[above]).statistic

    assert rsa(SPACE, other) == pytest.approx(expected)


def test_token_cosine_is_the_mean_over_rows() -> None:
    other = SPACE + DRAWS.standard_normal(SPACE.shape)
    expected = np.mean([1 - cosine(a, b) for a, b in zip(SPACE, other, strict=True)])

    assert token_cosine(SPACE, other) == pytest.approx(expected)


def test_cka_is_that_of_the_unbiased_estimate_over_all_tuples_of_different_rows() -> None:
    left, right = SPACE[:6], SPACE[:6] + DRAWS.standard_normal((6, 12))
    expected = hsic(left, right) / np.sqrt(hsic(left, left) * hsic(right, right))

    assert cka(left, right) == pytest.approx(expected)


def test_cka_comes_to_the_plain_one_with_many_points() -> None:
    many = DRAWS.standard_normal((1500, 6)) * np.geomspace(2, 0.5, 6)
    other = many + DRAWS.standard_normal(many.shape)

    assert cka(many, other) == pytest.approx(plain_cka(many, other), abs=0.005)


@pytest.mark.parametrize("measure", [rsa, cka])
def test_a_constant_space_and_too_few_points_have_no_likeness(measure: type) -> None:
    constant = np.tile(SPACE[0], (40, 1))

    assert np.isnan(measure(SPACE, constant))
    assert np.isnan(measure(SPACE[:3], SPACE[:3]))


def test_no_points_have_no_mean_token_cosine() -> None:
    assert np.isnan(token_cosine(SPACE[:0], SPACE[:0]))


def hsic(left: Doubles, right: Doubles) -> float:
    """Song et al. 2012, section 3: three U-statistics of the Gram matrices."""
    k, m = left @ left.T, right @ right.T
    rows = range(len(left))
    two = np.mean([k[i, j] * m[i, j] for i, j in permutations(rows, 2)])
    three = np.mean([k[i, j] * m[i, q] for i, j, q in permutations(rows, 3)])
    four = np.mean([k[i, j] * m[q, r] for i, j, q, r in permutations(rows, 4)])
    return float(two + four - 2 * three)


def plain_cka(left: Doubles, right: Doubles) -> float:
    """Kornblith et al. 2019, section 3: from centred features."""
    x, y = left - left.mean(axis=0), right - right.mean(axis=0)
    cross, own, other = (np.linalg.norm(a.T @ b) for a, b in ((y, x), (x, x), (y, y)))
    return float(cross**2 / (own * other))
