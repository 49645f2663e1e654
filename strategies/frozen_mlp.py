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
from thawbench.strategies.training import Schedule, Trained, train

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
        target = target_of(data)
        head = self._head(start, items_of(data.labelled), target, seeds.init)
        trained = train_on_vectors(head, start, data, self.config, seeds.order, budget)
        return Learned(
            {name: weight.numpy(force=True) for name, weight in head.state_dict().items()},
            {"set": data.name, "target": target_to_json(target), "items": head.items},
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
        head.to(info_of(source_of(encoder)).device)
        return with_head(
            replace(encoder, state=state, trace=()), str(state.values["set"]), ClassifierHead(target, head)
        )

    def _head(self, start: AdaptedEncoder, items: Items, target: Target, seed: int) -> Classifier:
        with seeded(seed, "head"):
            return Classifier("mlp", items, source_of(start).dim, outputs_of(target), self.config.dropout)


def train_on_vectors(
    head: Classifier,
    start: AdaptedEncoder,
    data: TrainSet,
    config: FrozenMlpConfig,
    seed: int,
    budget: Budget,
    *,
    under: nn.Module | None = None,
    blocks: Sequence[Block] = (),
) -> Trained:
    """Train a head on the vectors of a start that does not move. It is left on the encoder's device.

    Args:
        config: how long and how fast; the budget comes first.
        seed: of the order stream.
        under: a network between the vectors and the head.
        blocks: its weights that are trained beside the head's.

    Raises:
        NotApplicableError: no labels, or vectors that are sparse or come from no encoder.
    """
    info = info_of(source_of(start))
    network = nn.Identity() if under is None else under
    objective = _HeadOnVectors(
        head.to(info.device), network.to(info.device), start, data, [*blocks, head_block(head)], config.batch_size, seed
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
    return train(objective, schedule, seed=seed, info=info)


class _HeadOnVectors:
    """Implements `training.Objective`: a head on vectors that are known, through a network if there is one."""

    def __init__(
        self,
        head: Classifier,
        network: nn.Module,
        start: AdaptedEncoder,
        data: TrainSet,
        blocks: Sequence[Block],
        batch_size: int,
        seed: int,
    ) -> None:
        self._head, self._network, self._target, self._blocks = head, network, target_of(data), blocks
        self._module = nn.ModuleList([network, head])
        self._batch_size, self._seed = batch_size, seed
        dev, device = data.dev.labelled, head.scale.device
        self._train = [torch.from_numpy(side).to(device) for side in _sides(start, data.labelled)]
        self._dev = [torch.from_numpy(side).to(device) for side in _sides(start, dev)] if dev else []
        truth = gold(data.labelled, self._target)
        truth = truth.astype(np.int64 if isinstance(self._target, ClassTarget) else np.float32)
        self._gold, self._dev_gold = torch.from_numpy(truth).to(device), gold(dev, self._target)

    @property
    def module(self) -> nn.Module:
        """Network and head."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """What is trained."""
        return self._blocks

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """All rows in a new order."""
        return bucketed([1] * len(self._gold), self._batch_size, generator(self._seed, "batches", epoch))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The head's own."""
        logits = self._head(*(self._network(side[batch]) for side in self._train))
        return self._head.loss(logits, self._gold[batch], self._target)

    def dev_score(self) -> float | None:
        """Accuracy, or Spearman's correlation."""
        if not self._dev:
            return None
        with torch.inference_mode():
            vectors = [self._network(side).numpy(force=True) for side in self._dev]
        return score_of(ClassifierHead(self._target, self._head).logits(*vectors), self._dev_gold, self._target)


def target_of(data: TrainSet) -> Target:
    """What a head is to learn.

    Raises:
        NotApplicableError: there are no labels.
    """
    if not data.labelled or data.target is None:
        raise NotApplicableError(f"{data.name} has no labelled rows to train a head on")
    return data.target


def items_of(rows: Sequence[Labelled]) -> Items:
    """How a head on a text's vector reads these rows."""
    return "siamese" if are_pairs([row.input for row in rows]) else "texts"


def _sides(start: AdaptedEncoder, rows: Sequence[Labelled]) -> list[FloatArray]:
    """The vectors (rows, dim) of texts, or of the first and of the second texts of pairs; each text is encoded once."""
    inputs: list[Input] = [row.input for row in rows]
    sides = [[pair[place] for pair in inputs] for place in (0, 1)] if are_pairs(inputs) else [[str(i) for i in inputs]]
    vectors, places = encode_once(start, *sides)
    if sp.issparse(vectors):
        raise NotApplicableError("a network on vectors needs dense ones (tfidf:svd=300 makes them)")
    return [vectors[place] for place in places]


def info_of(source: VectorSource) -> BackboneInfo:
    """Of the encoder that the vectors come from.

    Raises:
        NotApplicableError: they come from none.
    """
    while isinstance(source, MappedSource):
        source = source.inner
    if not isinstance(source, Encoder):
        raise NotApplicableError(
            f"a head on vectors needs an encoder; here the vectors come from {type(source).__name__}"
        )
    return source.info
