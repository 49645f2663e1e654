"""Progressive networks: each train set gets a column of its own, which reads all earlier ones and leaves them alone."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    FloatArray,
    Input,
    Provides,
    Seeds,
    Signal,
    State,
    Target,
    TrainSet,
)
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of, source_of, without_map
from thawbench.strategies.classifier import Classifier, ClassifierHead, Items, outputs_of
from thawbench.strategies.frozen_mlp import FrozenMlpConfig, info_of, items_of, target_of, train_on_vectors
from thawbench.strategies.optimizer import Block
from thawbench.strategies.progressive_columns import Column, Columns, ColumnShape
from thawbench.strategies.randomness import seeded
from thawbench.strategies.readout import target_from_json, target_to_json, with_head
from thawbench.strategies.sources import MappedSource, digest
from thawbench.strategies.trainable import apart

_COLUMN = "column."
_HEAD = "head."


@dataclass(frozen=True)
class ProgressiveConfig(FrozenMlpConfig):
    """As `frozen_mlp`'s.

    Attributes:
        width: of a column's layers; none takes that of the backbone's vectors.
        depth: hidden layers of a column.
    """

    width: int | None = None
    depth: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 2 or (self.width or 1) < 1:
            raise ValueError("depth must be at least 2 and width at least 1")


@strategies.register("progressive")
class Progressive(BaseStrategy):
    """Train a new column and its head; the backbone, which is column 0, and all earlier columns stay to the bit.

    Rusu et al., "Progressive Neural Networks", 2016 (arXiv 1606.04671), section 2, with its non-linear adapters:
    h_i = ReLU(W_i h_(i-1) + U_i ReLU(V_i alpha h'_(i-1))), where h' are the states of all earlier columns side by side.
    The backbone has the same states at every depth, and so has a first column something to adapt too.

    A state holds the column that its step added. Each set's head reads the set's own column, whatever came later, so
    that nothing is forgotten. The vectors are those that the last set's head reads: the top layer of the last column
    and what its adapter says of the others'. Pairs go up a column text by text, and meet in the head.
    """

    Config: ClassVar[type[Any]] = ProgressiveConfig
    config: ProgressiveConfig
    consumes = frozenset({Signal.LABELS})
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})
    draws = frozenset({"init", "order"})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep what dev liked best.

        Raises:
            NotApplicableError: no labels, or vectors that are sparse or come from no encoder.
        """
        config, target = self.config, target_of(data)
        frozen, earlier = below_columns(start)
        dim = source_of(frozen).dim
        with seeded(seeds.init, "column", len(earlier)):
            column = Column(ColumnShape(_widths(dim, earlier), config.width or dim, config.depth), config.dropout)
        columns = Columns([*copy.deepcopy(earlier), column])
        head = self._head(columns, items_of(data.labelled), target, seeds.init, len(earlier))
        block = Block("column", dict(column.named_parameters()))
        trained = train_on_vectors(head, frozen, data, config, seeds.order, budget, under=columns, blocks=[block])
        of_head = {_HEAD + name: weight.numpy(force=True) for name, weight in head.state_dict().items()}
        return Learned(
            {**{_COLUMN + name: tensor for name, tensor in column.tensors().items()}, **of_head},
            {
                "set": data.name,
                "target": target_to_json(target),
                "items": head.items,
                "width": column.shape.width,
                "depth": column.shape.depth,
            },
            trained.trace,
            trained.dev_score,
            trained.trainable_parameters,
            total_parameters=source_of(start).total_parameters + trained.trainable_parameters,
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with a column more over its vectors, and a head that reads it."""
        encoder = encoder_of(start)
        frozen, earlier = below_columns(encoder)
        inner = source_of(frozen)
        of_head, rest = apart(state.tensors, _HEAD)
        of_column, _ = apart(rest, _COLUMN)
        width, depth = (cast(int, state.values[name]) for name in ("width", "depth"))
        column = Column.from_tensors(ColumnShape(_widths(inner.dim, earlier), width, depth), of_column)
        columns = Columns([*earlier, column]).to(info_of(inner).device)
        target = target_from_json(state.values["target"])
        head = self._head(columns, cast(Items, state.values["items"]), target, 0)
        head.load_state_dict({name: torch.from_numpy(np.array(tensor)) for name, tensor in of_head.items()})
        head.to(info_of(inner).device)
        tensors = columns.tensors()
        held = sum(tensor.size for tensor in tensors.values())
        source = MappedSource(inner, columns.project, digest(self.name, self.version, tensors=tensors), held, columns)
        adapted = replace(encoder, source=source, similarity="cosine", state=state, trace=())
        own = replace(adapted, head_models={})
        return with_head(adapted, str(state.values["set"]), OwnColumn(target, head, own))

    def _head(self, columns: Columns, items: Items, target: Target, seed: int, place: int = 0) -> Classifier:
        with seeded(seed, "head", place):
            return Classifier("linear", items, columns.dim, outputs_of(target), self.config.dropout)


@dataclass(frozen=True)
class OwnColumn:
    """A train set's head, which reads the set's own column and not the encoder as later steps leave it."""

    target: Target
    module: Classifier
    column: AdaptedEncoder

    def predict(self, adapted: Adapted, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes) logits, or (inputs, 1) scores in the target's range."""
        return ClassifierHead(self.target, self.module).predict(self.column, inputs)


def below_columns(start: AdaptedEncoder) -> tuple[AdaptedEncoder, list[Column]]:
    """What lies below the start's columns, with all of the start's heads, and these; the start if there are none."""
    below, columns = without_map(start, Columns)
    return below, [] if columns is None else [cast(Column, column) for column in columns.columns]


def _widths(dim: int, columns: Sequence[Column]) -> tuple[int, ...]:
    return (dim, *(column.shape.width for column in columns))
