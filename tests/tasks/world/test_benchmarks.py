"""Similarity and retrieval in the world, through mteb's own evaluators: known answers for encoders made by hand."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from thawbench.errors import DegenerateError
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.world import make_world
from thawbench.tasks.world.whole import REVISION

RETRIEVAL = make_world().retrieval
QUESTIONS = RETRIEVAL.queries.test
IR_TEXTS = [*RETRIEVAL.corpus.values(), *(question for _, question in QUESTIONS)]


def documents_by(grades: dict[str, int]) -> list[float]:
    return [float(grades.get(name, 0)) for name in RETRIEVAL.corpus]


def ir_table(scores: list[list[float]]) -> Any:
    """Vectors whose dot product is `scores` (questions, documents)."""
    documents = np.eye(len(RETRIEVAL.corpus), dtype=np.float32)
    return np.concatenate([documents, np.array(scores, dtype=np.float32)])


def test_an_encoder_that_knows_the_gold_scores_orders_pairs_perfectly(table_encoder: Any) -> None:
    task = resolve_task("sts/World")
    data = task.load()
    assert (task.name, task.train, task.corpus, task.revision) == ("sts/world", ("world/nli",), None, REVISION)
    pairs = make_world().similarity.test
    # the second text of each pair is turned away from the first by less, the higher the score
    angles = np.zeros(2 * len(pairs))
    angles[1::2] = [(5 - pair.score) / 2 for pair in pairs]
    table = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    table[2::4], table[3::4] = table[2::4, ::-1], table[3::4, ::-1]  # every other pair the other way round
    texts = [f"{row}{side}" for row in range(len(pairs)) for side in "ab"]
    encoder = table_encoder(texts, table, "neg_l2")
    sides = iter([texts[0::2], texts[1::2]])
    encoder.encode = lambda given, role=None: type(encoder).encode(encoder, next(sides))  # a text may be in two pairs
    scores = task.evaluate([encoder], data)
    assert scores.scalars["spearman"] == pytest.approx(1.0)
    assert scores.scalars["cosine_spearman"] == pytest.approx(1.0)
    assert len(scores.rows) == 500
    assert scores.rows[3].gold == pairs[3].score


def test_an_encoder_that_knows_the_grades_ranks_perfectly(table_encoder: Any) -> None:
    task = resolve_task("ir/world")
    data = task.load()
    assert (task.train, task.corpus, task.revision) == (("world/nli",), "corpus/world", REVISION)
    table = ir_table([documents_by(dict(RETRIEVAL.relevance[query])) for query, _ in QUESTIONS])
    scores = task.evaluate([table_encoder(IR_TEXTS, table, "dot")], data)
    assert scores.scalars["ndcg_at_10"] == pytest.approx(1.0)
    assert scores.scalars["mrr_at_10"] == pytest.approx(1.0)
    assert len(scores.rows) == 100


def test_an_encoder_that_finds_only_echoes_is_measured_as_scikit_learn_does(table_encoder: Any) -> None:
    """An echo first, then the gold order: the answer stands second."""
    task = resolve_task("ir/world")
    golds = [documents_by(dict(RETRIEVAL.relevance[query])) for query, _ in QUESTIONS]
    scored = [documents_by({**RETRIEVAL.relevance[query], RETRIEVAL.echoes[query]: 9}) for query, _ in QUESTIONS]
    scores = task.evaluate([table_encoder(IR_TEXTS, ir_table(scored), "dot")], task.load())
    assert scores.scalars["mrr_at_10"] == pytest.approx(0.5)
    assert scores.scalars["ndcg_at_10"] == pytest.approx(ndcg_score(golds, scored, k=10), abs=1e-4)


@pytest.mark.parametrize("name", ["sts/world", "ir/world"])
def test_a_constant_encoder_is_degenerate(name: str, table_encoder: Any) -> None:
    task = resolve_task(name)
    encoder = table_encoder([], np.zeros((0, 2), dtype=np.float32))
    encoder.encode = lambda given, role=None: np.ones((len(given), 2), dtype=np.float32)
    with pytest.raises(DegenerateError, match="constant"):
        task.evaluate([encoder], task.load())


@pytest.mark.parametrize("name", ["sts/world", "ir/world"])
def test_a_task_seen_before_is_planned_without_mteb(name: str) -> None:
    found = resolve_task(name).fingerprint()
    code = (
        "import sys; from thawbench.tasks.catalog import resolve_task;"
        f"print(resolve_task({name!r}).fingerprint(), [m for m in ('mteb', 'datasets', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{found} []\n"
