"""Which tokens a masked language model has to guess, and what it reads in their place."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from thawbench.errors import NotApplicableError

RATE = 0.15
_HIDDEN, _REPLACED = 0.8, 0.1


@dataclass(frozen=True)
class Masked:
    """A batch as the model reads it, and what was there.

    Attributes:
        ids: (texts, tokens) as they are read.
        places: (chosen,) of each token to guess, counted through the flattened batch, rising.
        targets: (chosen,) the ids that belong there.
    """

    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    targets: NDArray[np.int64]


class Masking:
    """The masking of Devlin et al., "BERT", NAACL 2019, section 3.1 and appendix A.1.

    Of each text's tokens a share is chosen to be guessed, at least one; of those, 80 % are read as [MASK], 10 % as
    some other token, and 10 % as they are. A special token is never chosen, and never read in another's place.

    Args:
        rate: the share.

    Raises:
        NotApplicableError: the tokenizer has no mask token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, rate: float = RATE) -> None:
        if tokenizer.mask_token_id is None:
            raise NotApplicableError("the backbone's tokenizer has no mask token, so no word can be hidden from it")
        self._rate = rate
        self._mask = int(tokenizer.mask_token_id)
        size = len(tokenizer)
        self._ordinary = np.ones(size, dtype=bool)
        self._ordinary[[place for place in tokenizer.all_special_ids if place < size]] = False
        self._words = np.flatnonzero(self._ordinary)

    def maskable(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens may be chosen; padding is special too."""
        return self._ordinary[ids]

    def __call__(self, ids: NDArray[np.int64], rng: np.random.Generator) -> Masked:
        """Choose and hide.

        Args:
            ids: (texts, tokens), padded.
        """
        maskable = self.maskable(ids)
        counts = maskable.sum(axis=1)
        wanted = np.where(counts, np.maximum(1, np.rint(self._rate * counts)), 0)
        lots = np.where(maskable, rng.random(ids.shape), np.inf)
        chosen = lots.argsort(axis=1).argsort(axis=1) < wanted[:, None]  # the rank of each lot in its text
        places = np.flatnonzero(chosen)
        targets = ids.ravel()[places]
        fate = rng.random(len(places))
        others = rng.choice(self._words, len(places))
        read = np.where(fate < _HIDDEN, self._mask, np.where(fate < _HIDDEN + _REPLACED, others, targets))
        masked = ids.copy()
        masked.ravel()[places] = read
        return Masked(masked, places, targets)
