"""Similarities against scikit-learn, scipy and mteb."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity

from thawbench.contracts import Similarity
from thawbench.tasks import similarity

KINDS: tuple[Similarity, ...] = ("cosine", "dot", "neg_l1", "neg_l2")


@pytest.fixture
def sides() -> tuple[Any, Any]:
    generator = np.random.default_rng(1)
    return generator.normal(size=(7, 5)).astype(np.float32), generator.normal(size=(9, 5)).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_full_agrees_with_scikit_learn_and_scipy(kind: Similarity, sides: tuple[Any, Any]) -> None:
    left, right = sides
    expected = {
        "cosine": cosine_similarity(left, right),
        "dot": left @ right.T,
        "neg_l1": -cdist(left, right, "cityblock"),
        "neg_l2": -cdist(left, right, "euclidean"),
    }[kind]
    np.testing.assert_allclose(similarity.full(kind, left, right), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_pairwise_is_the_diagonal_of_full(kind: Similarity, sides: tuple[Any, Any]) -> None:
    left, right = sides
    diagonal = similarity.full(kind, left, right[:7]).diagonal()
    np.testing.assert_allclose(similarity.pairwise(kind, left, right[:7]), diagonal, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_vectors_give_what_dense_ones_give(kind: Similarity, sides: tuple[Any, Any]) -> None:
    left, right = (np.where(side > 0.5, side, 0) for side in sides)
    csr = [sparse.csr_matrix(side) for side in (left, right)]
    np.testing.assert_allclose(similarity.full(kind, *csr), similarity.full(kind, left, right), atol=1e-5)
    np.testing.assert_allclose(
        similarity.pairwise(kind, csr[0], csr[1][:7]), similarity.pairwise(kind, left, right[:7]), atol=1e-5
    )


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_zero_vector_has_cosine_zero_with_everything_and_itself(make: Any) -> None:
    left, right = make(np.array([[0.0, 0.0], [3.0, 4.0]])), make(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(similarity.full("cosine", left, right), [[0, 0], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(similarity.pairwise("cosine", left, right), [0, 1], atol=1e-6)


def test_cosine_agrees_with_mteb(sides: tuple[Any, Any]) -> None:
    from mteb.similarity_functions import cos_sim, pairwise_cos_sim

    left, right = sides
    np.testing.assert_allclose(similarity.full("cosine", left, right), np.asarray(cos_sim(left, right)), atol=1e-6)
    np.testing.assert_allclose(
        similarity.pairwise("cosine", left, right[:7]), np.asarray(pairwise_cos_sim(left, right[:7])), atol=1e-6
    )


def test_l1_of_a_whole_collection_takes_little_more_memory_than_its_result() -> None:
    generator = np.random.default_rng(2)
    queries, documents = (generator.normal(size=(rows, 128)).astype(np.float32) for rows in (300, 11_429))
    tracemalloc.start()
    result = similarity.full("neg_l1", queries, documents)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.shape == (300, 11_429)
    assert peak < result.nbytes + 100 * 2**20  # all differences at once would be 1.7 GB
    np.testing.assert_allclose(result[299, 11_428], -np.abs(queries[299] - documents[11_428]).sum(), rtol=1e-5)


def test_a_single_vector_may_come_without_its_first_axis() -> None:
    assert similarity.full("neg_l1", np.array([1.0, 2.0]), np.array([3.0, 5.0])).tolist() == [[-5.0]]
