"""Figures that real data give, through a Hub that serves them."""

from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from thawbench.tasks.classify import Classify
from thawbench.tasks.ir import Ir
from thawbench.tasks.sts import Sts

pytestmark = [pytest.mark.hub, pytest.mark.usefixtures("needs_hub")]


class Tfidf:
    """scikit-learn's TF-IDF with dampened counts and without English stop words."""

    similarity = "cosine"

    def __init__(self, documents: tuple[str, ...]) -> None:
        self._vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(documents)

    def encode(self, texts: list[str], *, role: str | None = None) -> Any:
        return self._vectorizer.transform(texts)


@pytest.mark.parametrize(
    ("name", "documents", "queries", "ndcg"),
    [
        ("SciFact", 5183, 300, 0.628),
        ("cranfield", 1400, 225, 0.338),
        ("cacm", 3204, 52, 0.330),
        ("medline", 1033, 30, 0.670),
        ("lisa", 5999, 35, 0.426),
        ("npl", 11_429, 93, 0.269),
    ],
)
def test_tf_idf_finds_what_it_is_known_to_find(name: str, documents: int, queries: int, ndcg: float) -> None:
    task = Ir.resolve(name)
    data = task.load()
    texts = task.documents(data)
    scores = task.evaluate([Tfidf(texts)], data)  # type: ignore[list-item]
    assert (len(texts), len(scores.rows)) == (documents, queries)
    assert scores.scalars["ndcg_at_10"] == pytest.approx(ndcg, abs=0.0006)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "spearman"), [("STSBenchmark", 82.03), ("STS12", 72.37), ("STS15", 85.40)])
def test_mini_lm_orders_pairs_as_published(name: str, spearman: float, embedded: Any) -> None:
    task = Sts.resolve(name)
    scores = task.evaluate([embedded], task.load())
    assert 100 * scores.scalars["cosine_spearman"] == pytest.approx(spearman, abs=0.05)
    assert scores.scalars["spearman"] == pytest.approx(scores.scalars["cosine_spearman"], abs=1e-4)


@pytest.mark.slow
def test_mini_lm_tells_intents_apart_as_published(embedded: Any) -> None:
    task = Classify.resolve("Banking77Classification")
    scores = task.evaluate([embedded], task.load())
    assert 100 * scores.scalars["accuracy"] == pytest.approx(80.04, abs=0.5)
