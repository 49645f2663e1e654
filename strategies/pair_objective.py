"""What strategies that tune an encoder on pairs of texts share: the objective, dev's judgement, the fit.

The encoder reads each text by itself, and what comes out encodes as its start did, compared by cosine.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import (
    Adapt,
    Budget,
    Seeds,
    Signal,
    Similarity,
    TrainSet,
)
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.batching import bucketed
from thawbench.strategies.encoder_strategy import EncoderStrategy
from thawbench.strategies.interruption import leave_if_asked
from thawbench.strategies.optimizer import Block
from thawbench.strategies.pair_examples import Example, distinct, related_pairs
from thawbench.strategies.pair_score import pair_rows, pair_score
from thawbench.strategies.precision import computing_in
from thawbench.strategies.randomness import generator
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule, held_out_score

DEV_JUDGES = 500
"""At most so many examples or pairs judge: dev is read ten times a fit, and of `nli` it has thousands."""

_DEV_TEXTS_AT_ONCE = 256
"""Between two looks at whether a signal came."""

_LEAST_STEPS = 60


@dataclass(frozen=True)
class PairConfig:
    """How to learn from pairs.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else SBERT's 2e-5.
        epochs: passes over the pairs, and more where they are so few that these are under 60 steps.
        steps: updates at most, so that large sets can run everywhere. A budget overrides both.
        batch_size: pairs of an update. SBERT took 16; here all strategies of pairs see as many pairs in as many steps.
        dropout: in every dropout layer while training; None keeps what the model has.
    """

    lr: float | None = None
    epochs: int = 1
    steps: int = 500
    batch_size: int = 32
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 2 or min(self.epochs, self.steps) < 0:
            raise ValueError("batch_size must be at least 2, epochs and steps at least 0")
        if self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0 or not 0 <= (self.dropout or 0) < 1:
            raise ValueError("clip must be positive, lr and weight_decay not negative, dropout in [0, 1)")

    def schedule(self, lr: float, budget: Budget, batches: int) -> Schedule:
        """How long to train, a pass over the pairs being this many batches.

        Args:
            lr: the strategy's own.
        """
        steps = min(self.steps, max(self.epochs * batches, _LEAST_STEPS)) if self.epochs else 0
        if budget.epochs is not None:
            steps = budget.epochs * batches
        return Schedule(
            lr=lr if self.lr is None else self.lr,
            steps=steps if budget.steps is None else budget.steps,
            weight_decay=self.weight_decay,
            clip=self.clip,
        )


Loss = Callable[[Sequence[Tensor], Tensor], Tensor]
"""A scalar to be lowered, of vectors in float32, (n, dim) for each column of texts, and of gold (n,).

