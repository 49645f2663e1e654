"""What strategies that tune an encoder on unlabelled texts share: the pool in tokens, a part held out, the fit."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import Adapt, Budget, Seeds, Signal, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.base import Learned
from thawbench.strategies.batching import bucketed
from thawbench.strategies.encoder import Encoder, Tokens
from thawbench.strategies.encoder_strategy import EncoderStrategy
from thawbench.strategies.optimizer import Block
from thawbench.strategies.precision import computing_in
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Objective, Schedule, held_out_score

HELD_OUT = 128
"""At most so many texts: the loss on them is taken ten times a fit, and says enough about the rest."""


@dataclass(frozen=True)
class UnlabelledConfig:
    """How to learn from a pool.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else the source's own.
        steps: updates; few, so that it can run everywhere. A budget overrides them.
        batch_size: texts of an update.
        max_length: tokens of a text that are read in training, special ones included.
        dropout: in every dropout layer while training; None keeps what the model has.
    """

    lr: float | None = None
    steps: int = 400
    batch_size: int = 16
    max_length: int = 75
    weight_decay: float = 0.0
    clip: float = 1.0
    dropout: float | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 2 or self.steps < 0 or self.max_length < 3:
            raise ValueError("batch_size must be at least 2, steps at least 0, and max_length at least 3")
        if self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0 or not 0 <= (self.dropout or 0) < 1:
            raise ValueError("clip must be positive, lr and weight_decay not negative, dropout in [0, 1)")

    def schedule(self, lr: float, budget: Budget, batches: int) -> Schedule:
        """How long to train, a pass over the pool being this many batches.

        Args:
            lr: the source's own.
        """
        steps = self.steps if budget.steps is None else budget.steps
        if budget.steps is None and budget.epochs is not None:
            steps = budget.epochs * batches
        rate = lr if self.lr is None else self.lr
        return Schedule(rate, steps, weight_decay=self.weight_decay, clip=self.clip)


@dataclass(frozen=True)
class Text:
    """One text of the pool, and its tokens."""

    text: str
    tokens: Tokens


def readable(encoder: Encoder, texts: Sequence[str]) -> Iterator[Text]:
    """Those that have a token of their own, and not just special ones."""
    for text, tokens in zip(texts, encoder.tokenize(texts), strict=True):
        if any(start < end for start, end in tokens.offsets):
            yield Text(text, tokens)


def held_out(count: int, seed: int, at_most: int = HELD_OUT) -> frozenset[int]:
    """Which of `count` rows are only looked at: a fifth, drawn from the order stream."""
    return frozenset(generator(seed, "held out").permutation(count)[: min(count // 5, at_most)].tolist())


def shortened(body: Body, max_length: int) -> Body:
    """The same weights, reading at most so many tokens."""
    encoder = body.encoder
    info = replace(encoder.info, max_length=min(max_length, encoder.info.max_length))
    return Body(Encoder(info, encoder.model, encoder.tokenizer, encoder.cache), body.maps)


class TextObjective:
    """Implements `training.Objective` for a loss over a batch of texts, which is what a subclass defines.

    Texts whose tokens are the same count once: two of them would be each other's false negatives.

    Args:
        encoder: its tokenizer and its longest text.
        module: all that takes part.
        blocks: what is trained.
        seed: of the order stream, for the part held out, batches and noise.

    Raises:
        NotApplicableError: fewer than two different texts to train on.
    """

    def __init__(
        self,
        encoder: Encoder,
        module: nn.Module,
        blocks: Sequence[Block],
        texts: Sequence[str],
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        self._info: BackboneInfo = encoder.info
        self._module, self._blocks = module, list(blocks)
        self._batch_size, self._seed = batch_size, seed
        rows = list({tuple(row.tokens.ids): row for row in readable(encoder, texts)}.values())
        dev = held_out(len(rows), seed)
        self._train = [row for place, row in enumerate(rows) if place not in dev]
        self._dev = [rows[place] for place in sorted(dev)]
        if len(self._train) < 2:
            raise NotApplicableError("it takes two different texts with a word in them, at least, to learn from")

    @abstractmethod
    def batch_loss(self, rows: Sequence[Text], rng: np.random.Generator) -> Tensor:
        """A scalar, the less the better.

        Args:
            rng: for noise; dropout is torch's.
        """

    @property
    def module(self) -> nn.Module:
        """All that takes part."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """What is trained."""
        return self._blocks

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Texts of like length."""
        return self._bucketed(self._train, generator(self._seed, "batches", epoch))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The loss on these rows, under noise of this step's own."""
        return self.batch_loss([self._train[row] for row in batch], generator(self._seed, "noise", step))

    def dev_score(self) -> float | None:
        """Minus the loss on what was held out, the mean over batches; noise and dropout are the same at every call."""
        rng = generator(self._seed, "noise on dev")
        with seeded(self._seed, "dropout on dev"), computing_in(self._info.precision, self._info.device):
            return held_out_score(
                self._bucketed(self._dev, rng),
                lambda batch: self.batch_loss([self._dev[row] for row in batch], rng),
            )

    def _bucketed(self, rows: Sequence[Text], rng: np.random.Generator) -> list[NDArray[np.intp]]:
        return bucketed([len(row.tokens.ids) for row in rows], self._batch_size, rng)


class TextStrategy(EncoderStrategy):
    """A strategy that tunes the encoder by a loss over unlabelled texts; a subclass says which.

    What comes out encodes as its start did: same pooling, layer and longest text.
    """

    Config: ClassVar[type[Any]] = UnlabelledConfig
    config: UnlabelledConfig
    consumes = frozenset({Signal.TEXTS})

    @abstractmethod
    def objective(
        self, start: AdaptedEncoder, body: Body, texts: Sequence[str], seeds: Seeds
    ) -> Objective[NDArray[np.intp]]:
        """What `body`, a copy of the start's that may be trained, is trained by."""

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train, and keep the weights with the least loss on the texts held out.

        Raises:
            NotApplicableError: no texts, no encoder to tune, or one that the objective cannot use.
        """
        if not data.texts:
            raise NotApplicableError(f"{data.name} has no unlabelled texts to learn from")
        before = Body.of(start.source)
        body = shortened(before.copy(self.config.dropout), self.config.max_length)
        objective = self.objective(start, body, data.texts, seeds)
        schedule = self.config.schedule(self.lr, budget, len(objective.batches(0)))
        return self.trained(objective, schedule, body, before, seeds)
