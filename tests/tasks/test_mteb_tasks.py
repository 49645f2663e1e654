"""STS, retrieval and classification through mteb, on tasks made by hand."""

from typing import Any, TypeVar

import numpy as np
import pytest
from mteb_by_hand import DOCUMENTS, PAIRS, QUERIES, HandClassification, HandRetrieval, HandSts
from scipy import sparse
from scipy.stats import pearsonr, spearmanr

from thawbench.errors import DataUnavailableError, DegenerateError
from thawbench.tasks import fingerprint
from thawbench.tasks.classify import Classify
from thawbench.tasks.ir import Ir
from thawbench.tasks.mteb_task import Listing, MtebTask
from thawbench.tasks.sts import Sts

LISTING = Listing("Hand", "hand/hand", "a" * 40)
STS_TEXTS = [text for a, b, _ in PAIRS for text in (a, b)]
IR_TEXTS = ["Wings lift", "drag", "Nothing", *(text for _, text in QUERIES)]
TaskT = TypeVar("TaskT", bound=MtebTask)


def hand(kind: type[TaskT], made: Any) -> TaskT:
    task = kind(LISTING)
    task._make = made  # type: ignore[method-assign]
    return task


def sts_table() -> Any:
    return np.random.default_rng(4).normal(size=(len(STS_TEXTS), 6)).astype(np.float32)


def test_the_main_metric_of_sts_goes_by_the_own_similarity(table_encoder: Any) -> None:
    table, gold = sts_table(), [score for _, _, score in PAIRS]
    task = hand(Sts, HandSts)
    scores = task.evaluate([table_encoder(STS_TEXTS, table, "neg_l1")], task.load())
    a, b = table[0::2], table[1::2]
    own = -np.abs(a - b).sum(axis=1)
    cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert scores.scalars == pytest.approx(
        {
            "spearman": spearmanr(gold, own)[0],
            "pearson": pearsonr(gold, own)[0],
            "cosine_spearman": spearmanr(gold, cosine)[0],
            "cosine_pearson": pearsonr(gold, cosine)[0],
        },
        abs=1e-6,
    )
    assert [(row.row, row.gold) for row in scores.rows] == [(f"test:{row}", gold[row]) for row in range(4)]
    assert [row.prediction for row in scores.rows] == pytest.approx(own.tolist(), abs=1e-5)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "neg_l1", "neg_l2"])
def test_sparse_vectors_are_measured_as_dense_ones_are(similarity: str, table_encoder: Any) -> None:
    table = np.where(sts_table() > 0, sts_table(), 0)
    task = hand(Sts, HandSts)
    data = task.load()
    dense, csr = (
        task.evaluate([table_encoder(STS_TEXTS, made, similarity)], data).scalars
        for made in (table, sparse.csr_matrix(table))
    )
    assert csr == pytest.approx(dense, abs=1e-5)


def test_constant_vectors_are_degenerate(table_encoder: Any) -> None:
    task = hand(Sts, HandSts)
    for table in (np.ones((8, 3), dtype=np.float32), sparse.csr_matrix((8, 3), dtype=np.float32)):
        with pytest.raises(DegenerateError, match="constant"):
            task.evaluate([table_encoder(STS_TEXTS, table)], task.load())


def test_vectors_that_are_not_finite_are_counted(table_encoder: Any) -> None:
    dense = sts_table()
    dense[2, 0], dense[4, 5] = np.nan, np.inf
    task = hand(Sts, HandSts)
    for table in (dense, sparse.csr_matrix(dense)):
        with pytest.raises(DegenerateError, match="2 of 4 vectors are not finite"):
            task.evaluate([table_encoder(STS_TEXTS, table)], task.load())


