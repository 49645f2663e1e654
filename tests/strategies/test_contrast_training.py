"""What tunes an encoder by its labels without a head: `contrastive_kl`, `inbatch_ce`, `setfit`."""

from typing import Any

import numpy as np
import pytest
import torch
from small_fits import BAD, GOOD, MOODS, TEXTS, fit, moods, moved, pairs, restored, scores, weights

from thawbench.contracts import Budget, Labelled, Provides, Rows, Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.contrast_training import LabelContrast, pairs_from_classes
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.randomness import generator
from thawbench.strategies.readout import learn_readout
from thawbench.strategies.trainable import Body

NAMES = ("contrastive_kl", "inbatch_ce", "setfit")


def own_loss(name: str, adapted: AdaptedEncoder, data: TrainSet) -> float:
    """The mean over an epoch's batches, dropout off."""
    strategy: Any = strategies.get(name)(strategies.get(name).Config())
    objective = LabelContrast(
        Body.of(adapted.source),
        data,
        draw=strategy.draw,
        loss=strategy.loss,
        l2_norm=strategy.config.l2_norm,
        seed=0,
    )
    with torch.no_grad():
        return float(np.mean([objective.loss(batch, 0).item() for batch in objective.batches(0)]))


@pytest.mark.parametrize("name", NAMES)
def test_training_lowers_the_own_loss_on_the_rows_and_on_rows_that_it_never_saw(
    tiny: AdaptedEncoder, name: str
) -> None:
    seen = moods(dev=True)
    unseen = TrainSet("unseen", 1, "u", MOODS, seen.dev.labelled)
    tuned = fit(name, tiny, moods(), budget=Budget(steps=60), lr=1e-3)

    assert own_loss(name, tuned, seen) < 0.8 * own_loss(name, tiny, seen)
    assert own_loss(name, tuned, unseen) < 0.9 * own_loss(name, tiny, unseen)
    assert tuned.trace[-1].loss < tuned.trace[0].loss
    assert set(tuned.trace[0].gradient_norm) == {"embeddings", "layer.0", "layer.1"}
    assert moved(tuned, tiny) == {weight for weight in weights(tiny) if not weight.startswith("pooler.")}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seeds_give_the_same_bytes_and_only_the_order_matters(tiny: AdaptedEncoder, name: str) -> None:
    one, again, init, order = (
        fit(name, tiny, seeds=seeds, budget=Budget(steps=4))
        for seeds in (Seeds(), Seeds(), Seeds(init=1), Seeds(order=1))
    )
    assert one.trace == again.trace
    assert np.array_equal(one.encode(TEXTS), again.encode(TEXTS))
    assert np.array_equal(one.encode(TEXTS), init.encode(TEXTS))
    assert not np.allclose(one.encode(TEXTS), order.encode(TEXTS), atol=1e-6)
    assert strategies.get(name).draws == {"order"}


@pytest.mark.parametrize("name", NAMES)
def test_restored_it_is_the_same_and_the_start_is_as_it_was(tiny: AdaptedEncoder, name: str) -> None:
    before = tiny.encode(TEXTS)
    for data in (moods(dev=True), pairs()):
        tuned = fit(name, tiny, data, budget=Budget(steps=4))
        again = restored(name, tiny, tuned)
        assert again.source is not None
        assert tuned.source is not None
        assert again.source.key == tuned.source.key
        assert np.array_equal(again.encode(TEXTS), tuned.encode(TEXTS))
        assert not np.allclose(tuned.encode(TEXTS), before, atol=1e-6)
        assert tuned.heads.keys() == again.heads.keys()
    assert np.array_equal(tiny.encode(TEXTS), before)


@pytest.mark.parametrize("name", NAMES)
def test_no_step_or_no_rate_leaves_the_encoder_bit_equal(tiny: AdaptedEncoder, name: str) -> None:
    for config in ({"epochs": 0}, {"lr": 0.0}):
        still = fit(name, tiny, budget=Budget() if "epochs" in config else Budget(steps=3), **config)
        assert moved(still, tiny) == set()
        assert [tensor for tensor in still.state.tensors if not tensor.startswith("head.")] == []


