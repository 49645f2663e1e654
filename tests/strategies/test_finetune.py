"""`finetune` on a small encoder: what moves, what stays, what is stored, and what a chain keeps."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from thawbench.contracts import (
    Budget,
    ClassTarget,
    Input,
    Labelled,
    Provides,
    Rows,
    ScoreTarget,
    Seeds,
    Strategy,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.interruption import Interrupted
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.trainable import Body

GOOD = ["the film is good", "good plot", "a good cat sat", "the dog is good", "good wing flow", "who is good"]
BAD = ["the film is bad", "bad plot", "a bad cat sat", "the dog is bad", "bad wing flow", "who is bad"]
TEXTS = [*GOOD, *BAD]
MOODS = ClassTarget(("bad", "good"))


def moods(name: str = "moods", texts: Sequence[Input] = TEXTS) -> TrainSet:
    rows = [Labelled(text, "good" if place < len(texts) / 2 else "bad") for place, text in enumerate(texts)]
    return TrainSet(name, 1, name, MOODS, tuple(rows[::2]), dev=Rows(tuple(rows[1::2])))


def pairs(target: Target = MOODS) -> TrainSet:
    """Whether b is good, as classes or as a score."""
    rows = []
    for place, (a, b) in enumerate((a, b) for a in TEXTS[::2] for b in TEXTS[1::2]):
        good = b in GOOD
        if isinstance(target, ClassTarget):
            rows.append(Labelled((a, b), "good" if good else "bad"))
        else:
            rows.append(Labelled((a, b), score=(4.0 if good else 1.0) + 0.1 * (place % 3)))
    return TrainSet("pairs", 1, "p", target, tuple(rows))  # without dev rows the last weights are kept


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def tune(
    start: AdaptedEncoder,
    data: TrainSet,
    seeds: Seeds | None = None,
    budget: Budget | None = None,
    name: str = "finetune",
    **config: Any,
) -> AdaptedEncoder:
    strategy = strategies.get(name)
    fitted = strategy(strategy.Config(**config)).fit(
        start, data, seeds=seeds or Seeds(), budget=budget or Budget(), adapt=no_adapt
    )
    assert isinstance(fitted, AdaptedEncoder)
    return fitted


def weights(adapted: AdaptedEncoder) -> dict[str, torch.Tensor]:
    assert isinstance(adapted.source, Encoder)
    return dict(adapted.source.model.named_parameters())


def accuracy(adapted: AdaptedEncoder, data: TrainSet) -> float:
    assert isinstance(data.target, ClassTarget)
    rows = (*data.labelled, *data.dev.labelled)
    places = adapted.predict([row.input for row in rows], data.name).argmax(axis=1)
    return float(np.mean([data.target.classes[place] == row.label for place, row in zip(places, rows, strict=True)]))


# ---- what it learns -------------------------------------------------------------------------------------------------


def test_it_learns_what_the_vectors_did_not_show_and_says_how_it_went(tiny: AdaptedEncoder) -> None:
    tuned = tune(tiny, moods(), lr=3e-3, epochs=60)

    assert accuracy(tuned, moods()) == 1.0
    assert tuned.heads == {"moods": MOODS}
    assert tuned.provides == {Provides.VECTORS, Provides.CLASSES, Provides.LAYERS}
    assert tuned.state.cost.dev_score == 1.0
    assert len(tuned.trace) == 60
    assert set(tuned.trace[0].gradient_norm) == {"embeddings", "layer.0", "layer.1", "head"}
    assert tuned.trace[-1].loss < 0.1 * tuned.trace[0].loss
    assert not np.array_equal(tuned.encode(TEXTS), tiny.encode(TEXTS))
    assert next(iter(tuned.hidden_states(["a cat"]))).states.shape == (3, 4, 32)


@pytest.mark.parametrize("head", ["linear", "mlp"])
@pytest.mark.parametrize("reading", ["joint", "siamese"])
def test_pairs_can_be_read_together_or_apart(tiny: AdaptedEncoder, reading: str, head: str) -> None:
    tuned = tune(tiny, pairs(), lr=2e-3, epochs=40, pairs=reading, head=head)

    assert accuracy(tuned, pairs()) > 0.9
    assert tuned.state.tensors["head.layers." + ("1" if head == "linear" else "4") + ".weight"].shape == (
        2,
        128 if (reading, head) == ("siamese", "linear") else 32,
    )


@pytest.mark.parametrize("reading", ["joint", "siamese"])
def test_a_score_is_learnt_in_its_own_range(tiny: AdaptedEncoder, reading: str) -> None:
    data = pairs(ScoreTarget(0.0, 5.0))
    tuned = tune(tiny, data, lr=2e-3, epochs=60, pairs=reading)
    rows = (*data.labelled, *data.dev.labelled)
    scores = tuned.predict([row.input for row in rows], "pairs")

    assert scores.shape == (36, 1)
    assert scores.dtype == np.float32
    assert np.corrcoef(scores.ravel(), [row.score or 0 for row in rows])[0, 1] > 0.9
    assert np.abs(scores.ravel() - [row.score or 0 for row in rows]).mean() < 0.7


def test_the_head_predicts_one_input_as_it_predicts_many(tiny: AdaptedEncoder) -> None:
    for data in (moods(), pairs()):
        tuned = tune(tiny, data, epochs=1)
        inputs = [row.input for row in data.labelled]
        together = tuned.predict(inputs, data.name)
        assert np.allclose(together, np.concatenate([tuned.predict([one], data.name) for one in inputs]), atol=1e-5)
        assert np.array_equal(together[::-1], tuned.predict(inputs[::-1], data.name)) or np.allclose(
            together[::-1], tuned.predict(inputs[::-1], data.name), atol=1e-5
        )
        assert tuned.predict([], data.name).shape == (0, 2)


def test_a_head_refuses_what_it_was_not_trained_on(tiny: AdaptedEncoder) -> None:
    tuned = tune(tiny, moods(), epochs=0)
    with pytest.raises(NotApplicableError, match="trained on single texts and got pairs"):
        tuned.predict([("a cat", "a dog")], "moods")
    with pytest.raises(NotApplicableError, match="trained on pairs and got single texts"):
        tune(tiny, pairs(), epochs=0).predict(["a cat"], "pairs")


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_a_rate_of_nothing_leaves_the_encoder_bit_equal(tiny: AdaptedEncoder) -> None:
    still = tune(tiny, moods(), lr=0.0, epochs=3)

    assert still.source is tiny.source
    assert [name for name in still.state.tensors if not name.startswith("head.")] == []


def test_no_epochs_equal_the_start_with_a_head_drawn_from_the_init_seed(tiny: AdaptedEncoder) -> None:
    one, two, other = (tune(tiny, moods(), Seeds(init=seed), epochs=0) for seed in (0, 0, 1))

    assert one.source is tiny.source
    assert not one.trace
    assert np.array_equal(one.predict(TEXTS, "moods"), two.predict(TEXTS, "moods"))
    assert not np.array_equal(one.predict(TEXTS, "moods"), other.predict(TEXTS, "moods"))


def test_weights_that_take_no_part_get_no_update_and_are_not_stored(tiny_folder: Path, tiny: AdaptedEncoder) -> None:
    tuned = tune(tiny, moods(), epochs=2)
    stored = {name.split(".", 1)[1] for name in tuned.state.tensors if name.startswith("encoder.")}
    moved = {name for name in weights(tiny) if not torch.equal(weights(tiny)[name], weights(tuned)[name])}
    assert stored == moved
    assert moved == {name for name in weights(tiny) if not name.startswith("pooler.")}

    lower = load_backbone(resolve_backbone(f"{tiny_folder}:layer=1", precision="float32", device="cpu"))
    tuned = tune(lower, moods(), epochs=2)
    assert not any(name.startswith("encoder.encoder.layer.1.") for name in tuned.state.tensors)
    assert any(name.startswith("encoder.encoder.layer.0.") for name in tuned.state.tensors)
    assert set(tuned.trace[0].gradient_norm) == {"embeddings", "layer.0", "head"}


def test_the_same_seeds_give_the_same_bytes_and_each_stream_matters(tiny: AdaptedEncoder) -> None:
    one, again = (tune(tiny, moods(), epochs=3) for _ in range(2))
    order, init = tune(tiny, moods(), Seeds(order=1), epochs=3), tune(tiny, moods(), Seeds(init=1), epochs=3)

    assert one.trace == again.trace
    for name, tensor in one.state.tensors.items():
        assert np.array_equal(tensor, again.state.tensors[name])
    for other in (order, init):
        assert not np.allclose(one.encode(TEXTS), other.encode(TEXTS), atol=1e-6)


def test_the_start_keeps_its_weights_its_key_and_its_cached_vectors(tiny: AdaptedEncoder) -> None:
    assert tiny.source is not None
    before, key = tiny.encode(TEXTS), tiny.source.key
    copies = {name: weight.clone() for name, weight in weights(tiny).items()}
    tuned = tune(tiny, moods(), epochs=2)

    assert all(torch.equal(weight, copies[name]) for name, weight in weights(tiny).items())
    assert tiny.source.key == key
    assert tuned.source is not None
    assert tuned.source.key != key
    assert np.array_equal(tiny.encode(TEXTS), before)


# ---- stored and cut off ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [moods(), pairs(), pairs(ScoreTarget(0.0, 5.0))], ids=["texts", "pairs", "scores"])
def test_saved_and_restored_it_is_the_same_to_the_last_bit(
    tiny: AdaptedEncoder, data: TrainSet, tmp_path: Path
) -> None:
    strategy = Finetune(FinetuneConfig(epochs=2, head="mlp"))
    tuned = strategy.fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt)
    tuned.save(tmp_path)
    restored = strategy.restore(tiny, load_state(tmp_path))
    inputs = [row.input for row in data.labelled]

    assert restored.source is not None
    assert tuned.source is not None
    assert restored.source.key == tuned.source.key
    assert all(torch.equal(weight, weights(restored)[name]) for name, weight in weights(tuned).items())
    assert np.array_equal(restored.predict(inputs, data.name), tuned.predict(inputs, data.name))
    assert restored.heads == tuned.heads
    assert restored.state.cost == tuned.state.cost


def test_cut_off_by_a_signal_and_fitted_again_it_is_the_same(
    tiny: AdaptedEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = tune(tiny, moods(), epochs=6)
    forward, calls = Body.forward, 0

    def counted(body: Body, *arguments: Any) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 3:
            signal.raise_signal(signal.SIGTERM)
        return forward(body, *arguments)

    monkeypatch.setattr(Body, "forward", counted)
    with pytest.raises(Interrupted), checkpointing(tmp_path):
        tune(tiny, moods(), epochs=6)
    with checkpointing(tmp_path):
        resumed = tune(tiny, moods(), epochs=6)

    assert calls == 6
    assert resumed.trace == undisturbed.trace
    assert all(
        np.array_equal(tensor, resumed.state.tensors[name]) for name, tensor in undisturbed.state.tensors.items()
    )


# ---- in a row -------------------------------------------------------------------------------------------------------


def test_a_chain_gives_one_head_per_train_set_and_moves_under_the_first(tiny: AdaptedEncoder) -> None:
    first = tune(tiny, moods(), epochs=60, lr=3e-3)
    second = tune(first, moods("other", [*BAD, *GOOD]), epochs=60, lr=3e-3)

    assert set(second.heads) == {"moods", "other"}
    assert accuracy(second, moods("other", [*BAD, *GOOD])) == 1.0
    assert not np.array_equal(first.predict(TEXTS, "moods"), second.predict(TEXTS, "moods"))


def test_once_more_on_the_same_set_goes_on_from_the_head_that_is_there(tiny: AdaptedEncoder) -> None:
    first = tune(tiny, moods(), epochs=20, lr=1e-3)
    still = tune(first, moods(), epochs=0)
    fresh = tune(first, moods(), epochs=0, head="mlp")  # another kind of head cannot

    assert np.array_equal(first.predict(TEXTS, "moods"), still.predict(TEXTS, "moods"))
    assert not np.array_equal(first.predict(TEXTS, "moods"), fresh.predict(TEXTS, "moods"))


def test_what_it_cannot_tune_is_not_applicable(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="come from RandomSource"):
        tune(AdaptedEncoder(RandomSource(0, 6)), moods())
    with pytest.raises(NotApplicableError, match="no labelled rows"):
        tune(tiny, TrainSet("t", 1, "f", texts=("a",)))


# ---- configuration --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "budget", "rows", "steps", "lr", "corrected"),
    [
        (FinetuneConfig(recipe="mosbach"), Budget(), 80, 100, 2e-5, True),
        (FinetuneConfig(recipe="devlin"), Budget(), 80, 15, 2e-5, False),
        (FinetuneConfig(recipe="mosbach", lr=1e-3, epochs=2), Budget(), 80, 10, 1e-3, True),
        (FinetuneConfig(recipe="mosbach", epochs=2), Budget(epochs=3), 81, 18, 2e-5, True),
        (FinetuneConfig(recipe="mosbach", epochs=2), Budget(steps=7, epochs=3), 81, 7, 2e-5, True),
    ],
)
def test_the_budget_goes_before_the_options_and_these_before_the_recipe(
    config: FinetuneConfig, budget: Budget, rows: int, steps: int, lr: float, corrected: bool
) -> None:
    schedule = Finetune(config).schedule(rows, budget)
    assert (schedule.steps, schedule.lr, schedule.bias_correction) == (steps, lr, corrected)


def test_by_default_even_the_smallest_set_gets_sixty_steps() -> None:
    assert Finetune(FinetuneConfig()).schedule(16, Budget()).steps >= 60
    assert Finetune(FinetuneConfig()).schedule(16, Budget(epochs=1)).steps == 1


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"dropout": 1.0}, {"clip": 0.0}, {"lr": -1.0}, {"epochs": -1}])
def test_a_configuration_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        FinetuneConfig(**wrong)


def test_dropout_is_off_when_it_is_over_and_was_what_was_asked_for(tiny: AdaptedEncoder) -> None:
    body = Body.of(tiny.source).copy(0.25)
    rates = {module.p for module in body.encoder.model.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.25}
    tuned = tune(tiny, moods(), epochs=1, dropout=0.9)
    assert isinstance(tuned.source, Encoder)
    assert not tuned.source.model.training
    assert np.array_equal(tuned.encode(TEXTS), tuned.source.vectors([t.ids for t in tuned.source.tokenize(TEXTS)]))


def test_its_defaults_are_plain_json() -> None:
    assert all(isinstance(value, str | int | float | None) for value in vars(FinetuneConfig()).values())
