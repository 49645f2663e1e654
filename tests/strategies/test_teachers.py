"""`self_training` and `distill`: what the teacher says of the pool, what the student makes of it, and their limits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from thawbench.contracts import (
    Adapted,
    Budget,
    ClassTarget,
    Input,
    Labelled,
    Rows,
    ScoreTarget,
    Seeds,
    Strategy,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError, UserError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.distill import DistillConfig, soft_loss
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.finetune import Finetune
from thawbench.strategies.pool_sample import pool_sample
from thawbench.strategies.readout import learn_readout
from thawbench.strategies.self_training import SelfTrainingConfig, believed

NOUNS = ("the cat", "a dog", "the film", "the plot", "a wing", "the rug")
TEXTS = [f"{noun} {verb}" for noun in NOUNS for verb in ("is good", "was bad", "is not bad", "was not good")]
POOL = [f"{text} on the {thing}" for text in TEXTS for thing in ("mat", "rug")]
MOODS = ClassTarget(("bad", "good"))
SCORES = ScoreTarget(1.0, 5.0)


def moods(target: Target = MOODS, pairs: bool = False, pool: Sequence[str] = (*TEXTS, *POOL)) -> TrainSet:
    rows = []
    for place, text in enumerate(TEXTS):
        item: Input = (text, TEXTS[place * 5 % len(TEXTS)]) if pairs else text
        good = place % 4 in (0, 2)
        if isinstance(target, ClassTarget):
            rows.append(Labelled(item, "good" if good else "bad"))
        else:
            rows.append(Labelled(item, score=4.0 + 0.01 * place if good else 2.0))
    return TrainSet("moods", 1, "m", target, tuple(rows[8:]), texts=tuple(pool), dev=Rows(tuple(rows[:8])))


def fit(name: str, start: AdaptedEncoder, data: TrainSet, seeds: Seeds | None = None, **config: Any) -> AdaptedEncoder:
    def adapt(other: Strategy, other_seeds: Seeds) -> Adapted:
        return other.fit(start, data, seeds=other_seeds, budget=Budget(), adapt=adapt)

    kind = strategies.get(name)
    made = kind(kind.Config(**config)).fit(start, data, seeds=seeds or Seeds(), budget=Budget(), adapt=adapt)
    assert isinstance(made, AdaptedEncoder)
    return made


class Learnt(list[TrainSet]):
    """The train sets that `finetune` was run on, one after another."""


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> Learnt:
    seen = Learnt()
    learn = Finetune.learn

    def watched(self: Finetune, start: AdaptedEncoder, data: TrainSet, **given: Any) -> Any:
        seen.append(data)
        return learn(self, start, data, **given)

    monkeypatch.setattr(Finetune, "learn", watched)
    return seen


def key_of(adapted: AdaptedEncoder) -> str:
    assert adapted.source is not None
    return adapted.source.key


# ---- the pool -------------------------------------------------------------------------------------------------------


def test_the_pool_holds_no_text_of_a_train_or_a_dev_row_and_goes_by_the_order_seed() -> None:
    data = moods()
    every = pool_sample(data, 1000, seed=0)

    assert sorted(every) == sorted(POOL)
    assert pool_sample(data, 5, seed=0) == every[:5]
    assert pool_sample(data, 1000, seed=1) != every
    assert sorted(pool_sample(moods(pairs=True), 1000, seed=0)) == sorted(POOL)


# ---- self_training --------------------------------------------------------------------------------------------------


def test_of_each_class_as_many_are_believed_the_most_probable_first() -> None:
    beliefs = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.3, 0.7], [0.95, 0.05], [0.45, 0.55]])

    assert believed(beliefs, share=0.7, confidence=0.0) == [0, 3, 4, 5]  # two of each class: 0.7 * 6 / 2 = 2.1
    assert believed(beliefs, share=1.0, confidence=0.0) == [0, 1, 3, 4, 5]  # of the second there are no three
    assert believed(beliefs, share=1.0, confidence=0.75) == [0, 1, 4]
    assert believed(beliefs, share=0.0, confidence=0.0) == []
    assert believed(beliefs[:0], share=1.0, confidence=0.0) == []


def test_a_share_of_nothing_is_finetune_to_the_bit(tiny: AdaptedEncoder) -> None:
    tuned = fit("finetune", tiny, moods(), epochs=3, lr=1e-3)
    student = fit("self_training", tiny, moods(), epochs=3, lr=1e-3, share=0.0)

    assert key_of(student) == key_of(tuned)
    assert np.array_equal(student.predict(TEXTS, "moods"), tuned.predict(TEXTS, "moods"))


def test_the_student_learns_the_rows_and_the_teachers_own_labels_for_the_pool(
    tiny: AdaptedEncoder, learnt: Learnt
) -> None:
    data = moods()
    student = fit("self_training", tiny, data, epochs=20, lr=3e-3, share=0.5)
    taught, own = learnt
    teacher = fit("finetune", tiny, data, epochs=20, lr=3e-3)
    more = own.labelled[len(data.labelled) :]
    said = teacher.predict([row.input for row in more], "moods").argmax(axis=1)

    assert taught == data
    assert own.labelled[: len(data.labelled)] == data.labelled
    assert own.dev == data.dev
    assert 0 < len(more) <= len(POOL) / 2
    assert {row.input for row in more} <= set(POOL)
    assert [row.label for row in more] == [MOODS.classes[place] for place in said]
    assert student.state.values["pseudo_labels"] == len(more)


def test_where_the_pool_says_more_than_the_rows_the_student_knows_more_than_its_teacher(
    tiny: AdaptedEncoder,
) -> None:
    """Rows name `good` and `bad`; the pool says them beside other words, which the test texts alone hold."""
    rows = tuple(Labelled(f"{noun} is {word}", word) for noun in NOUNS[:3] for word in ("good", "bad"))
    pool = [f"{noun} is {word} {of}" for noun in NOUNS for word, of in (("good", "wing flow"), ("bad", "under what"))]
    data = TrainSet("moods", 1, "m", MOODS, rows * 3, texts=tuple(pool))
    test = [f"{noun} is {of}" for noun in NOUNS for of in ("wing flow", "under what")]

    def right(adapted: AdaptedEncoder) -> float:
        gold = np.arange(len(test)) % 2 == 0
        logits = adapted.predict(test, "moods")
        return float((logits[:, 1] - logits[:, 0])[gold].mean() - (logits[:, 1] - logits[:, 0])[~gold].mean())

    teacher = fit("finetune", tiny, data, epochs=20, lr=2e-3)
    student = fit("self_training", tiny, data, epochs=20, lr=2e-3, share=1.0)
    assert right(student) > right(teacher) + 0.5


def test_self_training_needs_classes_of_texts_and_a_pool(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="no rows with classes"):
        fit("self_training", tiny, moods(SCORES), epochs=0)
    with pytest.raises(NotApplicableError, match="classes of pairs"):
        fit("self_training", tiny, moods(pairs=True), epochs=0)
    with pytest.raises(NotApplicableError, match="no unlabelled text beside its rows"):
        fit("self_training", tiny, moods(pool=TEXTS), epochs=0)
    with pytest.raises(
        NotApplicableError, match=r"share=0\.01 of \d+ unlabelled texts is not one for each of 2 classes"
    ):
        fit("self_training", tiny, moods(pool=(*TEXTS, "a new text", "another")), epochs=0, share=0.01)


# ---- distill --------------------------------------------------------------------------------------------------------


def test_the_soft_loss_is_the_formula_worked_by_hand() -> None:
    logits, given = torch.tensor([[0.0, 2.0], [1.0, 1.0]]), torch.tensor([[4.0, 0.0], [0.0, 0.0]])
    # at T = 2 the student's first row is (1, e) / (1 + e), the teacher's (e², 1) / (1 + e²); the second rows agree
    e = np.e
    student, teacher = np.array([1, e]) / (1 + e), np.array([e**2, 1]) / (1 + e**2)
    divergence = float((teacher * np.log(teacher / student)).sum())

    assert soft_loss(logits, given, MOODS, 2.0).item() == pytest.approx(4 * divergence / 2, rel=1e-6)
    assert soft_loss(given, given, MOODS, 2.0).item() == pytest.approx(0, abs=1e-7)


def test_a_score_is_taught_by_its_squared_error() -> None:
    logits, given = torch.tensor([[0.5], [0.0]]), torch.tensor([[5.0], [1.0]])  # of 1 to 5: 1 and 0
    assert soft_loss(logits, given, SCORES, 2.0).item() == pytest.approx(0.125)


@pytest.mark.parametrize("target", [MOODS, SCORES], ids=["classes", "score"])
def test_with_nothing_soft_it_is_finetune_to_the_bit(tiny: AdaptedEncoder, target: Target) -> None:
    data = moods(target)
    tuned = fit("finetune", tiny, data, epochs=3, lr=1e-3)
    student = fit("distill", tiny, data, epochs=3, lr=1e-3, soft=0.0)

    assert key_of(student) == key_of(tuned)
    assert np.array_equal(student.predict(TEXTS, "moods"), tuned.predict(TEXTS, "moods"))


def test_a_row_of_the_pool_counts_by_what_the_teacher_says_and_a_labelled_one_by_both(tiny: AdaptedEncoder) -> None:
    from thawbench.strategies.distill import _Student

    given = np.array([[1.0, 0.0], [3.0, -1.0], [0.0, 2.0]], dtype=np.float32)
    student = _Student(DistillConfig(soft=0.25, temperature=3.0), given, labelled=2)
    head = Classifier("linear", "texts", 4, 2)
    rows, logits = np.array([2, 0]), torch.tensor([[0.5, -0.5], [0.0, 1.0]])
    batch = Answers(rows, torch.zeros(2, 4), logits, torch.tensor([0, 1]))
    soft = soft_loss(logits, torch.from_numpy(given[rows]), MOODS, 3.0)
    hard = torch.nn.functional.cross_entropy(logits[1:], torch.tensor([1]))  # the second of the batch is row 0

    expected = 0.25 * soft + 0.75 * hard / 2
    assert student.loss(head, MOODS, batch).item() == pytest.approx(expected.item(), rel=1e-6)


def test_on_soft_targets_alone_the_student_comes_to_answer_as_the_teacher_does(tiny: AdaptedEncoder) -> None:
    data = replace(moods(), dev=Rows())
    teacher = fit("finetune", tiny, data, epochs=30, lr=2e-3)
    student, stranger = (fit("distill", tiny, data, epochs=epochs, lr=2e-3, soft=1.0, pool=16) for epochs in (30, 0))

    def apart(one: AdaptedEncoder) -> float:
        return float(np.abs(one.predict(POOL, "moods") - teacher.predict(POOL, "moods")).mean())

    assert apart(student) < 0.2 * apart(stranger)


def test_pairs_are_distilled_on_their_rows_alone(tiny: AdaptedEncoder, learnt: Learnt) -> None:
    data = moods(pairs=True)
    student = fit("distill", tiny, data, epochs=2, lr=1e-3)

    assert [len(seen.labelled) for seen in learnt] == [16, 16]
    assert student.predict([row.input for row in data.labelled], "moods").shape == (16, 2)


def test_a_student_s_head_begins_at_a_read_out_of_the_labelled_rows_alone(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(start: AdaptedEncoder, data: TrainSet, *, refit: bool) -> Any:
        seen.append(len(data.labelled))
        return learn_readout(start, data, refit=refit)

    monkeypatch.setattr("thawbench.strategies.finetune.learn_readout", noted)
    data = moods()
    fit("distill", fit("setfit", tiny, data, max_steps=2), data, epochs=1)
    assert seen == [len(data.labelled)] * 2  # the teacher's and the student's


@pytest.mark.parametrize("target", [MOODS, SCORES], ids=["classes", "score"])
def test_a_smaller_student_learns_from_the_whole_teacher_and_is_restored_small(
    tiny: AdaptedEncoder, target: Target, learnt: Learnt
) -> None:
    data = moods(target)
    small = fit("distill", tiny, data, epochs=4, lr=1e-3, drop=1)
    again = strategies.get("distill")(DistillConfig(epochs=4, lr=1e-3, drop=1)).restore(tiny, small.state)

    assert isinstance(small.source, Encoder)
    assert small.source.info.layer == 1
    assert [len(seen.labelled) for seen in learnt] == [16, 16 + len(POOL)]
    assert not any("encoder.layer.1." in name for name in small.state.tensors)
    assert np.array_equal(small.encode(TEXTS), again.encode(TEXTS))
    assert np.array_equal(small.predict(TEXTS, "moods"), again.predict(TEXTS, "moods"))
    assert next(iter(small.hidden_states(["a cat"]))).states.shape[0] == 2


def test_more_layers_than_there_are_cannot_be_dropped(tiny: AdaptedEncoder) -> None:
    with pytest.raises(UserError, match="has 2 layers"):
        fit("distill", tiny, moods(), epochs=0, drop=3)


# ---- configuration --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (SelfTrainingConfig, {"pool": -1}),
        (SelfTrainingConfig, {"share": 1.5}),
        (SelfTrainingConfig, {"confidence": -0.1}),
        (DistillConfig, {"temperature": 0.0}),
        (DistillConfig, {"soft": 2.0}),
        (DistillConfig, {"drop": -1}),
        (DistillConfig, {"clip": 0.0}),
    ],
)
def test_options_out_of_range_are_refused(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        kind(**wrong)
