"""Measures of one space: known by construction, and equal to what other libraries calculate."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cosine, pdist
from scipy.stats import ortho_group
from sklearn.decomposition import PCA

from thawbench.tasks.isotropy import (
    Covariance,
    Doubles,
    Vectors,
    alignment,
    chance_variance,
    defined_mean,
    explainable_variance,
    intra_similarity,
    isoscore,
    mean_cosine,
    self_similarity,
    uniformity,
)

DRAWS = np.random.default_rng(6)
POINTS = DRAWS.standard_normal((30, 8)) + 0.5


def covariance(rows: Vectors) -> Doubles:
    found = Covariance()
    found.add(rows[None])
    (matrix,) = found.matrices()
    return np.asarray(matrix)


# ---- by construction ------------------------------------------------------------------------------------------------


def test_isotropic_gaussians_have_an_anisotropy_of_zero_and_an_isoscore_of_one() -> None:
    gaussians = DRAWS.standard_normal((20_000, 16)).astype(np.float32)

    assert mean_cosine(gaussians[:1000]) == pytest.approx(0, abs=0.01)
    assert isoscore(covariance(gaussians)) == pytest.approx(1, abs=0.01)


def test_vectors_of_one_direction_have_an_anisotropy_of_one_and_an_isoscore_of_zero() -> None:
    line = np.linspace(1, 2, 50)[:, None] * np.arange(1, 9)

    assert mean_cosine(line) == pytest.approx(1)
    assert isoscore(covariance(line)) == pytest.approx(0, abs=1e-12)
    assert explainable_variance(line) == pytest.approx(1)


def test_variance_that_fills_k_of_d_directions_evenly_has_the_isoscore_worked_by_hand() -> None:
    assert isoscore(np.diag([2.0] * 4 + [0.0] * 12)) == pytest.approx((4 - 1) / (16 - 1))


def test_a_word_that_is_the_same_everywhere_has_a_self_similarity_of_one_and_no_variance_to_explain() -> None:
    same = np.tile(POINTS[0], (5, 1))

    assert self_similarity([same, same * 2]) == pytest.approx(1)
    assert np.isnan(explainable_variance(same))


def test_n_random_rows_have_at_least_the_nth_part_explained_so_the_baseline_takes_as_many() -> None:
    sample = DRAWS.standard_normal((1000, 64))

    assert explainable_variance(sample[:5]) > 1 / 4
    assert chance_variance(sample, [5]) > 2 * chance_variance(sample, [40])
    assert chance_variance(sample, [5, 5, 40]) == pytest.approx(
        (2 * chance_variance(sample, [5]) + chance_variance(sample, [40])) / 3
    )


def test_texts_that_are_close_are_aligned_and_texts_all_around_are_uniform() -> None:
    right = np.array([[1.0, 0], [0, 2.0]])

    assert alignment(right, 3 * right) == pytest.approx(0)
    assert alignment(right, -right) == pytest.approx(4)
    assert uniformity(np.array([[1.0, 0], [-1, 0]])) == pytest.approx(-8)
    assert uniformity(np.tile(POINTS[0], (4, 1))) == pytest.approx(0)


def test_a_rotation_changes_no_measure() -> None:
    turn = ortho_group(8, seed=1).rvs()
    turned = POINTS @ turn

    for measure in (mean_cosine, intra_similarity, explainable_variance, uniformity):
        assert measure(turned) == pytest.approx(measure(POINTS)), measure
    assert isoscore(covariance(turned)) == pytest.approx(isoscore(covariance(POINTS)))


def test_what_is_not_defined_is_nan_and_left_out_of_means() -> None:
    one, none = POINTS[:1], POINTS[:0]

    undefined = (mean_cosine(one), uniformity(one), intra_similarity(none), alignment(none, none), self_similarity([]))
    assert np.isnan(undefined).all()
    assert np.isnan(isoscore(np.zeros((3, 3))))
    assert np.isnan(chance_variance(POINTS, []))
    assert np.isnan(chance_variance(POINTS, [31]))
    assert defined_mean([1.0, float("nan"), 2.0]) == 1.5


def test_a_zero_vector_has_a_cosine_of_zero_with_all() -> None:
    assert mean_cosine(np.array([[1.0, 0], [1, 0], [0, 0]])) == pytest.approx(1 / 3)


# ---- by other means -------------------------------------------------------------------------------------------------


def test_mean_cosine_is_that_of_all_pairs() -> None:
    assert mean_cosine(POINTS) == pytest.approx(1 - pdist(POINTS, "cosine").mean())


def test_self_similarity_is_the_mean_over_words_whatever_their_number_of_occurrences() -> None:
    words = [POINTS[:5], POINTS[5:15]]
    expected = []
    for word in words:
        pairs = [1 - cosine(a, b) for i, a in enumerate(word) for j, b in enumerate(word) if i != j]
        expected.append(sum(pairs) / len(pairs))

    assert self_similarity(words) == pytest.approx(sum(expected) / 2)


def test_intra_similarity_is_that_of_each_word_with_the_mean() -> None:
    mean = POINTS.mean(axis=0)

    assert intra_similarity(POINTS) == pytest.approx(np.mean([1 - cosine(point, mean) for point in POINTS]))


def test_explainable_variance_is_the_first_share_of_a_pca() -> None:
    assert explainable_variance(POINTS) == pytest.approx(PCA().fit(POINTS).explained_variance_ratio_[0])
    blocks = [PCA().fit(POINTS[start : start + 7]).explained_variance_ratio_[0] for start in (0, 7, 14, 21)]
    assert chance_variance(POINTS, [7]) == pytest.approx(np.mean(blocks))


def test_isoscore_is_what_its_paper_calculates_step_by_step() -> None:
    dim = POINTS.shape[1]
    variances = np.diag(np.cov(PCA().fit_transform(POINTS).T))
    scaled = np.sqrt(dim) * variances / np.linalg.norm(variances)
    defect = np.linalg.norm(scaled - 1) / np.sqrt(2 * (dim - np.sqrt(dim)))
    used = (dim - defect**2 * (dim - np.sqrt(dim))) ** 2 / dim**2

    assert isoscore(covariance(POINTS)) == pytest.approx((dim * used - 1) / (dim - 1))


def test_alignment_and_uniformity_are_what_their_paper_calculates() -> None:
    x, y = (torch.nn.functional.normalize(torch.from_numpy(half)) for half in (POINTS[:15], POINTS[15:]))

    assert alignment(POINTS[:15], POINTS[15:]) == pytest.approx(float((x - y).norm(dim=1).pow(2).mean()))
    assert uniformity(POINTS[:15]) == pytest.approx(float(torch.pdist(x).pow(2).mul(-2).exp().mean().log()))


def test_a_covariance_in_blocks_is_that_of_all_rows_even_where_they_lie_far_out() -> None:
    rows = (DRAWS.standard_normal((2, 50, 4)) * [1, 2, 3, 4] + 1000).astype(np.float32)
    found = Covariance()
    for start, end in ((0, 7), (7, 7), (7, 8), (8, 50)):
        found.add(rows[:, start:end])

    assert found.rows == 50
    for space, matrix in zip(rows, found.matrices(), strict=True):
        np.testing.assert_allclose(matrix, np.cov(space.astype(np.float64).T, bias=True), rtol=1e-3, atol=1e-3)
