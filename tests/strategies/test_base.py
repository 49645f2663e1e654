"""`BaseStrategy`: a one-file strategy is short, timed as of a cold cache, and restored to the last bit."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Adapt, Budget, FloatArray, HiddenStates, Role, Seeds, Signal, State, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.encode_meter import count
from thawbench.strategies.random_vectors import RandomSource

TEXTS = ["a cat", "", "a cat", "x" * 5000, "naïve 猫 \ud800"]


class Centred(BaseStrategy):
    """Vectors less the mean of the train texts."""

    name = "centred"
    consumes = frozenset({Signal.TEXTS})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        return Learned({"mean": start.encode(data.texts).mean(axis=0)})

    def transform(self, vectors: FloatArray, state: State) -> FloatArray:
        centred: FloatArray = vectors - state.tensors["mean"]
        return centred


@dataclass(frozen=True)
class SlowCachedSource:
    """Answers at once and says that it once took an hour."""

    key: str = "slow"
    dim: int = 2
    total_parameters: int = 7

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        started = time.perf_counter()
        time.sleep(0.05)
        count(texts=len(texts), seconds=3600.0, spent=time.perf_counter() - started)
        return np.ones((len(texts), 2), np.float32)

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        raise NotApplicableError("none")


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(strategy: BaseStrategy, start: AdaptedEncoder, **data: Any) -> AdaptedEncoder:
    train = TrainSet("t", 1, "f", **data)
    return strategy.fit(start, train, seeds=Seeds(), budget=Budget(), adapt=no_adapt)


@pytest.fixture
def start() -> AdaptedEncoder:
    return AdaptedEncoder(RandomSource(0, 6), has_layers=True)


def test_a_transform_is_all_that_a_strategy_has_to_define(start: AdaptedEncoder) -> None:
    centred = fit(Centred(), start, texts=("a", "b", "c"))

    assert np.allclose(centred.encode(["a", "b", "c"]).mean(axis=0), 0, atol=1e-6)
    assert centred.encode([]).shape == (0, 6)
    assert centred.source is not None
    assert centred.source.dim == 6


def test_a_saved_state_restores_the_same_bits_and_the_same_key(start: AdaptedEncoder, tmp_path: Path) -> None:
    centred = fit(Centred(), start, texts=("a", "b", "c"))
    centred.save(tmp_path)

    restored = Centred().restore(start, load_state(tmp_path))

    assert np.array_equal(restored.encode(TEXTS), centred.encode(TEXTS))
    assert restored.source is not None
    assert centred.source is not None
    assert restored.source.key == centred.source.key
    assert restored.state.cost == centred.state.cost


def test_what_was_learnt_is_part_of_the_key(start: AdaptedEncoder) -> None:
    one, two = (fit(Centred(), start, texts=texts).source for texts in (("a",), ("b",)))

    assert one is not None
    assert two is not None
    assert one.key != two.key


def test_a_fit_costs_what_its_encoding_would_take_with_a_cold_cache() -> None:
    cost = fit(Centred(), AdaptedEncoder(SlowCachedSource()), texts=("a",)).state.cost

    assert 3600.0 <= cost.fit_s < 3600.05
    assert cost.total_parameters == 7 + 2


def test_layers_are_offered_only_where_the_strategy_says_so(start: AdaptedEncoder) -> None:
    assert start.has_layers
    assert not fit(Centred(), start, texts=("a",)).has_layers


def test_nothing_can_be_mapped_where_the_step_before_makes_no_vectors() -> None:
    with pytest.raises(NotApplicableError, match="makes no vectors"):
        Centred().restore(AdaptedEncoder(None), State({"mean": np.zeros(3, np.float32)}))


def test_a_strategy_that_defines_nothing_says_what_to_define(start: AdaptedEncoder) -> None:
    class Empty(BaseStrategy):
        name = "empty"

    with pytest.raises(NotImplementedError, match="none of transform, source and restore"):
        Empty().restore(start, State()).encode(["a"])


def test_the_frozen_backbone_keeps_its_vectors_its_layers_and_its_key(start: AdaptedEncoder) -> None:
    frozen = fit(strategies.get("frozen")(None), start)  # type: ignore[arg-type]

    assert frozen == replace(start, state=frozen.state)
    assert frozen.state.cost.trainable_parameters == 0


def test_random_vectors_depend_on_the_seed_and_the_text_alone(start: AdaptedEncoder) -> None:
    strategy = strategies.get("random_vectors")(strategies.get("random_vectors").Config(dim=64))
    first = strategy.fit(start, TrainSet("t", 1, "f"), seeds=Seeds(init=1), budget=Budget(), adapt=no_adapt)
    other = strategy.fit(start, TrainSet("t", 1, "f"), seeds=Seeds(init=2), budget=Budget(), adapt=no_adapt)
    vectors = first.encode(TEXTS)

    assert vectors.shape == (5, 64)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[::-1], first.encode(TEXTS[::-1]))
    assert not np.isclose(vectors, other.encode(TEXTS)).any()
    assert np.abs(first.encode([str(n) for n in range(500)]).mean()) < 0.02
    assert np.array_equal(strategy.restore(start, first.state).encode(TEXTS), vectors)


def test_the_constant_control_gives_one_vector_for_every_text(start: AdaptedEncoder) -> None:
    vectors = fit(strategies.get("constant")(None), start).encode(TEXTS)  # type: ignore[arg-type]

    assert len(np.unique(vectors, axis=0)) == 1
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("name", ["constant", "random_vectors"])
def test_a_control_is_marked_as_one_and_refuses_zero_components(name: str) -> None:
    assert strategies.get(name).control
    with pytest.raises(ValueError, match="at least 1"):
        strategies.get(name).Config(dim=0)
