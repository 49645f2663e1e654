"""The objective of everything that learns from labels by gradient: a head's loss on a body's vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import ClassTarget, FloatArray, Input, Labelled, Target, TrainSet
from thawbench.strategies.batching import bucketed
from thawbench.strategies.classifier import Classifier, ClassifierHead, Items
from thawbench.strategies.encoder import Encoder, Tokens
from thawbench.strategies.interruption import leave_if_asked
from thawbench.strategies.optimizer import Block
from thawbench.strategies.randomness import generator
from thawbench.strategies.readout import gold, score_of
from thawbench.strategies.trainable import Body

_DEV_ROWS_AT_ONCE = 64
"""Between two looks at whether a signal came."""


@dataclass(frozen=True)
class Answers:
    """What body and head make of a batch, with gradients.

    Attributes:
        rows: their places among the train rows.
        vectors: (rows, dim); of siamese pairs (2 rows, dim), all first texts before all second ones.
        logits: (rows, classes), or (rows, 1) for a score scaled to [0, 1].
        gold: (rows,) classes as places in the target's order, or scores.
    """

    rows: NDArray[np.intp]
    vectors: Tensor
    logits: Tensor
    gold: Tensor


Loss = Callable[[Classifier, Target, Answers], Tensor]
"""A scalar to be lowered."""


def head_loss(head: Classifier, target: Target, answers: Answers) -> Tensor:
    """Cross-entropy, or the squared error of a score."""
    return head.loss(answers.logits, answers.gold, target)


class Classification:
    """Implements `training.Objective` for classes and scores, of texts and of pairs.

    Args:
        blocks: what is trained; None trains everything at one rate.
        seed: of the order stream, for the batches.
        loss: what is lowered.
    """

    def __init__(
        self,
        body: Body,
        head: Classifier,
        data: TrainSet,
        target: Target,
        *,
        batch_size: int,
        seed: int,
        blocks: Sequence[Block] | None = None,
        loss: Loss = head_loss,
    ) -> None:
        self._body, self._head, self._target, self._loss = body, head, target, loss
        self._batch_size, self._seed = batch_size, seed
        self._module = body.module(head=head)
        self._blocks = [*body.blocks(), head_block(head)] if blocks is None else list(blocks)
        self._train = Table.of(body.encoder, data.labelled, target, head.items)
        self._dev = Table.of(body.encoder, data.dev.labelled, target, head.items)

    @property
    def module(self) -> nn.Module:
        """Body and head."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """What is trained."""
        return self._blocks

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Train rows of like length."""
        return bucketed(self._train.lengths, self._batch_size, generator(self._seed, "batches", epoch))

    @property
    def rows(self) -> int:
        """How many there are to train on."""
        return len(self._train.gold)

    @property
    def items(self) -> Items:
        """What a vector stands for."""
        return self._head.items

    def read_by(self, body: Body) -> list[FloatArray]:
        """What a body makes of all train rows, dropout off: vectors (rows, dim), of siamese pairs first and second."""
        return self._vectors(body, self._train, slice(None))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """Of these rows."""
        return self.loss_of(self.answers(batch))

    def loss_of(self, answers: Answers) -> Tensor:
        """What is lowered, of such answers."""
        return self._loss(self._head, self._target, answers)

    def answers(self, batch: NDArray[np.intp]) -> Answers:
        """What body and head make of these rows."""
        tokens = [side[row] for side in self._train.sides for row in batch]
        types = [text.types for text in tokens] if self._head.items == "joint" else None
        vectors = self._body.forward([text.ids for text in tokens], types)
        logits = self._head(*torch.split(vectors, len(batch)))
        classes = isinstance(self._target, ClassTarget)
        truth = torch.from_numpy(self._train.gold[batch].astype(np.int64 if classes else np.float32))
        return Answers(batch, vectors, logits, truth.to(logits.device))

    def dev_score(self) -> float | None:
        """Accuracy, or Spearman's correlation."""
        rows = len(self._dev.gold)
        if not rows:
            return None
        made = [self._dev_logits(slice(at, at + _DEV_ROWS_AT_ONCE)) for at in range(0, rows, _DEV_ROWS_AT_ONCE)]
        return score_of(np.concatenate(made), self._dev.gold, self._target)

    def _dev_logits(self, rows: slice) -> FloatArray:
        leave_if_asked()
        return ClassifierHead(self._target, self._head).logits(*self._vectors(self._body, self._dev, rows))

    def _vectors(self, body: Body, table: "Table", rows: slice) -> list[FloatArray]:
        vectors = []
        for side in table.sides:
            ids, types = [text.ids for text in side[rows]], [text.types for text in side[rows]]
            vectors.append(body.vectors(ids, types if self._head.items == "joint" else None))
        return vectors


def head_block(head: Classifier, lr_scale: float = 1.0, name: str = "head") -> Block:
    """A head's weights as a block."""
    return Block(name, dict(head.named_parameters()), lr_scale)


@dataclass(frozen=True)
class Table:
    """Labelled rows in tokens: one side, or the two of siamese pairs."""

    sides: tuple[list[Tokens], ...]
    gold: NDArray[np.float64] | NDArray[np.intp]

    @classmethod
    def of(cls, encoder: Encoder, rows: Sequence[Labelled], target: Target, items: Items) -> "Table":
        inputs: list[Input] = [row.input for row in rows]
        sides = [inputs] if items != "siamese" else [[pair[place] for pair in inputs] for place in (0, 1)]
        return cls(tuple(encoder.tokenize(side) for side in sides), gold(rows, target))

    @property
    def lengths(self) -> list[int]:
        return [max(len(text.ids) for text in row) for row in zip(*self.sides, strict=True)]
