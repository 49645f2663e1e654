"""Small labelled sets and one-line fits for tests of strategies that tune."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thawbench.contracts import Budget, ClassTarget, Input, Labelled, Rows, ScoreTarget, Seeds, Strategy, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder

GOOD = ["the film is good", "good plot", "a good cat sat", "the dog is good", "good wing flow", "who is good"]
BAD = ["the film is bad", "bad plot", "a bad cat sat", "the dog is bad", "bad wing flow", "who is bad"]
TEXTS = [*GOOD, *BAD]
MOODS = ClassTarget(("bad", "good"))


def moods(*, dev: bool = False) -> TrainSet:
    """Texts of two classes; without dev rows the last weights of a fit are kept."""
    rows = [Labelled(text, "good" if text in GOOD else "bad") for text in TEXTS]
    return TrainSet("moods", 1, "f", MOODS, tuple(rows[::2]), dev=Rows(tuple(rows[1::2] if dev else ())))


def pairs() -> TrainSet:
    """Pairs, by whether the second text is good."""
    rows = [Labelled((a, b), "good" if b in GOOD else "bad") for a in TEXTS[::3] for b in TEXTS[1::3]]
    return TrainSet("pairs", 1, "p", MOODS, tuple(rows))


def scores() -> TrainSet:
    """Texts with a number of stars."""
    rows = [Labelled(text, score=4.0 if text in GOOD else 1.0) for text in TEXTS]
    return TrainSet("scores", 1, "s", ScoreTarget(0.0, 5.0), tuple(rows))


def fit(
    name: str,
    start: AdaptedEncoder,
    data: TrainSet | None = None,
    seeds: Seeds = Seeds(),  # noqa: B008
    budget: Budget = Budget(epochs=3),  # noqa: B008
    **config: Any,
) -> AdaptedEncoder:
    """The start after one strategy, fitted on `moods` unless another set is given."""
    strategy = strategies.get(name)
    made = strategy(strategy.Config(**config)).fit(start, data or moods(), seeds=seeds, budget=budget, adapt=_no_adapt)
    assert isinstance(made, AdaptedEncoder)
    return made


def restored(name: str, start: AdaptedEncoder, fitted: AdaptedEncoder, **config: Any) -> AdaptedEncoder:
    """What a fit left, built up again from its state."""
    strategy = strategies.get(name)
    made = strategy(strategy.Config(**config)).restore(start, fitted.state)
    assert isinstance(made, AdaptedEncoder)
    return made


def weights(adapted: AdaptedEncoder) -> dict[str, torch.Tensor]:
    """Of its encoder, by name."""
    assert isinstance(adapted.source, Encoder)
    return dict(adapted.source.model.named_parameters())


def moved(adapted: AdaptedEncoder, start: AdaptedEncoder) -> set[str]:
    """The weights that are not what they were."""
    now, before = weights(adapted), weights(start)
    return {name for name in now if not torch.equal(now[name], before[name])}


def inputs_of(data: TrainSet) -> list[Input]:
    """Of its train rows."""
    return [row.input for row in data.labelled]


def same_bytes(one: AdaptedEncoder, other: AdaptedEncoder, inputs: Sequence[Input], head: str) -> bool:
    """Whether states, logits and traces are equal to the bit."""
    states = one.state.tensors.keys() == other.state.tensors.keys() and all(
        np.array_equal(tensor, other.state.tensors[name]) for name, tensor in one.state.tensors.items()
    )
    return (
        states and one.trace == other.trace and np.array_equal(one.predict(inputs, head), other.predict(inputs, head))
    )


def _no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")
