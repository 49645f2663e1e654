"""The rows of the embedded world, and its two splits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from thawbench.contracts import Relation

RowT = TypeVar("RowT")
Construction = Literal["plain", "emphatic", "flipped", "contrast"]


@dataclass(frozen=True)
class Split(Generic[RowT]):
    """Rows to learn from and rows to be measured on. The words that carry the signal differ between the two."""

    train: tuple[RowT, ...]
    test: tuple[RowT, ...]


@dataclass(frozen=True)
class LabelledText:
    """An opinion.

    Attributes:
        label: `negative` or `positive`.
        construction: how word and label relate. `plain`: the word's own polarity; `emphatic`: the same in spite of a
            negator ("not only good but great"); `flipped`: a negator turns it over ("far from good"); `contrast`:
            one word of each polarity, told apart by order alone ("good, not bad").
    """

    text: str
    label: str
    construction: Construction


@dataclass(frozen=True)
class TopicText:
    """A sentence with its topic on two levels; `path` is (coarse, fine)."""

    text: str
    coarse: str
    fine: str

    @property
    def path(self) -> tuple[str, str]:
        """The way down to the fine class."""
        return self.coarse, self.fine


@dataclass(frozen=True)
class InferencePair:
    """A premise and what it says of a hypothesis, both about one and the same event (as in SNLI)."""

    premise: str
    hypothesis: str
    relation: Relation


@dataclass(frozen=True)
class ScoredPair:
    """Two sentences and how much of their meaning they share, 0 (nothing) to 5 (all)."""

    a: str
    b: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """Questions and a corpus.

    Attributes:
        corpus: document id to text.
        queries: question id to text; train and test questions use different words.
        relevance: question id to the documents with a grade above 0, for all questions. 3: answers it; 2: answers it,
            but leaves open part of what was asked; 1: tells of such a thing at another time or place; 0: all others.
        echoes: question id to the document that only asks the same again (grade 0, though nothing is more similar).
    """

    corpus: Mapping[str, str]
    queries: Split[tuple[str, str]]
    relevance: Mapping[str, Mapping[str, int]]
    echoes: Mapping[str, str]


@dataclass(frozen=True)
class Tree:
    """A sentence's dependency tree after Universal Dependencies.

    Attributes:
        words: the tokens, punctuation among them.
        heads: for each token its head's position counted from 1; 0 for the root.
        relations: for each token its relation to its head.
        upos: for each token its part of speech.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        return "".join(
            word if place == 0 or upos == "PUNCT" else f" {word}"
            for place, (word, upos) in enumerate(zip(self.words, self.upos, strict=True))
        )
