"""A small network as the head of a frozen backbone, whose vectors are computed once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Labelled,
    Provides,
    Seeds,
    Signal,
    State,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of, source_of
from thawbench.strategies.batching import bucketed
from thawbench.strategies.classification import head_block
from thawbench.strategies.classifier import Classifier, ClassifierHead, Items, outputs_of
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.optimizer import Block
from thawbench.strategies.pair_features import are_pairs, encode_once
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.readout import gold, score_of, target_from_json, target_to_json, with_head
from thawbench.strategies.sources import MappedSource
from thawbench.strategies.training import Schedule, train

_LR = 1e-3
_LEAST_STEPS = 200


@dataclass(frozen=True)
class FrozenMlpConfig:
    """How the head is trained.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else 1e-3.
        epochs: passes over the rows, and more where they are so few that these are under 200 steps.
    """

    lr: float | None = None
    epochs: int = 20
    batch_size: int = 16
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.epochs < 0:
            raise ValueError("batch_size must be at least 1 and epochs at least 0")
        if not 0 <= self.dropout < 1 or self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0:
            raise ValueError("dropout must be in [0, 1), clip positive, lr and weight_decay not negative")


@strategies.register("frozen_mlp")
class FrozenMlp(BaseStrategy):
    """`finetune:head=mlp,pairs=siamese` with an encoder that does not move: the same head, loss and loop.

    The head is one hidden layer of the vectors' width, tanh, as in Devlin et al.'s pooler. Pairs are read as the
    standard read-out reads them.
    """

    Config = FrozenMlpConfig
    config: FrozenMlpConfig
    consumes = frozenset({Signal.LABELS})
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})
    draws = frozenset({"init", "order"})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep what dev liked best.

        Raises:
            NotApplicableError: no labels, or vectors that are sparse or come from no encoder.
        """
        if not data.labelled or data.target is None:
            raise NotApplicableError(f"{data.name} has no labelled rows to train a head on")
        info = _info(source_of(start))
        config = self.config
        head = self._head(start, _items(data.labelled), data.target, seeds.init)
        objective = _HeadOnVectors(
            head.to(info.device), start, data, data.target, batch_size=config.batch_size, seed=seeds.order
        )
        per_epoch = -(-len(data.labelled) // config.batch_size)
        steps = max(config.epochs * per_epoch, _LEAST_STEPS) if config.epochs else 0
        if budget.epochs is not None:
            steps = budget.epochs * per_epoch
        schedule = Schedule(
            lr=_LR if config.lr is None else config.lr,
            steps=steps if budget.steps is None else budget.steps,
            weight_decay=config.weight_decay,
            clip=config.clip,
        )
        trained = train(objective, schedule, seed=seeds.order, info=info)
        return Learned(
            {name: weight.numpy(force=True) for name, weight in head.state_dict().items()},
            {"set": data.name, "target": target_to_json(data.target), "items": head.items},
            trained.trace,
            trained.dev_score,
            trained.trainable_parameters,
            total_parameters=source_of(start).total_parameters + trained.trainable_parameters,
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with a head more."""
        encoder = encoder_of(start)
        target = target_from_json(state.values["target"])
        head = self._head(encoder, cast(Items, state.values["items"]), target, 0)
        head.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in state.tensors.items()})
        head.to(_info(source_of(encoder)).device)
        return with_head(
            replace(encoder, state=state, trace=()), str(state.values["set"]), ClassifierHead(target, head)
        )

    def _head(self, start: AdaptedEncoder, items: Items, target: Target, seed: int) -> Classifier:
        with seeded(seed, "head"):
            return Classifier("mlp", items, source_of(start).dim, outputs_of(target), self.config.dropout)


class _HeadOnVectors:
    """Implements `training.Objective`: a head on vectors that are known."""

    def __init__(
        self, head: Classifier, start: AdaptedEncoder, data: TrainSet, target: Target, *, batch_size: int, seed: int
    ) -> None:
        self._head, self._target = head, target
        self._batch_size, self._seed = batch_size, seed
        dev = data.dev.labelled
        self._train = [torch.from_numpy(side).to(head.scale.device) for side in _sides(start, data.labelled)]
        self._dev = _sides(start, dev) if dev else []
        truth = gold(data.labelled, target).astype(np.int64 if isinstance(target, ClassTarget) else np.float32)
        self._gold, self._dev_gold = torch.from_numpy(truth).to(head.scale.device), gold(dev, target)

    @property
    def module(self) -> nn.Module:
        """The head."""
        return self._head

    def blocks(self) -> Sequence[Block]:
        """The head's weights."""
        return [head_block(self._head)]

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """All rows in a new order."""
        return bucketed([1] * len(self._gold), self._batch_size, generator(self._seed, "batches", epoch))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The head's own."""
        return self._head.loss(self._head(*(side[batch] for side in self._train)), self._gold[batch], self._target)

    def dev_score(self) -> float | None:
        """Accuracy, or Spearman's correlation."""
        if not self._dev:
            return None
        return score_of(ClassifierHead(self._target, self._head).logits(*self._dev), self._dev_gold, self._target)


def _items(rows: Sequence[Labelled]) -> Items:
    return "siamese" if are_pairs([row.input for row in rows]) else "texts"


def _sides(start: AdaptedEncoder, rows: Sequence[Labelled]) -> list[FloatArray]:
    """The vectors (rows, dim) of texts, or of the first and of the second texts of pairs; each text is encoded once."""
    inputs: list[Input] = [row.input for row in rows]
    sides = [[pair[place] for pair in inputs] for place in (0, 1)] if are_pairs(inputs) else [[str(i) for i in inputs]]
    vectors, places = encode_once(start, *sides)
    if sp.issparse(vectors):
        raise NotApplicableError("frozen_mlp needs dense vectors under it")
    return [vectors[place] for place in places]


def _info(source: VectorSource) -> BackboneInfo:
    """Of the encoder that the vectors come from.

    Raises:
        NotApplicableError: they come from none.
    """
    while isinstance(source, MappedSource):
        source = source.inner
    if not isinstance(source, Encoder):
        raise NotApplicableError(f"frozen_mlp needs an encoder; here the vectors come from {type(source).__name__}")
    return source.info
