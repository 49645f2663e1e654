"""What strategies share that tune an encoder by labels without a head: the objective, dev's judgement, the fit."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import Adapt, Budget, ClassTarget, Seeds, Signal, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.classification import Table
from thawbench.strategies.classifier import Items
from thawbench.strategies.encoder_strategy import EncoderStrategy
from thawbench.strategies.label_contrast import one_each
from thawbench.strategies.optimizer import Block
from thawbench.strategies.pair_features import are_pairs
from thawbench.strategies.pair_sampling import drawn_from_classes
from thawbench.strategies.randomness import generator
from thawbench.strategies.readout import learn_readout
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule

Rows = NDArray[np.intp]
"""Places among the train rows."""

_LEAST_STEPS = 60


@dataclass(frozen=True)
class ContrastConfig:
    """How to train; much as `finetune` does, so that only the loss is another.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else the strategy's own.
        epochs: passes over the rows, and more where they are so few that these are under 60 steps.
        l2_norm: compare by cosine, else by dot product.
    """

    lr: float | None = None
    epochs: int = 10
    batch_size: int = 16
    l2_norm: bool = True
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.batch_size < 2 or self.epochs < 0:
            raise ValueError("batch_size must be at least 2 and epochs at least 0")
        if not 0 <= self.dropout < 1 or self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0:
            raise ValueError("dropout must be in [0, 1), clip positive, lr and weight_decay not negative")


class LabelContrast:
    """Implements `training.Objective`: a loss over vectors and classes of some train rows at a time.

    Pairs of texts are read as the standard read-out reads them, each text by itself.

    Args:
        draw: the batches of one epoch, from the rows' lengths in tokens and their classes.
        loss: of (rows, dim) and (rows,) classes.
        seed: of the order stream, for the batches.
    """

    def __init__(
        self,
        body: Body,
        data: TrainSet,
        *,
        draw: Callable[[Sequence[int], Rows, np.random.Generator], list[Rows]],
        loss: Callable[[Tensor, Tensor], Tensor],
        l2_norm: bool,
        seed: int,
    ) -> None:
        self._body, self._data, self._draw, self._loss = body, data, draw, loss
        self._l2_norm, self._seed = l2_norm, seed
        items: Items = "siamese" if are_pairs([row.input for row in data.labelled]) else "texts"
        assert data.target is not None
        self._train = Table.of(body.encoder, data.labelled, data.target, items)
        self._classes = self._train.gold.astype(np.intp)
        self._module = body.module()

    @property
    def module(self) -> nn.Module:
        """The body."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """All of it."""
        return self._body.blocks()

    def batches(self, epoch: int) -> list[Rows]:
        """Another draw in each epoch."""
        return self._draw(self._train.lengths, self._classes, generator(self._seed, "batches", epoch))

    def loss(self, batch: Rows, step: int) -> Tensor:
        """Of these rows."""
        vectors = self._body.forward([side[row].ids for side in self._train.sides for row in batch])
        classes = torch.from_numpy(self._classes[batch]).to(vectors.device)
        return self._loss(one_each(vectors, len(batch), l2_norm=self._l2_norm), classes)

    def dev_score(self) -> float | None:
        """How the standard read-out, fitted on the train rows as they are now, does on dev."""
        if not self._data.dev.labelled:
            return None
        return learn_readout(AdaptedEncoder(self._body.source()), self._data, refit=False).cost.dev_score


def pairs_from_classes(
    classes: Rows, batch_size: int, draw: np.random.Generator, *, genuine_only: bool = False
) -> list[Rows]:
    """Batches of pairs, as the places of all first rows and then of all second ones; see `drawn_from_classes`."""
    pairs = drawn_from_classes(classes, draw, genuine_only=genuine_only)
    cuts = [slice(at, at + batch_size) for at in range(0, len(pairs), batch_size)]
    return [np.concatenate([pairs.left[cut], pairs.right[cut]]) for cut in cuts]


class ContrastStrategy(EncoderStrategy):
    """A strategy that moves all of the encoder by a loss over the vectors and classes of a batch.

    It has no head.
    """

    Config: ClassVar[type[Any]] = ContrastConfig
    config: ContrastConfig
    consumes = frozenset({Signal.LABELS})
    lr = 1e-4

    @abstractmethod
    def loss(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """A scalar to be lowered, of (rows, dim) vectors and (rows,) integers."""

    @abstractmethod
    def draw(self, lengths: Sequence[int], classes: Rows, rng: np.random.Generator) -> list[Rows]:
        """The batches of one epoch, from the rows' lengths in tokens and their classes."""

    def pass_steps(self, rows: int) -> int:
        """The steps that `epochs` counts."""
        return -(-rows // self.config.batch_size)

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep the vectors that dev's read-out liked best.

        Raises:
            NotApplicableError: there are no classes, no two rows of one class or none of another, or no encoder.
        """
        _check_classes(data)
        before = Body.of(start.source)
        body = before.copy(self.config.dropout)
        objective = LabelContrast(
            body, data, draw=self.draw, loss=self.loss, l2_norm=self.config.l2_norm, seed=seeds.order
        )
        schedule = self.schedule(len(data.labelled), budget)
        return self.trained(objective, schedule, body, before, seeds)

    def schedule(self, rows: int, budget: Budget) -> Schedule:
        """Length and rate for so many train rows: by the budget, else the configuration."""
        config, per_pass = self.config, self.pass_steps(rows)
        steps = max(config.epochs * per_pass, _LEAST_STEPS) if config.epochs else 0
        if budget.epochs is not None:
            steps = budget.epochs * per_pass
        return Schedule(
            lr=self.lr if config.lr is None else config.lr,
            steps=steps if budget.steps is None else budget.steps,
            weight_decay=config.weight_decay,
            clip=config.clip,
        )


def _check_classes(data: TrainSet) -> None:
    if not data.labelled or data.target is None:
        raise NotApplicableError(f"{data.name} has no labelled rows to compare")
    if not isinstance(data.target, ClassTarget):
        raise NotApplicableError(f"{data.name} has scores and no classes, so no two rows are of one class")
    counts = Counter(row.label for row in data.labelled)
    if len(counts) < 2:
        raise NotApplicableError(f"all train rows of {data.name} are of one class, so there is nothing to push away")
    if max(counts.values()) < 2:
        raise NotApplicableError(f"no class of {data.name} has two train rows, so there is nothing to draw together")
