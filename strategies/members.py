"""Fits that a strategy asks for on its way, `finetune` of the same start on the same data, and what is made of them."""

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from numpy.typing import NDArray

from thawbench.contracts import Adapt, Seeds, State, TrainSet
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import encoder_of
from thawbench.strategies.encode_meter import count, metered
from thawbench.strategies.finetune import HEAD, Finetune, FinetuneConfig
from thawbench.strategies.readout import gold, score_of
from thawbench.strategies.trainable import Body, apart
from thawbench.strategies.tuned import with_choices

ConfigT = TypeVar("ConfigT", bound=FinetuneConfig)
Tensors = Mapping[str, NDArray[Any]]


def finetuned(config: FinetuneConfig, adapt: Adapt, seeds: Seeds) -> AdaptedEncoder:
    """What `finetune` makes with its part of a configuration, out of the store if it is there.

    The fit that asks is charged the seconds that this one took, whenever that was.
    """
    plain = FinetuneConfig(**{field.name: getattr(config, field.name) for field in fields(FinetuneConfig)})
    started = time.perf_counter()
    with metered() as meter:
        made = encoder_of(adapt(Finetune(plain), seeds))
    elapsed = time.perf_counter() - started
    count(seconds=made.state.cost.fit_s - meter.seconds, spent=elapsed - meter.spent)
    return made


def tuned_alike(config: ConfigT, start: AdaptedEncoder) -> ConfigT:
    """A configuration whose open fields are as `finetune` has them for this start: a student learns as its teacher."""
    return with_choices(config, (Finetune.name,), start.source.total_parameters if start.source else 0)


def at_the_start(start: AdaptedEncoder, moved: Tensors) -> Tensors:
    """The start's own weights under the names of those that `finetune` has moved; heads are left out."""
    before = Body.of(start.source)
    _, of_body = apart(moved, HEAD)
    return before.changed(before.with_weights(of_body))


def judged_by_dev(strategy: Finetune, start: AdaptedEncoder, state: State, data: TrainSet) -> float | None:
    """The dev score of what `restore` makes of a state; None without dev rows."""
    rows, target = data.dev.labelled, data.target
    if not rows or target is None:
        return None
    logits = strategy.restore(start, state).predict([row.input for row in rows], data.name)
    return score_of(logits, gold(rows, target), target)
