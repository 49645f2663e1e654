"""Which tokens make up a word, for whatever deletes or hides whole words: a piece alone is guessed from the rest."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SPECIAL = -1


def words_of(text: str, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """The word (tokens,) that each token belongs to, counted from 0; `SPECIAL` for a token that stands for no text.

    A word is an unbroken run of letters and digits; every other token is one of its own.

    Args:
        offsets: where in the text each token lies.
    """
    words = np.full(len(offsets), SPECIAL, dtype=np.int64)
    word, reached = -1, 0
    for place, (start, end) in enumerate(offsets):
        if start == end:
            continue
        goes_on = 0 < start == reached and text[start - 1].isalnum() and text[start].isalnum()
        word += not goes_on
        words[place], reached = word, end
    return words


def spelled(text: str, offsets: Sequence[tuple[int, int]], words: NDArray[np.int64]) -> list[str]:
    """Each word as the text has it, in order."""
    places = [np.flatnonzero(words == word) for word in range(int(words.max(initial=SPECIAL)) + 1)]
    return [text[offsets[place[0]][0] : offsets[place[-1]][1]] for place in places]