A column that only some examples have is shorter, in their order; an absent one is left out.
"""


@dataclass(frozen=True)
class PairLesson:
    """One train set as examples, and the loss on them.

    Attributes:
        dev: examples held out, by whose loss the fit is judged; with fewer than two, dev's pairs judge by cosine.
        head: a network that the loss reads and that is trained along; it is thrown away afterwards.
        distinct: whether no text may stand in two examples of one batch.
    """

    examples: Sequence[Example]
    loss: Loss
    dev: Sequence[Example] = ()
    head: nn.Module | None = None
    distinct: bool = False


class PairObjective:
    """Implements `training.Objective`.

    Args:
        dev: pairs with relations or scores; see `pair_score`.
        seed: of the order stream, for the batches.
    """

    def __init__(self, body: Body, lesson: PairLesson, dev: TrainSet, *, batch_size: int, seed: int) -> None:
        self._body, self._lesson = body, lesson
        self._batch_size, self._seed = batch_size, seed
        self._lengths = _lengths(lesson.examples)
        judges = lesson.dev[:DEV_JUDGES]
        self._dev_batches: list[list[Example]] | None = None
        cut = self._bucketed(judges, _lengths(judges), generator(seed, "dev")) if len(judges) > 1 else []
        if cut:  # of judges that share a text no batch may be left
            self._dev_batches = [[judges[row] for row in batch] for batch in cut]
        else:
            texts, self._dev = pair_rows(related_pairs(dev.dev)[:DEV_JUDGES], dev.target)
            self._dev_ids = [tokens.ids for tokens in body.encoder.tokenize(texts)]
        head = {} if lesson.head is None else {"head": lesson.head}
        self._module = body.module(**head)
        self._blocks = [
            *body.blocks(),
            *(Block(name, dict(network.named_parameters())) for name, network in head.items()),
        ]

    @property
    def module(self) -> nn.Module:
        """The body, and the loss's own network."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """All of it."""
        return self._blocks

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Examples of like length."""
        return self._bucketed(self._lesson.examples, self._lengths, generator(self._seed, "batches", epoch))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """Of these examples."""
        return self._loss([self._lesson.examples[row] for row in batch])

    def dev_score(self) -> float | None:
        """Minus the loss on the examples held out, the mean over batches that are the same at every call.

        Without such, by cosine: the ROC AUC of genuine pairs against impostors, or Spearman's correlation with scores.
        """
        if self._dev_batches is None:
            return pair_score(self._dev_vectors, self._dev, "cosine")
        info = self._body.encoder.info
        with computing_in(info.precision, info.device):
            return held_out_score(self._dev_batches, self._loss)

    def _bucketed(
        self, examples: Sequence[Example], lengths: Sequence[int], rng: np.random.Generator
    ) -> list[NDArray[np.intp]]:
        batches = bucketed(lengths, self._batch_size, rng)
        return distinct(batches, examples) if self._lesson.distinct else batches

    def _loss(self, examples: Sequence[Example]) -> Tensor:
        """Each column of texts is a pass of its own, as premises are longer than hypotheses."""
        columns = []
        for place in range(max(len(example.texts) for example in examples)):
            texts = [example.texts[place] for example in examples if place < len(example.texts)]
            columns.append(self._body.forward([tokens.ids for tokens in self._body.encoder.tokenize(texts)]))
        device = columns[0].device
        gold = torch.tensor([example.gold for example in examples], dtype=torch.float32, device=device)
        with torch.autocast(device.type, enabled=False):
            return self._lesson.loss([column.float() for column in columns], gold)

    def _dev_vectors(self) -> Tensor:
        vectors = []
        for start in range(0, len(self._dev_ids), _DEV_TEXTS_AT_ONCE):
            leave_if_asked()
            vectors.append(self._body.vectors(self._dev_ids[start : start + _DEV_TEXTS_AT_ONCE]))
        return torch.from_numpy(np.concatenate(vectors))


def _lengths(examples: Sequence[Example]) -> list[int]:
    """In characters: tokens would take a minute for a million pairs of which few are seen."""
    return [max(map(len, example.texts)) for example in examples]


class PairStrategy(EncoderStrategy):
    """A strategy that tunes all of the encoder by a loss over pairs of texts; a subclass says which."""

    Config: ClassVar[type[Any]] = PairConfig
    config: PairConfig
    consumes = frozenset({Signal.PAIRS, Signal.LABELS})
    lr = 2e-5

    @property
    def similarity(self) -> Similarity:
        """As dev compares, whatever the start did."""
        return "cosine"

    @abstractmethod
    def lesson(self, data: TrainSet, dim: int, seeds: Seeds) -> PairLesson:
        """What the set teaches.

        Args:
            dim: components of the body's vectors.

        Raises:
            NotApplicableError: it has no pairs of the kind that is needed.
        """

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep what dev liked best; the last weights if dev has nothing to judge by.

        Raises:
            NotApplicableError: no pairs of the kind that is needed, or no encoder to tune.
        """
        before = Body.of(start.source)
        body = before.copy(self.config.dropout)
        lesson = self.lesson(data, body.dim, seeds)
        if lesson.head is not None:
            lesson.head.to(body.encoder.info.device)
        objective = PairObjective(body, lesson, data, batch_size=self.config.batch_size, seed=seeds.order)
        schedule = self.config.schedule(self.lr, budget, len(objective.batches(0)))
        return self.trained(objective, schedule, body, before, seeds)
