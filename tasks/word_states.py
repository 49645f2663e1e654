"""What every layer makes of every word of a parsed sentence: the mean of the word's pieces."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thawbench.contracts import Adapted, FloatArray
from thawbench.errors import DegenerateError
from thawbench.tasks.parsed_sentence import ParsedSentence
from thawbench.tasks.room import check_room
from thawbench.tasks.word_pieces import shares


@dataclass(frozen=True)
class WordStates:
    """Sentences with the states of all their words at once.

    Attributes:
        sentences: those whose every word has a state.
        states: (layers, words, dim), the sentences' words one after another.
        starts: each sentence's first word in `states`.
        left_out: how many sentences were not kept.
    """

    sentences: tuple[ParsedSentence, ...]
    states: FloatArray
    starts: tuple[int, ...]
    left_out: int


def collect(adapted: Adapted, sentences: Sequence[ParsedSentence], where: str) -> WordStates:
    """Every layer's states of all words of these sentences.

    A word's state is the mean of the pieces that share a character with it, so a piece across two words counts for
    both. A word has none if it lies beyond the encoder's window or its end, or if the tokenizer drops all its
    characters; then its sentence is left out.

    Args:
        where: the task's name, for messages.

    Raises:
        NotApplicableError: they would take more memory than `room` allows.
        DegenerateError: states that are not finite.
    """
    total = sum(map(len, sentences))
    states = np.empty((0, 0, 0), dtype=np.float32)
    kept: list[ParsedSentence] = []
    starts: list[int] = []
    used = 0
    inside = adapted.hidden_states([sentence.text for sentence in sentences])
    for sentence, hidden in zip(sentences, inside, strict=True):
        if not np.isfinite(hidden.states).all():
            raise DegenerateError(f"{where}: the hidden states of {sentence.row} are not all finite")
        share = shares(sentence.spans, hidden.offsets)
        if not share.any(axis=1).all():
            continue
        if not kept:
            layers, _, dim = hidden.states.shape
            fewer = f"take fewer sentences, as in {where.partition('@')[0]}@1000"
            check_room(layers * total * dim * 4, where, fewer)
            states = np.empty((layers, total, dim), dtype=np.float32)
        kept.append(sentence)
        starts.append(used)
        states[:, used : used + len(sentence)] = np.matmul(share, hidden.states)
        used += len(sentence)
    return WordStates(tuple(kept), states[:, :used], tuple(starts), len(sentences) - len(kept))
