"""`frozen_ebm`: what it learns from pairs and from labels, that it is the same every time, and what it refuses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from thawbench.contracts import (
    Budget,
    ClassTarget,
    FloatArray,
    HiddenStates,
    Input,
    Labelled,
    Pair,
    Provides,
    Rows,
    ScoreTarget,
    Seeds,
    Strategy,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.energy_classifier import class_logits
from thawbench.strategies.energy_head import EnergyHead, HeadShape
from thawbench.strategies.frozen_ebm import FrozenEbm, FrozenEbmConfig
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.readout import ABSENT_LOGIT
from thawbench.strategies.sources import LayerlessSource

WIDE = 16
CLASSES = ClassTarget(("red", "blue", "never"))
QUICK: dict[str, Any] = {"dim": 8, "epochs": 2, "batch_size": 32, "lr": 1e-2}


@dataclass(frozen=True)
class TopicSource(LayerlessSource):
    """Random vectors in which the first word, a topic, shifts a quarter of the components; the rest is noise."""

    key: str = "topics"
    dim: int = WIDE
    sparse: bool = False

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        topics = RandomSource(7, WIDE).vectors([text.split()[0] if text else "" for text in texts])
        topics[:, 4:] = 0
        vectors: FloatArray = RandomSource(1, WIDE).vectors(texts) + 3 * topics
        return sp.csr_matrix(vectors) if self.sparse else vectors

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        return iter([HiddenStates(np.zeros((1, 1, 1), np.float32), np.zeros((1, 2), np.int64))] * len(texts))


START = AdaptedEncoder(TopicSource(), has_layers=True)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """On matrices this small a second thread only waits, and on a busy machine for long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(
    data: TrainSet,
    seeds: Seeds | None = None,
    budget: Budget | None = None,
    start: AdaptedEncoder = START,
    **config: Any,
) -> AdaptedEncoder:
    strategy = FrozenEbm(FrozenEbmConfig(**{**QUICK, **config}))
    return strategy.fit(start, data, seeds=seeds or Seeds(), budget=budget or Budget(), adapt=no_adapt)


def nli(n: int = 120, first: int = 0) -> tuple[Pair, ...]:
    pairs = []
    for row in range(first, first + n):
        topic, other = f"topic{row % 5}", f"topic{(row + 1) % 5}"
        pairs.append(Pair(f"{topic} premise {row}", f"{topic} entailed {row}", "entailment"))
        pairs.append(Pair(f"{topic} premise {row}", f"{other} contradicted {row}", "contradiction"))
        pairs.append(Pair(f"{topic} premise {row}", f"{topic} neutral {row}", "neutral"))
    return tuple(pairs)


def pair_set() -> TrainSet:
    return TrainSet("nli", 1, "f", pairs=nli(), dev=Rows(pairs=nli(60, first=500)))


def labelled(n: int, first: int = 0) -> tuple[Labelled, ...]:
    return tuple(
        Labelled(f"{('red', 'blue')[row % 2]} thing {row}", label=("red", "blue")[row % 2])
        for row in range(first, first + n)
    )


def label_set() -> TrainSet:
    return TrainSet("colours", 1, "f", CLASSES, labelled=labelled(60), dev=Rows(labelled=labelled(60, first=500)))


