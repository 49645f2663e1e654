"""A sentence with its dependency tree, and where each of its words stands in its text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

PUNCTUATION = "PUNCT"


@dataclass(frozen=True)
class ParsedSentence:
    """One tree after Universal Dependencies, over syntactic words: of `don't` these are `do` and `n't`.

    Attributes:
        row: where it comes from, for messages.
        text: the sentence as it is written.
        spans: each word's start and end in the text, in characters.
        heads: each word's head, counted from 1; 0 for the root.
        relations: each word's relation to its head, without subtypes (`nsubj`, not `nsubj:pass`).
        upos: each word's part of speech.

    Raises:
        ValueError: the heads make no tree.
    """

    row: str
    text: str
    spans: tuple[tuple[int, int], ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.spans) == len(self.heads) == len(self.relations) == len(self.upos) > 0:
            raise ValueError(f"{self.row}: there must be a span, head, relation and part of speech for each word")
        if self.heads.count(0) != 1 or not all(0 <= head <= len(self) for head in self.heads):
            raise ValueError(f"{self.row}: the heads {list(self.heads)} make no tree: one is 0, the others are words")
        if (self.depths < 0).any():
            raise ValueError(f"{self.row}: the heads {list(self.heads)} make no tree: some words lead to no root")

    def __len__(self) -> int:
        """The number of words."""
        return len(self.heads)

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """Each word's distance from the root (words,), in edges; -1 on a circle."""
        depths = np.full(len(self), -1)
        level, depth = [self.heads.index(0)], 0
        children: dict[int, list[int]] = {}
        for word, head in enumerate(self.heads):
            children.setdefault(head - 1, []).append(word)
        while level:
            depths[level] = depth
            level = [child for word in level for child in children.get(word, ())]
            depth += 1
        return depths

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """The number of edges between any two words (words, words)."""
        distances = np.zeros((len(self), len(self)), dtype=np.int64)
        order = np.argsort(self.depths, kind="stable")
        for place, word in enumerate(order[1:], start=1):  # a head comes before its words
            seen = order[:place]
            distances[word, seen] = distances[seen, word] = distances[self.heads[word] - 1, seen] + 1
        return distances

    @property
    def root(self) -> int:
        """The root's place, counted from 0."""
        return self.heads.index(0)

    @property
    def counted(self) -> NDArray[np.int64]:
        """The places of all words that are no punctuation."""
        return np.array([word for word, upos in enumerate(self.upos) if upos != PUNCTUATION], dtype=np.int64)


def spans_of(text: str, words: Sequence[str]) -> tuple[tuple[int, int], ...] | None:
    """Where the words stand in the text, one after another with at most blanks between; None if they do not."""
    spans = []
    at = 0
    for word in words:
        while at < len(text) and text[at].isspace():
            at += 1
        if not text.startswith(word, at):
            return None
        spans.append((at, at + len(word)))
        at += len(word)
    return tuple(spans)


def parsed(
    row: str, text: str, words: Sequence[str], heads: Sequence[int], relations: Sequence[str], upos: Sequence[str]
) -> ParsedSentence:
    """The sentence by its own text; where that does not spell its words in order, by its words with blanks between.

    Raises:
        ValueError: the heads make no tree.
    """
    spans = spans_of(text, words)
    if spans is None:
        text = " ".join(words)
        spans = spans_of(text, words)
        assert spans is not None
    universal = tuple(relation.partition(":")[0] for relation in relations)
    return ParsedSentence(row, text, spans, tuple(heads), universal, tuple(upos))
