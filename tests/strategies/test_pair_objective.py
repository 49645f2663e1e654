"""Which examples pairs give, which batches they make, how dev judges, and that a fit lowers its loss."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.metrics.pairwise import cosine_similarity
from small_fits import fit, restored

from thawbench.contracts import Budget, ClassTarget, Labelled, Pair, Rows, ScoreTarget, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.mnr import ranking_loss
from thawbench.strategies.pair_examples import Example, anchored, anchors_of, distinct, related_pairs
from thawbench.strategies.pair_objective import PairConfig, PairLesson, PairObjective
from thawbench.strategies.trainable import Body

PAIRS = (
    Pair("the cat sat", "a cat", "entailment"),
    Pair("the cat sat", "the cat ran", "contradiction"),
    Pair("the cat sat", "the cat was good", "neutral"),
    Pair("the dog ran", "a dog", "entailment"),
    Pair("the dog ran", "the dog sat", "contradiction"),
    Pair("the dog ran", "what ran", "entailment"),
    Pair("the dog ran", "a mat", "contradiction"),
    Pair("the film is good", "a good film", "entailment"),
    Pair("the plot is bad", "a bad plot", "entailment"),
)
NLI = TrainSet("nli", 1, "n", pairs=PAIRS, dev=Rows(pairs=PAIRS[:5]))
STRATEGIES = ("mnr", "triplet", "sbert_cosine", "sbert_softmax")


def test_a_genuine_pair_takes_a_contradiction_of_its_own_premise_and_they_take_turns() -> None:
    assert [example.texts for example in anchored(NLI)[0]] == [
        ("the cat sat", "a cat", "the cat ran"),
        ("the dog ran", "a dog", "the dog sat"),
        ("the dog ran", "what ran", "a mat"),
        ("the film is good", "a good film"),
        ("the plot is bad", "a bad plot"),
    ]
    assert [example.gold for example in anchored(NLI)[0]] == [1, 1, 1, 0, 0]


def test_of_scored_pairs_the_top_fifth_is_genuine_and_the_lowest_score_an_impostor() -> None:
    pairs = (Pair("a", "b", score=5.0), Pair("a", "c", score=0.0), Pair("d", "e", score=4.0), Pair("d", "f", score=3.9))
    found = anchors_of(pairs, ScoreTarget(0.0, 5.0))
    assert [example.texts for example in found] == [("a", "b", "c"), ("d", "e")]


def test_labelled_pairs_count_as_related_where_a_class_is_called_as_a_relation() -> None:
    labelled = (Labelled(("a", "b"), "entailment"), Labelled(("c", "d"), "not_entailment"))
    target = ClassTarget(("entailment", "not_entailment"))
    assert related_pairs(TrainSet("rte", 1, "r", target, labelled)) == [Pair("a", "b", "entailment")]
    assert related_pairs(Rows(labelled, PAIRS)) == PAIRS


def test_one_genuine_pair_is_too_few() -> None:
    with pytest.raises(NotApplicableError, match="one_pair has 1 genuine pairs"):
        anchored(TrainSet("one_pair", 1, "o", pairs=PAIRS[:3]))


def test_an_example_waits_while_a_batch_has_one_of_its_texts_and_none_is_lost() -> None:
    examples = [Example(texts) for texts in (("a", "b"), ("c", "B "), ("d", "e"), ("f", "a"), ("g", "h"), ("i", "j"))]
    found = distinct([np.array([0, 1, 3]), np.array([2, 4, 5])], examples)
    # b and "B " read the same, and 3 shares a with 0: both wait for the second batch, whose own rows wait for the third
    assert [batch.tolist() for batch in found] == [[1, 3, 2], [4, 5]]


def test_a_batch_that_would_hold_one_example_is_no_batch() -> None:
    examples = [Example(("a", "b")), Example(("a", "c")), Example(("d", "e"))]
    assert [batch.tolist() for batch in distinct([np.array([0, 1, 2])], examples)] == [[0, 2]]


def test_no_batch_of_many_epochs_has_a_text_twice(tiny: AdaptedEncoder) -> None:
    rng = np.random.default_rng(0)
    examples = [Example((f"premise {a}", f"text {b}")) for a, b in rng.integers(0, 60, size=(200, 2))]
    lesson = PairLesson(examples, lambda columns, gold: columns[0].sum(), distinct=True)
    objective = PairObjective(Body.of(tiny.source), lesson, NLI, batch_size=16, seed=0)
    for epoch in range(3):
        batches = objective.batches(epoch)
        for batch in batches:
            texts = [text for row in batch for text in examples[row].texts]
            assert len(set(texts)) == len(texts)
        rows = np.concatenate(batches)
        assert len(set(rows.tolist())) == len(rows) >= 195
    assert [b.tolist() for b in objective.batches(1)] == [b.tolist() for b in objective.batches(1)]
    assert [b.tolist() for b in objective.batches(1)] != [b.tolist() for b in objective.batches(2)]


def test_the_loss_gets_one_column_of_vectors_for_each_place_in_an_example(tiny: AdaptedEncoder) -> None:
    seen: list[torch.Tensor] = []

    def loss(columns: object, gold: torch.Tensor) -> torch.Tensor:
        seen.extend([*columns, gold])  # type: ignore[misc]
        return gold.sum()

    body = Body.of(tiny.source)
    objective = PairObjective(body, PairLesson(anchored(NLI)[0], loss), NLI, batch_size=4, seed=0)
    with torch.no_grad():
        objective.loss(np.array([3, 0]), 0)
    anchors, positives, negatives, gold = seen
    expected = tiny.encode(["the film is good", "the cat sat", "a good film", "a cat", "the cat ran"])
    assert np.allclose(torch.cat([anchors, positives, negatives]).numpy(), expected, atol=2e-6)
    assert gold.tolist() == [0, 1]


def test_dev_is_minus_the_loss_on_the_examples_held_out(tiny: AdaptedEncoder) -> None:
    train, dev = anchored(NLI)
    assert [example.texts for example in dev] == [
        ("the cat sat", "a cat", "the cat ran"),
        ("the dog ran", "a dog", "the dog sat"),
    ]

    def loss(columns: Sequence[torch.Tensor], gold: torch.Tensor) -> torch.Tensor:
        return ranking_loss(columns[0], torch.cat(list(columns[1:])), 20.0)

    lesson = PairLesson(train, loss, dev, distinct=True)
    found = PairObjective(Body.of(tiny.source), lesson, NLI, batch_size=4, seed=0).dev_score()
    left, right = (
        tiny.encode(["the cat sat", "the dog ran"]),
        tiny.encode(["a cat", "a dog", "the cat ran", "the dog sat"]),
    )
    logits = 20 * cosine_similarity(left, right)
    assert found == pytest.approx(-np.mean(logsumexp(logits, axis=1) - logits.diagonal()), rel=1e-5)


@pytest.mark.parametrize("name", ["mnr", "triplet", "sbert_softmax"])
def test_dev_prefers_the_weights_that_the_loss_on_dev_prefers(name: str, tiny: AdaptedEncoder) -> None:
    """Dev is the train pairs here, one batch of them, so that the loss of each step is dev's before it."""
    pairs = (*PAIRS[:2], *PAIRS[3:5], *PAIRS[7:])
    data = TrainSet("nli", 1, "n", pairs=pairs, dev=Rows(pairs=pairs))
    trace = fit(name, tiny, data, budget=Budget(steps=30), lr=3e-3, batch_size=16, dropout=0.0).trace
    scores = [row.dev_score for row in trace if row.dev_score is not None]
    assert len(scores) == 10
    assert scores[-1] > scores[0]
    assert [-row.dev_score for row in trace[:-1] if row.dev_score is not None] == pytest.approx(
        [after.loss for row, after in pairwise(trace) if row.dev_score is not None], abs=2e-3
    )


