"""Which tokens make up a word: those that share a character with it."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import FloatArray

Span = tuple[int, int]
"""Where something starts and ends in a text, in characters."""

_WORD = re.compile(r"\w+|[^\w\s]")


def words_of(text: str) -> tuple[Span, ...]:
    """Where a text's words stand: runs of letters and digits, and every other sign that is no space for itself."""
    return tuple(match.span() for match in _WORD.finditer(text))


def shares(spans: Sequence[Span], offsets: NDArray[np.int64]) -> FloatArray:
    """What each token counts for each word (words, tokens): a word's shares are equal, and add up to 1.

    A token across two words counts for both. A word without a token has a row of zeros: it lies beyond the encoder's
    window, or the tokenizer drops its characters. So has one that goes on behind the last token: the window's end cuts
    it, and the pieces before it are another word's.

    Args:
        offsets: (tokens, 2), as of `HiddenStates`.
    """
    words = np.array(spans, dtype=np.int64).reshape(-1, 2)
    touches = (offsets[None, :, 0] < words[:, None, 1]) & (offsets[None, :, 1] > words[:, None, 0])
    touches &= offsets[:, 0] < offsets[:, 1]  # special tokens stand nowhere
    touches &= words[:, 1:] <= offsets[:, 1].max(initial=0)
    counts = touches.sum(axis=1, keepdims=True)
    return np.asarray(touches / np.maximum(counts, 1), dtype=np.float32)
