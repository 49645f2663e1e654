"""What a word's states tell of its part of speech, and those of a word and its head of the relation between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import FloatArray
from thawbench.tasks.parsed_sentence import ParsedSentence
from thawbench.tasks.word_states import WordStates

MOST_ROWS = 4000
"""How many words a read-out is fitted on, the first of the train sentences; as many of dev choose the layer."""
_STRENGTH = 0.1
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Tagged:
    """Words with what is to be read out of them: `places` (rows, k) among a set's states, k = 1, or 2 with the head."""

    places: NDArray[np.int64]
    labels: tuple[str, ...]

    def features(self, states: FloatArray) -> FloatArray:
        """(rows, k dim) out of one layer's states (words, dim)."""
        features: FloatArray = states[self.places].reshape(len(self.labels), -1)
        return features


@dataclass(frozen=True)
class TagReadout:
    """A fitted read-out; `dev_accuracy` is what layers are chosen by."""

    model: Any
    dev_accuracy: float

    def right(self, states: FloatArray, tagged: Tagged) -> int:
        """How many rows get their label."""
        if not tagged.labels:
            return 0
        return int(np.sum(self.model.predict(tagged.features(states)) == np.array(tagged.labels)))


def upos_rows(sentences: Sequence[ParsedSentence], starts: Sequence[int], most: int | None = None) -> Tagged:
    """Every word with its part of speech, at most so many."""
    rows = [
        (start + word, upos)
        for sentence, start in zip(sentences, starts, strict=True)
        for word, upos in enumerate(sentence.upos)
    ][:most]
    return Tagged(np.array([place for place, _ in rows], dtype=np.int64), tuple(label for _, label in rows))


def relation_rows(sentences: Sequence[ParsedSentence], starts: Sequence[int], most: int | None = None) -> Tagged:
    """Every word but the roots, with its head and its relation to it, at most so many."""
    rows = [
        ((start + word, start + head - 1), relation)
        for sentence, start in zip(sentences, starts, strict=True)
        for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
        if head
    ][:most]
    places = np.array([pair for pair, _ in rows], dtype=np.int64).reshape(-1, 2)
    return Tagged(places, tuple(label for _, label in rows))


ROWS = {"upos": upos_rows, "relation": relation_rows}


def tagged(name: str, given: WordStates) -> Tagged:
    """The rows that a read-out called `upos` or `relation` is fitted on or chosen by."""
    return ROWS[name](given.sentences, given.starts, MOST_ROWS)


def fit_tags(train: FloatArray, train_rows: Tagged, dev: FloatArray, dev_rows: Tagged) -> TagReadout | None:
    """A logistic regression on standardised states with an L2 penalty; None if there are no rows.

    One strength serves all layers. A tenth of it costs .003 of accuracy on words of EWT's dev split, in the third layer
    of all-MiniLM-L6-v2.

    Args:
        train, dev: (words, dim), one layer's states.
    """
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not train_rows.labels or not dev_rows.labels:
        return None
    if len(set(train_rows.labels)) == 1:  # of which a regression can make nothing
        model = DummyClassifier(strategy="most_frequent")
    else:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=_STRENGTH, tol=_TOLERANCE, max_iter=5000))
    model.fit(train_rows.features(train), np.array(train_rows.labels))
    found = TagReadout(model, 0.0)
    return TagReadout(model, found.right(dev, dev_rows) / len(dev_rows.labels))
