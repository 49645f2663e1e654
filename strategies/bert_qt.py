"""Quick-Thoughts over frozen states: two small networks learn which sentences stand beside which in a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import Adapt, Budget, Provides, Seeds, Signal, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.optimizer import Block
from thawbench.strategies.precision import computing_in
from thawbench.strategies.quick_thoughts import (
    QuickThoughtsSource,
    ReaderKind,
    SelfScore,
    neighbours,
    quick_thoughts_loss,
    two_readers,
)
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import held_out_score, train
from thawbench.strategies.unlabelled import UnlabelledConfig, held_out, readable, shortened
from thawbench.strategies.word_hiding import Hiding, WordHiding

_HELD_OUT = 40
"""At most so many documents, for the reason that `unlabelled.HELD_OUT` has."""


@dataclass(frozen=True)
class BertQtConfig(UnlabelledConfig):
    """Rate, clipping and longest text are those of Quick-Thoughts, which has batches of 400 and 1200 components.

    Attributes:
        batch_size: consecutive sentences; all of them are candidates.
        reader: what f and g are.
        dim: components of f's vector, and of g's.
        masking: of the sentence that f reads; g reads candidates whole.
        mask_rate: the share of those words that is masked.
    """

    batch_size: int = 64
    max_length: int = 30
    clip: float = 5.0
    reader: ReaderKind = "gru"
    dim: int = 600
    self_score: SelfScore = "zero"
    masking: Hiding = "none"
    mask_rate: float = 0.15

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dropout is not None:
            raise ValueError("dropout has no layer to act on: the encoder is frozen, and the readers have none")
        if self.dim < 2 or self.dim % 2 or not 0 < self.mask_rate <= 1:
            raise ValueError("dim must be even and at least 2, and mask_rate in (0, 1]")


class ConsecutiveSentences:
    """Implements `training.Objective`: f(s_i) . g(s_j) is to say which j stands beside i in the batch.

    A batch is a stretch of the documents' sentences, one document after the other in an order of its epoch. A sentence
    at the border of a document or of a batch has one neighbour, or none; then it is a candidate only.

    Args:
        encoder: frozen; its states are computed for each batch, as a pass over the documents is rarely repeated.
        seed: of the order stream.

    Raises:
        NotApplicableError: no document has two sentences with a word in them, or there is no mask to hide words by.
    """

    def __init__(
        self,
        encoder: Encoder,
        readers: nn.ModuleDict,
        documents: Sequence[Sequence[str]],
        config: BertQtConfig,
        seed: int,
    ) -> None:
        self._encoder, self._readers, self._config, self._seed = encoder, readers, config, seed
        mask = encoder.tokenizer.mask_token_id
        if config.masking != "none" and mask is None:
            raise NotApplicableError("the backbone's tokenizer has no mask token to hide words by")
        self._hide = WordHiding(config.masking, config.mask_rate, mask or 0)
        read = [list(readable(encoder, document)) for document in documents]
        read = [document for document in read if len(document) > 1]
        if not read:
            raise NotApplicableError("no document has two sentences with a word in them")
        self._rows = [row for document in read for row in document]
        self._document = np.repeat(np.arange(len(read)), [len(document) for document in read])
        dev = held_out(len(read), seed, _HELD_OUT)
        places = np.split(np.arange(len(self._rows)), np.cumsum([len(document) for document in read])[:-1])
        self._train = [place for document, place in enumerate(places) if document not in dev]
        self._dev = [places[document] for document in sorted(dev)]

    @property
    def module(self) -> nn.Module:
        """f and g."""
        return self._readers

    def blocks(self) -> list[Block]:
        """One each."""
        return [Block(name, dict(reader.named_parameters())) for name, reader in self._readers.items()]

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Where the sentences of each batch stand among all."""
        order = generator(self._seed, "batches", epoch).permutation(len(self._train))
        return self._cut([self._train[document] for document in order])

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """In nats."""
        return self._loss(batch, generator(self._seed, "noise", step))

    def dev_score(self) -> float | None:
        """Minus the loss on the documents held out, the mean over batches."""
        rng, info = generator(self._seed, "noise on dev"), self._encoder.info
        with computing_in(info.precision, info.device):  # as in training
            return held_out_score(self._cut(self._dev), lambda batch: self._loss(batch, rng))

    def _cut(self, documents: Sequence[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
        """Batches of nearly one size; every one has neighbours in it."""
        if not documents:
            return []
        stream = np.concatenate(documents)
        cut = np.array_split(stream, -(-len(stream) // self._config.batch_size))
        return [batch for batch in cut if neighbours(batch, self._document[batch]).any()]

    def _loss(self, batch: NDArray[np.intp], rng: np.random.Generator) -> Tensor:
        rows = [self._rows[place] for place in batch]
        whole = [row.tokens.ids for row in rows]
        with torch.no_grad():
            states, lengths = self._encoder.token_states(whole)
            read, read_lengths = states, lengths
            if self._config.masking != "none":
                read, read_lengths = self._encoder.token_states([self._hide(row, rng) for row in rows])
        with torch.autocast(states.device.type, enabled=False):
            scores = self._readers["f"](read, read_lengths) @ self._readers["g"](states, lengths).T
            beside = torch.from_numpy(neighbours(batch, self._document[batch])).to(scores.device)
            return quick_thoughts_loss(scores, beside, self._config.self_score)


@strategies.register("bert_qt")
class BertQt(BaseStrategy):
    """Quick-Thoughts (Logeswaran and Lee, ICLR 2018) on the states of a frozen encoder; vectors are [f(s); g(s)].

    f and g start from nothing, and replace whatever maps stand on the encoder. `masking=content_words` is our reading
    of the source's "intelligent masking", which it does not define.
    """

    Config: ClassVar[type[Any]] = BertQtConfig
    config: BertQtConfig
    consumes = frozenset({Signal.DOCUMENTS})
    provides = frozenset({Provides.VECTORS, Provides.LAYERS})
    draws = frozenset({"init", "order"})
    lr: ClassVar[float] = 5e-4

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train f and g, and keep those with the least loss on the documents held out.

        Raises:
            NotApplicableError: no documents of two sentences, or no encoder.
        """
        if not data.documents:
            raise NotApplicableError(f"{data.name} has no documents to read")
        config, body = self.config, Body.of(start.source)
        readers = self._readers(body.encoder, seeds.init)
        encoder = shortened(body, config.max_length).encoder
        objective = ConsecutiveSentences(encoder, readers, data.documents, config, seeds.order)
        schedule = config.schedule(self.lr, budget, len(objective.batches(0)))
        trained = train(objective, schedule, seed=seeds.order, info=encoder.info)
        return Learned(
            {name: tensor.numpy(force=True) for name, tensor in readers.state_dict().items()},
            trace=trained.trace,
            dev_score=trained.dev_score,
            trainable_parameters=trained.trainable_parameters,
        )

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """f and g over the start's encoder."""
        encoder = Body.of(start.source).encoder
        readers = self._readers(encoder, 0)
        readers.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in state.tensors.items()})
        return QuickThoughtsSource(encoder, readers)

    def _readers(self, encoder: Encoder, seed: int) -> nn.ModuleDict:
        with seeded(seed, "readers"):
            return two_readers(self.config.reader, encoder.dim, self.config.dim).to(encoder.info.device)