def pair_label_set() -> TrainSet:
    def rows(n: int, first: int) -> tuple[Labelled, ...]:
        found = []
        for row in range(first, first + n):
            other = ("red", "blue")[(row + row % 3 // 2) % 2]
            pair = (f"{('red', 'blue')[row % 2]} this {row}", f"{other} that {row}")
            found.append(Labelled(pair, label="red" if row % 3 // 2 else "blue"))
        return tuple(found)

    return TrainSet("same", 1, "f", CLASSES, labelled=rows(90, 0), dev=Rows(labelled=rows(60, 500)))


SETS = {"pairs": pair_set, "labels": label_set, "pairs of labels": pair_label_set}


def spoken(adapted: AdaptedEncoder) -> list[FloatArray]:
    """Everything that an adaptation can say of a few inputs."""
    said = []
    if Provides.VECTORS in adapted.provides:
        said.append(adapted.encode(["red a", "blue b", "", "x" * 3000, "red a"]))
    for head in adapted.heads:
        inputs: list[Input] = [("red a", "blue b"), ("red a", "red a")] if head == "same" else ["red a", "", "blue b"]
        said.append(adapted.predict(inputs, head))
    return said


def same(one: AdaptedEncoder, two: AdaptedEncoder) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(spoken(one), spoken(two), strict=True))


def cosine_auc(pairs: Sequence[Pair]) -> float:
    told = [pair for pair in pairs if pair.relation != "neutral"]
    left, right = (normalize(START.encode(texts)) for texts in ([p.a for p in told], [p.b for p in told]))
    return float(roc_auc_score([pair.relation == "entailment" for pair in told], (left * right).sum(axis=1)))


@pytest.mark.parametrize("norm", ["l1", "l2", "cosine"])
@pytest.mark.parametrize("loss", ["chopra", "bce", "mnr"])
def test_it_tells_entailed_from_contradicted_pairs_better_than_frozen_vectors(loss: str, norm: str) -> None:
    adapted = fit(pair_set(), loss=loss, norm=norm, epochs=8)

    scores = [row.dev_score for row in adapted.trace if row.dev_score is not None]
    assert len(scores) == 8
    assert adapted.state.cost.dev_score == max(scores) > cosine_auc(pair_set().dev.pairs) + 0.01
    assert adapted.similarity == {"l1": "neg_l1", "l2": "neg_l2", "cosine": "cosine"}[norm]
    vectors = adapted.encode(["topic1 new", "topic2 new"])
    assert vectors.shape == (2, 8)
    assert np.abs(vectors).max() <= 1
    assert adapted.provides == {Provides.VECTORS, Provides.LAYERS}


@pytest.mark.parametrize("loss", ["chopra", "bce", "mnr"])
@pytest.mark.parametrize("kind", ["labels", "pairs of labels"])
def test_it_classifies_by_mean_energy(kind: str, loss: str) -> None:
    adapted = fit(SETS[kind](), loss=loss, epochs=4)

    assert adapted.state.cost.dev_score is not None
    assert adapted.state.cost.dev_score > 0.7
    (name,) = adapted.heads
    assert adapted.heads[name] == CLASSES
    logits = spoken(adapted)[-1]
    assert (logits[:, 2] == ABSENT_LOGIT).all()
    assert (logits[:, :2] <= 0).all()


@pytest.mark.parametrize("kind", SETS)
def test_a_stored_state_restores_the_same_bits(kind: str, tmp_path: Path) -> None:
    adapted = fit(SETS[kind]())
    adapted.save(tmp_path)

    restored = FrozenEbm(FrozenEbmConfig(**QUICK)).restore(START, load_state(tmp_path))

    assert same(adapted, restored)
    assert restored.provides == adapted.provides
    assert restored.state.cost == adapted.state.cost
    assert (tmp_path / "trace.parquet").exists()
    if adapted.source is not None:
        assert restored.source is not None
        assert restored.source.key == adapted.source.key


@pytest.mark.parametrize("kind", SETS)
def test_same_seeds_same_bytes_and_each_stream_matters(kind: str) -> None:
    first = fit(SETS[kind](), Seeds(0, 1, 1))

    assert same(first, fit(SETS[kind](), Seeds(5, 1, 1)))  # the sample was drawn before
    assert not same(first, fit(SETS[kind](), Seeds(0, 2, 1)))
    assert not same(first, fit(SETS[kind](), Seeds(0, 1, 2)))


def test_pairs_of_labels_give_classes_and_no_vectors() -> None:
    assert fit(pair_label_set()).provides == {Provides.CLASSES}


def test_pairs_go_before_labels_unless_asked() -> None:
    both = TrainSet(
        "both", 1, "f", CLASSES, labelled=labelled(20), pairs=nli(20), dev=Rows(labelled(8, 500), nli(8, 500))
    )

    assert not fit(both, epochs=1).heads
    assert list(fit(both, epochs=1, on="labels").heads) == ["both"]
    with pytest.raises(NotApplicableError, match="no genuine pair"):
        fit(label_set(), on="pairs")


def test_scored_pairs_are_learnt_by_their_score() -> None:
    pairs = tuple(
        Pair(pair.a, pair.b, score=5.0 if pair.relation == "entailment" else 1.0 + row % 3)
        for row, pair in enumerate(nli())
    )
    data = TrainSet("stsb", 1, "f", ScoreTarget(0, 5), pairs=pairs[:240], dev=Rows(pairs=pairs[240:]))

    for loss in ("chopra", "bce", "mnr"):
        assert (fit(data, loss=loss, epochs=6).state.cost.dev_score or 0) > 0.2


def test_positive_pairs_alone_suffice_for_ranking_and_for_nothing_else() -> None:
    positive = [tuple(Pair(p.a, p.b) for p in pairs if p.relation == "entailment") for pairs in (nli(), nli(60, 500))]
    data = TrainSet("titles", 1, "f", pairs=positive[0], dev=Rows(pairs=positive[1]))

    assert 0 < (fit(data, loss="mnr").state.cost.dev_score or 0) <= 1
    with pytest.raises(NotApplicableError, match="loss=mnr needs none"):
        fit(data)


def test_rows_that_make_no_genuine_pair_are_not_applicable() -> None:
    contradictions = tuple(pair for pair in nli() if pair.relation == "contradiction")
    for pairs in (contradictions, ()):
        with pytest.raises(NotApplicableError, match="no genuine pair"):
            fit(TrainSet("nli", 1, "f", pairs=pairs), on="pairs")
    with pytest.raises(NotApplicableError, match="one class"):
        fit(TrainSet("red", 1, "f", CLASSES, labelled=labelled(8)[::2]))
    with pytest.raises(NotApplicableError, match="no rows with classes"):
        fit(TrainSet("scores", 1, "f", ScoreTarget(0, 1), labelled=(Labelled("a", score=0.5),)))


def test_sparse_vectors_are_refused_with_a_way_out() -> None:
    with pytest.raises(NotApplicableError, match="svd=300"):
        fit(pair_set(), start=AdaptedEncoder(TopicSource(sparse=True)))


def test_without_dev_rows_the_last_weights_stay() -> None:
    adapted = fit(TrainSet("nli", 1, "f", pairs=nli()))

    assert adapted.state.cost.dev_score is None
    assert all(row.dev_score is None for row in adapted.trace)


def test_the_budget_overrides_the_epochs_and_the_trace_follows_every_step() -> None:
    steps = fit(pair_set(), budget=Budget(steps=5)).trace
    epoch = fit(pair_set(), budget=Budget(epochs=1)).trace

    assert [row.step for row in steps] == [0, 1, 2, 3, 4]
    assert steps[-1].dev_score is not None
    assert len(epoch) == math.ceil(240 / 32)
    assert set(epoch[0].gradient_norm) == {"linear.0", "linear.1"}
    assert all(norm > 0 for norm in epoch[0].gradient_norm.values())
    assert epoch[0].lr == max(row.lr for row in epoch) == QUICK["lr"]
    assert 0 < epoch[-1].lr < epoch[1].lr
    assert fit(pair_set(), budget=Budget(steps=0)).trace == ()


def test_costs_count_the_head_and_the_backbone_apart() -> None:
    cost = fit(pair_set(), hidden=5).state.cost

    assert cost.trainable_parameters == (WIDE * 5 + 5) + (5 * 8 + 8)
    assert cost.total_parameters == cost.trainable_parameters + TopicSource().total_parameters
    assert cost.fit_s > 0


def test_a_later_step_cannot_change_what_a_head_says() -> None:
    first = fit(label_set())
    data = TrainSet("more", 1, "f", CLASSES, labelled=labelled(40, 900))
    second = fit(data, start=first)

    assert list(second.heads) == ["colours", "more"]
    assert np.array_equal(second.predict(["red a", "blue b"], "colours"), first.predict(["red a", "blue b"], "colours"))


@pytest.mark.parametrize("kind", SETS)
def test_on_a_chain_each_set_gets_the_g_that_it_gets_alone(kind: str, tmp_path: Path) -> None:
    first = fit(SETS[kind]())
    data = TrainSet("more", 1, "f", CLASSES, labelled=labelled(40, 900))
    second, alone = fit(data, start=first), fit(data)

    assert second.source is not None
    assert alone.source is not None
    assert second.source.key == alone.source.key
    assert np.array_equal(second.predict(["red a", ""], "more"), alone.predict(["red a", ""], "more"))
    second.save(tmp_path)
    assert same(FrozenEbm(FrozenEbmConfig(**QUICK)).restore(first, load_state(tmp_path)), second)


def test_a_head_for_texts_refuses_pairs() -> None:
    with pytest.raises(NotApplicableError, match="pairs were put to a head for texts"):
        fit(label_set()).predict([("red a", "blue b")], "colours")
    assert fit(label_set()).predict([], "colours").shape == (0, 3)


def test_class_logits_are_minus_scipys_mean_distances() -> None:
    draw = np.random.default_rng(0)
    items, train = (draw.uniform(-1, 1, (n, 4)).astype(np.float32) for n in (700, 9))
    classes = np.array([0, 0, 2, 2, 2, 0, 2, 0, 0])

    logits = class_logits(items, train, classes, 3, "l2")

    distances = cdist(items, train)
    assert np.allclose(logits[:, 0], -distances[:, classes == 0].mean(axis=1), atol=1e-5)
    assert np.allclose(logits[:, 2], -distances[:, classes == 2].mean(axis=1), atol=1e-5)
    assert (logits[:, 1] == ABSENT_LOGIT).all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_head_is_rebuilt_from_its_tensors(depth: int) -> None:
    head = EnergyHead(HeadShape(6, 5, 4, depth), dropout=0.5)
    features = np.random.default_rng(0).standard_normal((9000, 6)).astype(np.float32)
    features[:, 2] = 3.0  # a constant feature
    head.standardise(features)

    rebuilt = EnergyHead.from_tensors(head.tensors())

    assert np.array_equal(rebuilt.project(features), head.project(features))
    assert np.isfinite(head.project(features)).all()
    assert len(rebuilt.linear) == depth
    assert head.project(features[:0]).shape == (0, 4)


def test_a_head_projects_where_it_lies() -> None:
    """On `meta`, which computes nothing: rows that stayed on the CPU would be refused before anything comes back."""
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        EnergyHead(HeadShape(6, 5, 4, 1)).to("meta").project(np.zeros((3, 6), np.float32))


@pytest.mark.parametrize("wrong", [{"dim": 0}, {"depth": 0}, {"batch_size": 1}, {"dropout": 1.0}, {"lr": 0.0}])
def test_a_configuration_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        FrozenEbmConfig(**wrong)
