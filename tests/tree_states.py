"""Encoders whose every layer is known: what a probe must find in them is known too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import FloatArray, HiddenStates
from thawbench.tasks.parsed_sentence import ParsedSentence
from thawbench.tasks.treebank import grown
from thawbench.tasks.word_states import WordStates
from thawbench.tasks.world.trees import make_trees

Embed = Callable[[ParsedSentence, np.random.Generator], NDArray[Any]]
"""A sentence's vectors (words, dim)."""
DIM = 30
_TAGS = [
    *["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB"],
    *["root", "acl", "advmod", "amod", "aux", "case", "cc", "ccomp", "conj", "det", "mark", "nmod", "nsubj", "obj"],
    *["obl", "punct", "xcomp"],
]


def world_trees(train: int, test: int) -> tuple[list[ParsedSentence], list[ParsedSentence]]:
    """Trees as those of the embedded world, which itself takes longer to make."""
    trees = make_trees(0, train, test)
    return list(map(grown, trees.train)), list(map(grown, trees.test))


def noise(sentence: ParsedSentence, generator: np.random.Generator) -> NDArray[Any]:
    """Vectors that say nothing."""
    return generator.normal(size=(len(sentence), DIM))


def tree(sentence: ParsedSentence, generator: np.random.Generator) -> NDArray[Any]:
    """Each edge an axis of its own, each word the sum of the edges above it: squared distances are the tree's."""
    axis = generator.permutation(DIM)
    vectors = np.zeros((len(sentence), DIM))
    for word in np.argsort(sentence.depths, kind="stable")[1:]:
        vectors[word] = vectors[sentence.heads[word] - 1]
        vectors[word, axis[word]] = 1
    return vectors


def shuffled(sentence: ParsedSentence, generator: np.random.Generator) -> NDArray[Any]:
    """The same vectors, dealt out anew among the words."""
    return generator.permutation(tree(sentence, generator))


def tags(sentence: ParsedSentence, generator: np.random.Generator) -> NDArray[Any]:
    """An axis for each part of speech, and one for each relation."""
    vectors = np.zeros((len(sentence), DIM))
    for word, names in enumerate(zip(sentence.upos, sentence.relations, strict=True)):
        vectors[word, [_TAGS.index(name) for name in names]] = 1
    return vectors


def all_states(sentences: Sequence[ParsedSentence], embed: Embed, seed: int = 0) -> WordStates:
    """One layer of all these sentences."""
    generator = np.random.default_rng(seed)
    vectors = [embed(sentence, generator).astype(np.float32) for sentence in sentences]
    starts = np.cumsum([0, *map(len, sentences)])[:-1]
    return WordStates(tuple(sentences), np.concatenate(vectors)[None], tuple(starts.tolist()), 0)


class LayeredEncoder:
    """An adaptation with a layer for each way to embed; a word is one token, after a special one."""

    heads: Mapping[str, Any] = {}

    def __init__(self, sentences: Sequence[ParsedSentence], layers: Sequence[Embed], window: int = 1000) -> None:
        self._sentences = {sentence.text: sentence for sentence in sentences}
        self._layers = layers
        self._window = window

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for text in texts:
            sentence = self._sentences[text]
            generator = np.random.default_rng([len(text), *text.encode()])
            words = np.stack([embed(sentence, generator) for embed in self._layers])[:, : self._window]
            special = np.full((len(self._layers), 1, words.shape[2]), 9.0)
            states: FloatArray = np.concatenate([special, words], axis=1).astype(np.float32)
            yield HiddenStates(states, np.array([(0, 0), *sentence.spans[: self._window]], dtype=np.int64))
