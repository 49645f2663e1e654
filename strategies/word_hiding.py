"""Hiding words of a text that nobody is asked to guess."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from thawbench.strategies.unlabelled import Text
from thawbench.strategies.words import spelled, words_of

Hiding = Literal["none", "random", "content_words"]


class WordHiding:
    """Reads a share of a text's words as [MASK], whatever pieces they fall into.

    Args:
        which: among all words, or among content words alone: those with a letter or a digit that scikit-learn's list of
            English stop words does not have. Texts that stand together share names and topics; without them they must
            be matched by what is said.
        rate: the share, at least one word where there is one.
        mask: the id of [MASK].
    """

    def __init__(self, which: Hiding, rate: float, mask: int) -> None:
        self._which, self._rate, self._mask = which, rate, mask

    def __call__(self, row: Text, rng: np.random.Generator) -> Sequence[int]:
        """The ids as they are to be read."""
        if self._which == "none":
            return row.tokens.ids
        words = words_of(row.text, row.tokens.offsets)
        named = spelled(row.text, row.tokens.offsets, words)
        candidates = [place for place, word in enumerate(named) if self._which == "random" or _is_content(word)]
        count = max(1, int(np.rint(self._rate * len(candidates)))) if candidates else 0
        chosen = set(rng.permutation(candidates)[:count].tolist())
        return [self._mask if word in chosen else token for token, word in zip(row.tokens.ids, words, strict=True)]


def _is_content(word: str) -> bool:
    return any(character.isalnum() for character in word) and word.lower() not in ENGLISH_STOP_WORDS