def test_dev_without_examples_is_the_auc_of_entailments_against_contradictions(tiny: AdaptedEncoder) -> None:
    lesson = PairLesson(anchored(NLI)[0], lambda columns, gold: gold.sum())
    found = PairObjective(Body.of(tiny.source), lesson, NLI, batch_size=4, seed=0).dev_score()
    pairs = [pair for pair in PAIRS[:5] if pair.relation != "neutral"]
    left, right = (tiny.encode([getattr(pair, side) for pair in pairs]) for side in "ab")
    cosines = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    wins = [cosines[e] > cosines[c] for e in (0, 2) for c in (1, 3)]
    assert found == pytest.approx(np.mean(wins))


def test_examples_that_share_a_text_leave_dev_to_the_cosines(tiny: AdaptedEncoder) -> None:
    twice = [Example(("the cat sat", text), 1) for text in ("a cat", "what sat")]
    lesson = PairLesson(anchored(NLI)[0], lambda columns, gold: gold.sum(), twice, distinct=True)
    alone = PairLesson(anchored(NLI)[0], lambda columns, gold: gold.sum())
    found, expected = (
        PairObjective(Body.of(tiny.source), each, NLI, batch_size=4, seed=0).dev_score() for each in (lesson, alone)
    )
    assert found is not None
    assert found == expected


def test_a_fit_lasts_its_epochs_but_at_least_60_and_at_most_the_configured_steps() -> None:
    config = PairConfig(epochs=2)
    assert config.schedule(1e-5, Budget(), 10).steps == 60
    assert config.schedule(1e-5, Budget(), 100).steps == 200
    assert config.schedule(1e-5, Budget(), 1000).steps == 500
    assert PairConfig(steps=40).schedule(1e-5, Budget(), 10).steps == 40
    assert config.schedule(1e-5, Budget(epochs=3), 1000).steps == 3000
    assert config.schedule(1e-5, Budget(steps=7), 1000).steps == 7
    assert PairConfig(lr=3e-5).schedule(1e-5, Budget(), 10).lr == 3e-5


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"epochs": -1}, {"steps": -1}, {"lr": -1.0}, {"clip": 0.0}])
def test_a_configuration_that_cannot_be_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        PairConfig(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_fit_lowers_its_loss_moves_the_encoder_and_comes_back_from_its_state(name: str, tiny: AdaptedEncoder) -> None:
    data = TrainSet("nli", 1, "n", pairs=PAIRS)
    options: dict[str, Any] = {"lr": 3e-3, "batch_size": 16, "dropout": 0.0}
    fitted = fit(name, tiny, data, budget=Budget(steps=25), **options)
    assert fitted.trace[-1].loss < 0.9 * fitted.trace[0].loss
    texts = [pair.a for pair in PAIRS]
    assert not np.array_equal(fitted.encode(texts), tiny.encode(texts))
    assert np.array_equal(restored(name, tiny, fitted, **options).encode(texts), fitted.encode(texts))
    assert fitted.similarity == "cosine"
    assert not fitted.heads


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_set_of_single_texts_gives_nothing_to_learn_from(name: str, tiny: AdaptedEncoder) -> None:
    labelled = (Labelled("good", "yes"), Labelled("bad", "no"))
    with pytest.raises(NotApplicableError, match="singles has"):
        fit(name, tiny, TrainSet("singles", 1, "s", ClassTarget(("yes", "no")), labelled))
