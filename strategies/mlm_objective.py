"""Guessing hidden words: what is trained by it, and how well an encoder does it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from thawbench.errors import NotApplicableError
from thawbench.strategies.batching import bucketed
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.interruption import leave_if_asked
from thawbench.strategies.masking import RATE, Masked, Masking
from thawbench.strategies.mlm_head import MlmHead, word_table
from thawbench.strategies.optimizer import Block
from thawbench.strategies.precision import computing_in
from thawbench.strategies.randomness import generator
from thawbench.strategies.trainable import Body

_ROWS_AT_ONCE = 64


class MaskedLanguageModel:
    """Implements `training.Objective`: the cross-entropy of the hidden words, Devlin et al., NAACL 2019, section 3.1.

    Which words are hidden is drawn anew at every step, from (seed, step). All layers are trained, whichever of them
    the vectors are read from.

    Args:
        encoder: trained in place, so a copy of one's own.
        seed: of the order stream, for batches and masks.

    Raises:
        NotApplicableError: no text has a word to hide, or the tokenizer no mask.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: MlmHead,
        texts: Sequence[str],
        *,
        batch_size: int,
        seed: int,
        rate: float = RATE,
    ) -> None:
        self._encoder, self._head = encoder, head
        self._batch_size, self._seed = batch_size, seed
        self._masking = Masking(encoder.tokenizer, rate)
        self._rows = _rows(encoder, self._masking, texts)
        self._module = nn.ModuleDict({"encoder": encoder.model, "mlm_head": head})

    @property
    def module(self) -> nn.Module:
        """Encoder and head."""
        return self._module

    def blocks(self) -> list[Block]:
        """Every layer and the head; the decoder's matrix is in `embeddings`."""
        whole = replace(self._encoder.info, layer=int(self._encoder.model.config.num_hidden_layers))
        body = Body(Encoder(whole, self._encoder.model, self._encoder.tokenizer, self._encoder.cache))
        return [*body.blocks(), Block("mlm_head", dict(self._head.named_parameters()))]

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Texts of like length."""
        return bucketed([len(row) for row in self._rows], self._batch_size, generator(self._seed, "batches", epoch))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The mean over the batch's hidden words, in nats."""
        ids, lengths = _padded(self._encoder, [self._rows[row] for row in batch])
        masked = self._masking(ids, generator(self._seed, "masks", step))
        hidden = _hidden(self._encoder, masked, lengths)
        return functional.cross_entropy(self._head(hidden.states, word_table(self._encoder)).float(), hidden.words)

    def dev_score(self) -> float | None:
        """None: a pool without labels has no dev rows, and more reading is better."""
        return None


@dataclass(frozen=True)
class MlmScores:
    """How well hidden words are guessed.

    Attributes:
        loss: cross-entropy in nats, the mean over all hidden words.
        accuracy: the share for which the right word comes first.
        hidden: how many there were.
    """

    loss: float
    accuracy: float
    hidden: int


@dataclass(frozen=True)
class HiddenWords:
    """Words that were hidden from an encoder.

    Attributes:
        states: (hidden, width) of its last layer at their places.
        words: (hidden,) the ids that belong there.
        unseen: (hidden,) whether [MASK] is read there; some are read as they are, or as another word.
    """

    states: Tensor
    words: Tensor
    unseen: Tensor

    @classmethod
    def joined(cls, batches: Sequence["HiddenWords"]) -> "HiddenWords":
        """All of them as one."""
        return cls(*(torch.cat([getattr(batch, each.name) for batch in batches]) for each in fields(cls)))


def hide_words(encoder: Encoder, texts: Sequence[str], *, seed: int = 0, rate: float = RATE) -> list[HiddenWords]:
    """Hide words in the texts, and read these with dropout off: the same words for every encoder of one tokenizer.

    Returns:
        By batch, in the order of the texts.

    Raises:
        NotApplicableError: no text has a word to hide, or the tokenizer no mask.
    """
    masking = Masking(encoder.tokenizer, rate)
    rows = _rows(encoder, masking, texts)
    rng = generator(seed, "score_mlm")
    found = []
    was_training = encoder.model.training
    encoder.model.train(False)
    try:
        with torch.inference_mode(), computing_in(encoder.info.precision, encoder.info.device):
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                leave_if_asked()
                ids, lengths = _padded(encoder, rows[start : start + _ROWS_AT_ONCE])
                found.append(_hidden(encoder, masking(ids, rng), lengths))
    finally:
        encoder.model.train(was_training)
    return found


def score_mlm(encoder: Encoder, head: MlmHead, texts: Sequence[str], *, seed: int = 0, rate: float = RATE) -> MlmScores:
    """Have the words guessed that `hide_words` hides.

    Raises:
        NotApplicableError: no text has a word to hide, or the tokenizer no mask.
    """
    loss, right, hidden = 0.0, 0, 0
    head.train(False)
    for batch in hide_words(encoder, texts, seed=seed, rate=rate):
        with torch.inference_mode(), computing_in(encoder.info.precision, encoder.info.device):
            logits = head(batch.states, word_table(encoder)).float()
        loss += functional.cross_entropy(logits, batch.words, reduction="sum").item()
        right += int((logits.argmax(dim=1) == batch.words).sum())
        hidden += len(batch.words)
    return MlmScores(loss / hidden, right / hidden, hidden)


def _rows(encoder: Encoder, masking: Masking, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """The ids of each text that has a word to hide."""
    rows = [np.array(tokens.ids, dtype=np.int64) for tokens in encoder.tokenize(texts)]
    rows = [row for row in rows if masking.maskable(row).any()]
    if not rows:
        raise NotApplicableError("no text has a word that could be hidden")
    return rows


def _padded(encoder: Encoder, rows: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids (texts, longest) filled up on the right, and the lengths (texts,)."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((len(rows), lengths.max()), encoder.tokenizer.pad_token_id or 0, dtype=np.int64)
    for place, row in zip(ids, rows, strict=True):
        place[: len(row)] = row
    return ids, lengths


def _hidden(encoder: Encoder, masked: Masked, lengths: NDArray[np.int64]) -> HiddenWords:
    """The states of the hidden words alone: to decode all would be slow."""
    device = encoder.info.device
    width = masked.ids.shape[1]
    mask = (
        None if (lengths == width).all() else torch.from_numpy((np.arange(width) < lengths[:, None]).astype(np.int64))
    )
    states = encoder.model(
        input_ids=torch.from_numpy(masked.ids).to(device), attention_mask=None if mask is None else mask.to(device)
    ).last_hidden_state
    chosen = states.flatten(0, 1).index_select(0, torch.from_numpy(masked.places).to(device))
    unseen = masked.ids.ravel()[masked.places] == encoder.tokenizer.mask_token_id
    return HiddenWords(chosen, torch.from_numpy(masked.targets).to(device), torch.from_numpy(unseen).to(device))
