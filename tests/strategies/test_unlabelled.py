"""What strategies on unlabelled texts share: each learns, comes back to the last bit, and leaves its start alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, Labelled, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.ct import Ct, CtConfig
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.random_vectors import RandomVectors
from thawbench.strategies.simcse import Simcse, SimcseConfig
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import train
from thawbench.strategies.tsdae import Tsdae, TsdaeConfig
from thawbench.strategies.unlabelled import TextObjective, TextStrategy, UnlabelledConfig, held_out, readable, shortened
from thawbench.tasks.trainsets import load_trainset

SHORT = {"steps": 2, "batch_size": 4, "max_length": 16}
# each strategy, and the share of its loss on held-out texts that some steps at a high rate must leave at most
LEARNERS = [
    (Simcse(SimcseConfig(steps=25, batch_size=16, lr=1e-3, max_length=20)), 0.7),
    (Ct(CtConfig(steps=25, batch_size=16, lr=1e-3, max_length=20)), 0.5),
    (Tsdae(TsdaeConfig(steps=30, batch_size=16, lr=3e-3, max_length=20)), 0.8),
]
QUICK = [Simcse(SimcseConfig(**SHORT)), Ct(CtConfig(**SHORT)), Tsdae(TsdaeConfig(**SHORT))]  # type: ignore[arg-type]


def named(value: object) -> str | None:
    return value.name if isinstance(value, TextStrategy) else None


@pytest.fixture(scope="module")
def pool() -> TrainSet:
    """Some of the world's texts."""
    whole = load_trainset("world/texts", 0)
    return TrainSet("world/texts", 1, "", texts=whole.texts[:150])


@pytest.fixture(scope="module")
def few(pool: TrainSet) -> TrainSet:
    """Enough to fit on, and quickly."""
    return replace(pool, texts=pool.texts[:20])


def no_adapt(strategy: Strategy, seeds: Seeds) -> Adapted:
    raise AssertionError("they ask for no other adaptation")


def fit(strategy: TextStrategy, start: AdaptedEncoder, data: TrainSet, **options: Any) -> AdaptedEncoder:
    given = {"seeds": Seeds(), "budget": Budget(), **options}
    return strategy.fit(start, data, adapt=no_adapt, **given)


@pytest.mark.parametrize(("strategy", "left"), LEARNERS, ids=named)
def test_training_lowers_the_loss_on_texts_held_out(
    tiny: AdaptedEncoder, pool: TrainSet, strategy: TextStrategy, left: float
) -> None:
    body = shortened(Body.of(tiny.source).copy(), strategy.config.max_length)
    objective = strategy.objective(tiny, body, pool.texts, Seeds())
    objective.module.eval()
    before = objective.dev_score()
    trained = train(objective, strategy.config.schedule(1.0, Budget(), 1), seed=0, info=body.encoder.info)
    after = objective.dev_score()
    assert before is not None
    assert after is not None
    assert before < after < 0  # minus the loss
    assert -after < left * -before
    assert after == pytest.approx(trained.dev_score)


@pytest.mark.parametrize("strategy", QUICK, ids=named)
def test_what_comes_out_is_an_encoder_pooled_as_before_and_restored_to_the_last_bit(
    tiny: AdaptedEncoder, few: TrainSet, strategy: TextStrategy, tmp_path: Path
) -> None:
    before = tiny.encode(few.texts)
    adapted = fit(strategy, tiny, few)
    after = adapted.encode(few.texts)
    assert np.array_equal(tiny.encode(few.texts), before)
    assert not np.array_equal(after, before)
    assert isinstance(adapted.source, Encoder)
    assert isinstance(tiny.source, Encoder)
    info = adapted.source.info
    assert (info.pooling, info.layer, info.max_length) == ("mean", tiny.source.info.layer, tiny.source.info.max_length)
    assert {name.partition(".")[0] for name in adapted.state.tensors} == {"encoder"}
    adapted.save(tmp_path)
    assert np.array_equal(strategy.restore(tiny, load_state(tmp_path)).encode(few.texts), after)
    assert adapted.state.cost.trainable_parameters <= adapted.state.cost.total_parameters


@pytest.mark.parametrize("strategy", QUICK, ids=named)
def test_the_seeds_that_it_draws_on_change_it_and_no_other(
    tiny: AdaptedEncoder, few: TrainSet, strategy: TextStrategy
) -> None:
    texts = few.texts[:4]
    vectors = fit(strategy, tiny, few).encode(texts)
    assert np.array_equal(fit(strategy, tiny, few).encode(texts), vectors)
    for stream in ("sample", "init", "order"):
        other = fit(strategy, tiny, few, seeds=Seeds(**{stream: 1})).encode(texts)
        assert np.array_equal(other, vectors) == (stream not in strategy.draws), stream


def test_a_fifth_is_held_out_up_to_a_limit() -> None:
    assert [len(held_out(count, 0)) for count in (0, 4, 5, 49, 640, 5000)] == [0, 0, 1, 9, 128, 128]
    assert held_out(50, 0) == held_out(50, 0) != held_out(50, 1)


def test_a_text_is_learned_from_once_and_only_if_it_has_a_word(tiny: AdaptedEncoder) -> None:
    body = Body.of(tiny.source).copy()
    texts = ["the cat", "The  cat", "", "  ", "a dog", "a film", "a rug"]
    objective = Simcse().objective(tiny, body, texts, Seeds())
    assert isinstance(objective, TextObjective)
    assert len(np.concatenate(objective.batches(0))) == 4
    assert [row.text for row in readable(body.encoder, texts)] == ["the cat", "The  cat", "a dog", "a film", "a rug"]


def test_texts_are_cut_in_training_and_not_afterwards(tiny: AdaptedEncoder) -> None:
    body = Body.of(tiny.source)
    assert len(shortened(body, 10).encoder.tokenize(["the cat sat on the mat " * 9])[0].ids) == 10
    assert shortened(body, 10_000).encoder.info.max_length == body.encoder.info.max_length == 64


def test_a_budget_goes_before_the_config() -> None:
    config = UnlabelledConfig(steps=50)
    budgets = (Budget(), Budget(epochs=3), Budget(steps=7, epochs=3))
    assert [config.schedule(1e-5, budget, 20).steps for budget in budgets] == [50, 60, 7]
    assert config.schedule(1e-5, Budget(), 20).lr == 1e-5
    assert UnlabelledConfig(lr=1e-3).schedule(1e-5, Budget(), 20).lr == 1e-3


def test_what_has_no_texts_or_no_encoder_is_not_applicable(tiny: AdaptedEncoder, few: TrainSet) -> None:
    labelled = TrainSet(name="set", version=1, fingerprint="", labelled=(Labelled("the cat", label="x"),))
    with pytest.raises(NotApplicableError, match="set has no unlabelled texts"):
        fit(Simcse(), tiny, labelled)
    with pytest.raises(NotApplicableError, match="two different texts"):
        fit(Simcse(), tiny, TrainSet("one", 1, "", texts=("the cat", "", "the cat")))
    vectors = RandomVectors().fit(tiny, few, seeds=Seeds(), budget=Budget(), adapt=no_adapt)
    with pytest.raises(NotApplicableError, match="only an encoder's weights"):
        fit(Simcse(), vectors, few)


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 1}, {"steps": -1}, {"max_length": 2}, {"clip": 0.0}, {"lr": -1.0}, {"dropout": 1.0}]
)
def test_a_config_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        UnlabelledConfig(**wrong)
