"""Pairs first, then classes: an encoder that tells pairs of one class from pairs of two, and a head on its vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from torch import Tensor

from thawbench.contracts import Adapt, Adapted, Budget, Provides, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import Learned
from thawbench.strategies.contrast_training import ContrastConfig, ContrastStrategy, Rows, pairs_from_classes
from thawbench.strategies.label_contrast import cosine_error
from thawbench.strategies.readout import LinearReadout, learn_readout, with_head
from thawbench.strategies.trainable import apart
from thawbench.strategies.training import Schedule

_HEAD = "head."


@dataclass(frozen=True)
class SetfitConfig(ContrastConfig):
    """As the library `setfit` trains by default.

    Attributes:
        batch_size: pairs.
        iterations: R; an epoch has R pairs of one class and R pairs of two for every row.
        max_steps: updates at most, for sets of a thousand rows; a budget overrides it.
    """

    epochs: int = 1
    iterations: int = 20
    max_steps: int = 400

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iterations < 1 or self.max_steps < 0:
            raise ValueError("iterations must be at least 1 and max_steps at least 0")
        if not self.l2_norm:
            raise ValueError("l2_norm must be true: the loss is one of cosines")


@strategies.register("setfit")
class Setfit(ContrastStrategy):
    """Tune by (cos(u, v) - [same class])^2 on pairs from the classes, then fit the standard read-out on all rows.

    Tunstall et al., "Efficient Few-Shot Learning Without Prompts", 2022 (arXiv 2209.11055), section 3. Its head is a
    logistic regression; ours is the one that `frozen` is measured with, so that the two differ in the vectors alone.
    """

    Config: ClassVar[type[SetfitConfig]] = SetfitConfig
    config: SetfitConfig
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})
    lr = 2e-5

    def loss(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """See `cosine_error`."""
        return cosine_error(vectors, classes)

    def draw(self, lengths: Sequence[int], classes: Rows, rng: np.random.Generator) -> list[Rows]:
        """Pairs of one class and of two by turns."""
        return pairs_from_classes(classes, self.config.batch_size, rng)

    def pass_steps(self, rows: int) -> int:
        """An epoch of the paper's."""
        return -(-2 * self.config.iterations * rows // self.config.batch_size)

    def schedule(self, rows: int, budget: Budget) -> Schedule:
        """As long as the epochs are, and no longer than `max_steps`."""
        schedule = super().schedule(rows, budget)
        free = budget.steps is None and budget.epochs is None
        return replace(schedule, steps=min(schedule.steps, self.config.max_steps)) if free else schedule

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """First the encoder, then the head.

        Raises:
            NotApplicableError: see `ContrastStrategy.learn`.
        """
        learned = super().learn(start, data, seeds=seeds, budget=budget, adapt=adapt)
        source = self.source(start, State(learned.tensors))
        readout = learn_readout(replace(start, source=source), data)
        head = readout.state
        return replace(
            learned,
            tensors={**learned.tensors, **{_HEAD + name: tensor for name, tensor in head.tensors.items()}},
            values={**head.values, "set": data.name},
            dev_score=readout.cost.dev_score,
            trainable_parameters=learned.trainable_parameters + readout.cost.trainable_parameters,
            total_parameters=source.total_parameters + readout.cost.total_parameters,
        )

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """The start with the tuned weights."""
        _, of_body = apart(state.tensors, _HEAD)
        return super().source(start, State(of_body))

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with the tuned weights, and the head."""
        of_head, _ = apart(state.tensors, _HEAD)
        head = LinearReadout.from_state(State(of_head, state.values))
        return with_head(super().restore(start, state), str(state.values["set"]), head)