def test_a_similarity_that_is_constant_is_degenerate_though_the_vectors_are_not(table_encoder: Any) -> None:
    table = np.repeat(np.eye(4, dtype=np.float32), 2, axis=0)  # both texts of every pair alike
    task = hand(Sts, HandSts)
    with pytest.raises(DegenerateError, match="spearman"):
        task.evaluate([table_encoder(STS_TEXTS, table)], task.load())


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_retrieval_ranks_by_the_own_similarity(make: Any, table_encoder: Any) -> None:
    #        Wings lift    drag          Nothing       q0            q1
    table = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 0], [0.9, 0.1, 0], [0.6, 0.5, 0]]
    task = hand(Ir, HandRetrieval)
    encoder = table_encoder(IR_TEXTS, make(np.array(table, dtype=np.float32)), "dot")
    scores = task.evaluate([encoder], task.load())
    assert encoder.roles == ["query", "document"]
    second = 1 / np.log2(3)  # q1 finds its document behind another
    assert scores.scalars["ndcg_at_10"] == pytest.approx((1 + second) / 2, abs=1e-4)
    assert scores.scalars["mrr_at_10"] == pytest.approx(0.75)
    assert [(row.row, row.gold) for row in scores.rows] == [("test:q0", 1.0), ("test:q1", 1.0)]
    assert [row.prediction for row in scores.rows] == pytest.approx([1.0, second], abs=1e-4)
    assert set(scores.scalars) == {metric.name for metric in task.metrics}


def test_documents_are_joined_as_mteb_joins_them_for_the_encoder() -> None:
    task = hand(Ir, HandRetrieval)
    assert task.documents(task.load()) == ("Wings lift", "drag", "Nothing")
    assert len(DOCUMENTS) == 3
    assert task.corpus == "corpus/hand"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_classification_reads_vectors_dense_or_sparse(make: Any, table_encoder: Any) -> None:
    texts = [f"t{row}" for row in range(40)] + [f"e{row}" for row in range(8)]
    table = np.array([np.eye(4)[int(text[1:]) % 4] for text in texts], dtype=np.float32)
    table[-1] = table[-2]  # one of eight cannot be told
    task = hand(Classify, HandClassification)
    scores = task.evaluate([table_encoder(texts, make(table))], task.load())
    assert scores.scalars["accuracy"] == pytest.approx(7 / 8)
    assert task.metrics[0].chance == 0.25
    assert set(scores.scalars) == {metric.name for metric in task.metrics}


@pytest.mark.parametrize(
    ("kind", "made"),
    [(Sts, HandSts), (Ir, HandRetrieval), (Classify, HandClassification)],
    ids=["sts", "ir", "classify"],
)
def test_a_task_seen_before_is_planned_out_of_the_manifest(kind: type[MtebTask], made: Any) -> None:
    first = hand(kind, made)
    first.load()
    again = kind.resolve("hAND")
    again.load = None  # type: ignore[assignment, method-assign]
    assert again.name == f"{kind.family}/Hand"
    assert again.fingerprint() == first.fingerprint()
    assert again.metrics == first.metrics
    assert sum(metric.main for metric in again.metrics) == 1


def test_every_row_that_evaluation_reads_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[tuple[type[MtebTask], Any]] = [(Sts, HandSts), (Ir, HandRetrieval), (Classify, HandClassification)]
    before = {kind: _digest(kind, made) for kind, made in pairs}
    monkeypatch.setattr("mteb_by_hand.PAIRS", [*PAIRS[:3], ("a3", "b3", 0.5)])
    monkeypatch.setattr("mteb_by_hand.JUDGEMENTS", {"q0": {"d0": 1, "d2": 0}, "q1": {"d1": 1}})
    assert _digest(Sts, HandSts) != before[Sts]
    assert _digest(Ir, HandRetrieval) != before[Ir]
    assert _digest(Classify, HandClassification) == before[Classify]


def _digest(kind: type[MtebTask], made: Any) -> str:
    task = made()
    task.load_data()
    return fingerprint.fingerprint(kind(LISTING)._rows(task))


def test_other_rows_than_the_manifest_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hand(Sts, HandSts).load()
    monkeypatch.setattr("mteb_by_hand.PAIRS", PAIRS[:3])
    with pytest.raises(DataUnavailableError, match="delete"):
        hand(Sts, HandSts).load()


def test_an_entry_of_another_mteb_serves_as_long_as_the_revision_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = hand(Sts, HandSts)
    first.load()
    monkeypatch.setattr("thawbench.tasks.mteb_task._mteb_version", lambda: "99.0")
    monkeypatch.setattr(Sts, "_look_up", classmethod(lambda cls, body: LISTING))
    again = Sts.resolve("Hand")
    assert again.fingerprint() == first.fingerprint()
    assert [entry.facts["mteb"] for entry in fingerprint.seen("sts/Hand")] == ["99.0"]
