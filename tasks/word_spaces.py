"""Some words of some texts, and what every layer makes of them: read in one pass, and no more held than is needed."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Adapted, FloatArray
from thawbench.errors import DegenerateError
from thawbench.tasks.isotropy import Covariance, Doubles, intra_similarity
from thawbench.tasks.room import check_room
from thawbench.tasks.word_pieces import Span, shares, words_of

_FEWEST_CONTEXTS = 5
_MOST_CONTEXTS = 10
_BLOCK = 1024


@dataclass(frozen=True)
class Words:
    """Which words of some texts to look at. It goes by the texts alone, so that every encoder is asked for the same.

    Attributes:
        spans: of each text, all its words.
        drawn: one word of each text, by its place in the text.
        repeated: each word that is spelled alike in five texts or more, as (text, place in it), once a text, for the
            first ten texts.
    """

    spans: tuple[tuple[Span, ...], ...]
    drawn: tuple[int, ...]
    repeated: tuple[tuple[tuple[int, int], ...], ...]


def choose_words(texts: Sequence[str]) -> Words:
    """The words of these texts, each of which has one. The word drawn from a text depends on nothing but the text."""
    spans = tuple(map(words_of, texts))
    found: dict[str, dict[int, int]] = {}
    for number, (text, its) in enumerate(zip(texts, spans, strict=True)):
        for place, (start, end) in enumerate(its):
            found.setdefault(text[start:end], {}).setdefault(number, place)
    repeated = (tuple(where.items()) for where in found.values() if len(where) >= _FEWEST_CONTEXTS)
    drawn = (_draw(text, len(its)) for text, its in zip(texts, spans, strict=True))
    return Words(spans, tuple(drawn), tuple(where[:_MOST_CONTEXTS] for where in repeated))


@dataclass(frozen=True)
class DrawnSpaces:
    """The drawn word of each text in every layer.

    Attributes:
        vectors: (layers, texts, dim).
        seen: (texts,), whether the word has a token; where it has none, its vector is zero.
    """

    vectors: FloatArray
    seen: NDArray[np.bool_]


@dataclass(frozen=True)
class WordSpaces:
    """What was kept of the states of some texts.

    Attributes:
        drawn: one word of each text.
        repeated: of each repeated word that has tokens in five texts or more, (layers, texts, dim).
        means: (layers, texts, dim), the mean of a text's tokens, special ones included.
        intra: (layers,), the mean intra-sentence similarity of texts of two words or more; NaN if there are none.
        covariance: (layers, dim, dim), over all words.
    """

    drawn: DrawnSpaces
    repeated: tuple[FloatArray, ...]
    means: FloatArray
    intra: Doubles
    covariance: Doubles


@dataclass(frozen=True)
class TextRead:
    """One text.

    Attributes:
        words: (layers, words, dim), zero for a word that has no token.
        seen: (words,), whether it has one.
        mean: (layers, dim), over all tokens, special ones included.
    """

    words: FloatArray
    seen: NDArray[np.bool_]
    mean: FloatArray


def read_words(adapted: Adapted, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Iterator[TextRead]:
    """What every layer makes of each text and of its words.

    Raises:
        DegenerateError: states that are not finite.
    """
    for its, (states, offsets) in zip(spans, _states(adapted, texts), strict=True):
        share = shares(its, offsets)
        yield TextRead(np.matmul(share, states), np.asarray(share.any(axis=1)), states.mean(axis=1))


def read_drawn(adapted: Adapted, texts: Sequence[str], words: Words) -> DrawnSpaces:
    """The drawn words alone.

    Raises:
        DegenerateError: states that are not finite.
    """
    read = zip(words.drawn, read_words(adapted, texts, words.spans), strict=True)
    found = [(text.words[:, place].copy(), text.seen[place]) for place, text in read]
    return _drawn(found)


def read_spaces(adapted: Adapted, texts: Sequence[str], words: Words, where: str) -> WordSpaces:
    """All that the measures need, in one pass over the texts.

    Args:
        where: the task's name, for messages.

    Raises:
        NotApplicableError: it would take more memory than `room` allows.
        DegenerateError: states that are not finite, or fewer than two words that have a token.
    """
    wanted: list[list[tuple[int, int]]] = [[] for _ in texts]
    for word, occurrences in enumerate(words.repeated):
        for number, place in occurrences:
            wanted[number].append((word, place))
    drawn: list[tuple[FloatArray, np.bool_]] = []
    means: list[FloatArray] = []
    intra: list[list[float]] = []
    repeated: list[list[FloatArray]] = [[] for _ in words.repeated]
    covariance = Covariance()
    waiting: list[FloatArray] = []
    for number, text in enumerate(read_words(adapted, texts, words.spans)):
        if not number:
            _check_room(text.words, len(texts), sum(map(len, words.repeated)), where)
        drawn.append((text.words[:, words.drawn[number]].copy(), text.seen[words.drawn[number]]))
        means.append(text.mean)
        for word, place in wanted[number]:
            if text.seen[place]:
                repeated[word].append(text.words[:, place].copy())
        whole = text.words[:, text.seen]
        if whole.shape[1] > 1:
            intra.append([intra_similarity(layer) for layer in whole])
        waiting.append(whole)
        if sum(each.shape[1] for each in waiting) >= _BLOCK:
            covariance.add(np.concatenate(waiting, axis=1))
            waiting = []
    if waiting:
        covariance.add(np.concatenate(waiting, axis=1))
    if covariance.rows < 2:
        raise DegenerateError(f"of all words of {len(texts)} texts fewer than two have a token")
    return WordSpaces(
        drawn=_drawn(drawn),
        repeated=tuple(np.stack(found, axis=1) for found in repeated if len(found) >= _FEWEST_CONTEXTS),
        means=np.stack(means, axis=1),
        intra=np.mean(intra, axis=0) if intra else np.full(len(means[0]), np.nan),
        covariance=covariance.matrices(),
    )


def layer_means(adapted: Adapted, texts: Sequence[str], where: str, beside: int = 0) -> FloatArray:
    """The mean of each text's tokens in every layer, special ones included: (layers, texts, dim).

    Args:
        where: what it is for, for messages.
        beside: bytes for each of dim that will be held meanwhile, by what is calculated of a layer.

    Raises:
        NotApplicableError: it would take more memory than `room` allows.
        DegenerateError: states that are not finite.
    """
    means = np.empty((0, len(texts), 0), dtype=np.float32)
    for number, (states, _) in enumerate(_states(adapted, texts)):
        if not number:  # only now is it known how many layers there are
            needed = (4 * len(states) * len(texts) + beside) * states.shape[2]
            check_room(needed, where, "take fewer texts or a smaller encoder")
            means = np.empty((len(states), len(texts), states.shape[2]), dtype=np.float32)
        means[:, number] = states.mean(axis=1)
    return means


def _check_room(of_a_text: FloatArray, texts: int, repeated: int, where: str) -> None:
    """Of a text a drawn word of either encoder and a mean are held; what is stacked stands there twice meanwhile."""
    layers, _, dim = of_a_text.shape
    vectors = texts + 2 * (2 * texts + repeated)
    fewer = f"take fewer texts, as in {where.partition('@')[0]}@1000, or a smaller encoder"
    check_room(layers * dim * (4 * vectors + 2 * 8 * dim), where, fewer)


def _states(adapted: Adapted, texts: Sequence[str]) -> Iterator[tuple[FloatArray, NDArray[np.int64]]]:
    for number, inside in enumerate(adapted.hidden_states(texts)):
        finite = np.isfinite(inside.states).all(axis=(1, 2))
        if not finite.all():
            raise DegenerateError(
                f"the states of text {number + 1} of {len(texts)} are not finite in layer {finite.argmin()}"
            )
        yield inside.states, inside.offsets


def _drawn(found: Sequence[tuple[FloatArray, np.bool_]]) -> DrawnSpaces:
    vectors, seen = zip(*found, strict=True)
    return DrawnSpaces(np.stack(vectors, axis=1), np.array(seen))


def _draw(text: str, words: int) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % words
