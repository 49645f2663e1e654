"""The head that guesses hidden words, kept as it is while the encoder below it is tuned: what has pretraining lost?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import Adapted
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import encoder_of
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.masking import Masking
from thawbench.strategies.mlm_head import MlmHead, new_head, own_head, word_table
from thawbench.strategies.mlm_objective import HiddenWords, hide_words, score_mlm
from thawbench.strategies.optimizer import Block
from thawbench.strategies.randomness import generator
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule, train

_STEPS, _LR, _BATCH = 60, 1e-3, 64
_READINGS = 2
"""How often the texts are read to fit a head, with other words hidden each time."""
_UNSEEN = 0.02
"""How often a word counts as seen that is in none of them."""
_JUDGES = 5
"""One text in so many is not read to fit a head, but to see whether it was worth fitting."""


@dataclass(frozen=True)
class WordGuesser:
    """Implements `contracts.WordGuesser`.

    Transform, LayerNorm and bias stay; the decoder is the encoder's table of embeddings as it is now, as the two were
    one in pretraining. So the head is no better than what is tuned, and sees all of it that has moved.
    """

    head: MlmHead
    _known: dict[tuple[str, tuple[str, ...]], float] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(adapted: AdaptedEncoder, texts: Sequence[str]) -> "WordGuesser":
        """The head that a step has tuned, else the checkpoint's own, else one that is fitted on the texts.

        Raises:
            NotApplicableError: the vectors come from no encoder, no text has a word to hide, or the head that was
                fitted guesses no better than who knows how frequent words are: its loss would say nothing of states.
        """
        encoder = Body.of(adapted.source).encoder
        if isinstance(adapted.mlm_head, MlmHead):
            return WordGuesser(adapted.mlm_head)
        guesser = _of_checkpoint(encoder, tuple(texts))
        if guesser is None:
            raise NotApplicableError(
                f"a head for hidden words, fitted to backbone {encoder.info.name} on {len(texts)} texts, guesses no "
                "better than by the frequency of words"
            )
        return guesser

    def loss(self, adapted: Adapted, texts: Sequence[str]) -> float:
        """Cross-entropy in nats, the mean over the hidden words.

        Raises:
            NotApplicableError: the vectors come from no encoder, or no text has a word to hide.
        """
        encoder = Body.of(encoder_of(adapted).source).encoder
        asked = encoder.key, tuple(texts)
        if asked not in self._known:  # what freezes the encoder asks the same again and again
            self._known[asked] = score_mlm(encoder, self.head, texts).loss
        return self._known[asked]


@lru_cache(maxsize=2)  # all that starts from a backbone is held against the same head
def _of_checkpoint(encoder: Encoder, texts: tuple[str, ...]) -> WordGuesser | None:
    if own := own_head(encoder):
        return WordGuesser(own)
    read = tuple(text for place, text in enumerate(texts) if place % _JUDGES) or texts
    head = fitted_head(encoder, read)
    return WordGuesser(head) if _sees(head, encoder, read, texts[::_JUDGES]) else None


def fitted_head(encoder: Encoder, texts: tuple[str, ...]) -> MlmHead:
    """A tied head for an encoder that has none, which is left as it is.

    Its bias begins at how frequent words are in the texts, so that it needs few steps.

    Raises:
        NotApplicableError: no text has a word to hide, or the tokenizer no mask.
    """
    head = new_head(encoder, seed=0)
    with torch.no_grad():
        head.bias.copy_(_frequencies(encoder, texts).log())
    with checkpointing(None):  # nothing of it belongs to a fit that may be going on
        train(_Guessing(encoder, head, texts), Schedule(_LR, _STEPS), seed=0, info=encoder.info)
    return head


class _Guessing:
    """Implements `training.Objective`: a head on an encoder that stands still."""

    def __init__(self, encoder: Encoder, head: MlmHead, texts: Sequence[str]) -> None:
        read = [batch for seed in range(1, _READINGS + 1) for batch in hide_words(encoder, texts, seed=seed)]
        hidden = HiddenWords.joined(read)
        self._states, self._words = hidden.states, hidden.words
        self._head, self._table = head, word_table(encoder).detach()

    @property
    def module(self) -> nn.Module:
        """The head."""
        return self._head

    def blocks(self) -> list[Block]:
        """The head; the decoder's matrix is the encoder's."""
        return [Block("mlm_head", dict(self._head.named_parameters()))]

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        """Hidden words in a drawn order."""
        order = generator(0, "batches", epoch).permutation(len(self._words))
        return np.array_split(order, -(-len(order) // _BATCH))

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The mean over the batch, in nats."""
        rows = torch.from_numpy(batch).to(self._words.device)
        return functional.cross_entropy(self._head(self._states[rows], self._table).float(), self._words[rows])

    def dev_score(self) -> float | None:
        """None: the last weights are kept."""
        return None


def _sees(head: MlmHead, encoder: Encoder, read: Sequence[str], judges: Sequence[str]) -> bool:
    """Whether it tells words that are not there from the others of their text: by counts of `read` no one can."""
    hidden = HiddenWords.joined(hide_words(encoder, judges))
    words = hidden.words[hidden.unseen]
    with torch.inference_mode():
        logits = head(hidden.states[hidden.unseen], word_table(encoder)).float()
    counted = -_frequencies(encoder, read)[words.cpu()].log().mean().item()
    return functional.cross_entropy(logits, words).item() < counted


def _frequencies(encoder: Encoder, texts: Sequence[str]) -> Tensor:
    """The share (words,) of each word among those of the texts that can be hidden."""
    masking = Masking(encoder.tokenizer)
    ids = np.concatenate([np.array(tokens.ids, dtype=np.int64) for tokens in encoder.tokenize(texts)])
    counts = np.bincount(ids[masking.maskable(ids)], minlength=len(word_table(encoder))) + _UNSEEN
    return torch.from_numpy(counts / counts.sum())