@pytest.mark.parametrize("name", NAMES)
def test_dev_is_judged_by_the_read_out_on_the_vectors_that_are_kept(tiny: AdaptedEncoder, name: str) -> None:
    data = moods(dev=True)
    tuned = fit(name, tiny, data, budget=Budget(steps=10), lr=1e-3)
    scored = [row.dev_score for row in tuned.trace if row.dev_score is not None]

    assert len(scored) == 10
    assert tuned.state.cost.dev_score == max(scored)
    assert learn_readout(tuned, data, refit=False).cost.dev_score == max(scored)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_told_apart_by_what_the_read_out_reads(tiny: AdaptedEncoder, name: str) -> None:
    tuned = fit(name, tiny, pairs(), budget=Budget(steps=40), lr=1e-3)
    assert own_loss(name, tuned, pairs()) < 0.9 * own_loss(name, tiny, pairs())


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_no_contrast_is_not_applicable(tiny: AdaptedEncoder, name: str) -> None:
    alone = [Labelled("good plot", "good"), Labelled("bad plot", "bad")]
    for rows, reason in (
        ((), "no labelled rows"),
        ([Labelled(text, "good") for text in GOOD], "of one class, so there is nothing to push away"),
        (alone, "no class of x has two train rows"),
    ):
        with pytest.raises(NotApplicableError, match=reason):
            fit(name, tiny, TrainSet("x", 1, "f", MOODS, tuple(rows), dev=Rows(tuple(alone))))
    with pytest.raises(NotApplicableError, match="scores and no classes"):
        fit(name, tiny, scores())
    with pytest.raises(NotApplicableError, match="come from RandomSource"):
        fit(name, AdaptedEncoder(RandomSource(0, 6)))


# ---- length and batches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["contrastive_kl", "inbatch_ce"])
def test_they_train_as_long_and_as_fast_as_finetune_does(name: str) -> None:
    strategy: Any = strategies.get(name)(strategies.get(name).Config())
    finetune = Finetune(FinetuneConfig())
    for rows in (16, 80, 800):
        for budget in (Budget(), Budget(epochs=2), Budget(steps=7)):
            ours, theirs = strategy.schedule(rows, budget), finetune.schedule(rows, budget)
            assert (ours.steps, ours.lr) == (theirs.steps, theirs.lr)


def test_pairs_of_an_epoch_hold_every_row_and_both_kinds_by_turns() -> None:
    classes = np.array([0] * 6 + [1] * 3 + [2])
    batches = pairs_from_classes(classes, 16, generator(0, "test"))
    for batch in batches[:-1]:
        left, right = np.split(batch, 2)
        assert (classes[left] == classes[right]).tolist() == [True, False] * 8
        assert (left != right).all()
    assert set(np.concatenate(batches)) == set(range(10))
    genuine = pairs_from_classes(classes, 16, generator(0, "test"), genuine_only=True)
    assert all((classes[batch[: len(batch) // 2]] == classes[batch[len(batch) // 2 :]]).all() for batch in genuine)


@pytest.mark.parametrize(
    ("config", "budget", "rows", "steps"),
    [
        ({}, Budget(), 16, 60),  # R = 20: 640 pairs, which are 40 batches, and 60 are the least
        ({}, Budget(), 80, 200),
        ({}, Budget(), 800, 400),
        ({"iterations": 30}, Budget(), 16, 60),
        ({"iterations": 5, "epochs": 3}, Budget(), 80, 150),
        ({}, Budget(epochs=1), 800, 2000),
        ({}, Budget(steps=3), 800, 3),
    ],
)
def test_setfit_sees_r_pairs_of_each_kind_for_every_row_up_to_a_limit(
    config: dict[str, int], budget: Budget, rows: int, steps: int
) -> None:
    strategy: Any = strategies.get("setfit")(strategies.get("setfit").Config(**config))
    schedule = strategy.schedule(rows, budget)
    assert (schedule.steps, schedule.lr) == (steps, 2e-5)


# ---- setfit's head --------------------------------------------------------------------------------------------------


def test_setfits_second_phase_is_the_read_out_on_the_vectors_of_its_first(tiny: AdaptedEncoder) -> None:
    data = moods(dev=True)
    tuned = fit("setfit", tiny, data, budget=Budget(steps=40), lr=1e-3)
    expected = learn_readout(tuned, data)

    assert tuned.provides == {Provides.VECTORS, Provides.CLASSES, Provides.LAYERS}
    assert tuned.heads == {"moods": MOODS}
    assert np.array_equal(tuned.predict(TEXTS, "moods"), expected.predict(tuned, TEXTS))
    assert np.array_equal(restored("setfit", tiny, tuned).predict(TEXTS, "moods"), expected.predict(tuned, TEXTS))
    said = [MOODS.classes[place] for place in tuned.predict(TEXTS, "moods").argmax(axis=1)]
    assert said == ["good"] * len(GOOD) + ["bad"] * len(BAD)
    assert tuned.state.cost.trainable_parameters == sum(
        weight.numel() for name, weight in weights(tiny).items() if not name.startswith("pooler.")
    ) + 2 * (32 + 1)


# ---- configuration --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", [{"batch_size": 1}, {"epochs": -1}, {"dropout": 1.0}, {"clip": 0.0}, {"lr": -1.0}])
def test_a_configuration_out_of_range_is_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        strategies.get(name).Config(**wrong)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("contrastive_kl", {"tau": 0.0}),
        ("inbatch_ce", {"tau": -1.0}),
        ("setfit", {"iterations": 0}),
        ("setfit", {"max_steps": -1}),
        ("setfit", {"l2_norm": False}),
    ],
)
def test_and_so_are_each_strategys_own(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        strategies.get(name).Config(**wrong)
