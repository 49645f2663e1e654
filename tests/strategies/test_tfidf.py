"""TF-IDF: scikit-learn's own numbers, rebuilt from JSON and tensors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from thawbench.contracts import Budget, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.tfidf import Tfidf, TfidfConfig

START = AdaptedEncoder(None)
TEXTS = (
    "The cat sat on the mat.",
    "A dog chased the cat up a tree.",
    "Trees grow slowly; mats wear out.",
    "Naïve 猫 dogs dream of trees",
    "the dog sat under the tree",
)
ODD = ["the cat and the dog", "", "unseenword", "x" * 5000, "sat sat tree"]


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(svd: int | None = None, texts: tuple[str, ...] = TEXTS) -> AdaptedEncoder:
    data = TrainSet("corpus/cats", 1, "f", texts=texts)
    return Tfidf(TfidfConfig(svd=svd)).fit(START, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt)


def test_vectors_are_scikit_learns_sparse_and_in_single_precision() -> None:
    ours: Any = fit().encode(ODD)
    reference = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(TEXTS).transform(ODD)

    assert sp.issparse(ours)
    assert ours.format == "csr"
    assert ours.dtype == np.float32
    assert np.allclose(ours.toarray(), reference.toarray(), atol=1e-6)
    assert fit().encode([]).shape == (0, ours.shape[1])


def test_svd_gives_dense_vectors_like_scikit_learns_up_to_rounding() -> None:
    adapted = fit(svd=2)
    vectors = adapted.encode(ODD)
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(TEXTS)
    svd = TruncatedSVD(2, algorithm="arpack", random_state=7).fit(vectorizer.transform(TEXTS))

    assert vectors.shape == (5, 2)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, svd.transform(vectorizer.transform(ODD)), atol=1e-5)
    assert adapted.encode([]).shape == (0, 2)


@pytest.mark.parametrize("svd", [None, 2])
def test_a_stored_state_restores_the_same_bits(svd: int | None, tmp_path: Path) -> None:
    adapted = fit(svd)
    adapted.save(tmp_path)

    restored = Tfidf(TfidfConfig(svd=svd)).restore(START, load_state(tmp_path))

    assert abs(restored.encode(ODD) - adapted.encode(ODD)).max() == 0
    assert restored.source is not None
    assert adapted.source is not None
    assert restored.source.key == adapted.source.key
    assert adapted.state.cost.total_parameters == restored.source.total_parameters > 0


def test_the_fit_is_the_same_bytes_every_time() -> None:
    one, two = fit(svd=2).state, fit(svd=2).state

    assert np.array_equal(one.tensors["svd"], two.tensors["svd"])
    assert one.values == two.values


def test_texts_without_a_word_are_not_for_it() -> None:
    with pytest.raises(NotApplicableError, match="no text with a word"):
        fit(texts=("", "!"))


def test_more_components_than_texts_are_refused_with_the_numbers() -> None:
    with pytest.raises(NotApplicableError, match="svd=5 needs more than 5 texts"):
        fit(svd=5)


def test_no_components_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        TfidfConfig(svd=0)
