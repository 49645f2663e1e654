"""What predicted distances and depths say of gold trees, after Hewitt and Manning's evaluation (NAACL 2019).

- UUAS: of the edges of the gold trees without punctuation, the share that the minimum spanning trees of the predicted
  distances have too, all sentences' edges together. Punctuation is what has the part of speech PUNCT (theirs goes by
  Penn Treebank tags). Where it has words below it, the gold tree is the minimum spanning tree of the gold distances.
- DSpr: for each word, Spearman's correlation of its row of distances (its own 0 included) with the gold row; the mean
  by length of sentence, then the mean over lengths 5 to 50. NSpr: the same of a sentence's depths.
- Root: the share of sentences whose shallowest word, punctuation aside, is the root; those rooted in punctuation are
  left out.

A row of equal predictions orders nothing: its correlation counts as 0.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.tasks.parsed_sentence import PUNCTUATION, ParsedSentence

Edge = tuple[int, int]
_LENGTHS = range(5, 51)


class GoldTree:
    """A sentence's tree in the form in which predictions are compared with it."""

    def __init__(self, sentence: ParsedSentence) -> None:
        self.sentence = sentence

    @property
    def ordered(self) -> bool:
        """Whether its correlations count."""
        return len(self.sentence) in _LENGTHS

    @property
    def rooted(self) -> bool:
        """Whether its root is a word."""
        return self.sentence.upos[self.sentence.root] != PUNCTUATION

    @cached_property
    def counted(self) -> NDArray[np.int64]:
        """The places of all words that are no punctuation."""
        return self.sentence.counted

    @cached_property
    def edges(self) -> frozenset[Edge]:
        """The tree over `counted`, by places in it."""
        return self.edges_of(self.sentence.distances)

    @cached_property
    def distance_ranks(self) -> NDArray[np.float64]:
        """(words, words): `unit_ranks` of each word's row of distances."""
        return unit_ranks(self.sentence.distances)

    @cached_property
    def depth_ranks(self) -> NDArray[np.float64]:
        """(words,): `unit_ranks` of the depths."""
        return unit_ranks(self.sentence.depths)

    def edges_of(self, distances: NDArray[Any]) -> frozenset[Edge]:
        """The minimum spanning tree over `counted` of distances (words, words)."""
        return spanning_tree(distances[np.ix_(self.counted, self.counted)])


class DistanceTally:
    """UUAS and DSpr over sentences."""

    def __init__(self) -> None:
        self._right = self._edges = 0
        self._by_length: dict[int, list[float]] = defaultdict(list)

    def add(self, gold: GoldTree, distances: NDArray[Any]) -> None:
        """One sentence's predicted distances (words, words)."""
        self._edges += len(gold.edges)
        self._right += len(gold.edges & gold.edges_of(distances))
        if gold.ordered:
            rows = (unit_ranks(distances) * gold.distance_ranks).sum(axis=1)
            self._by_length[len(gold.sentence)].extend(rows.tolist())

    def scores(self) -> dict[str, float]:
        """`uuas` if there is an edge at all, `dspr` if a sentence has the length for it."""
        found = {"uuas": self._right / self._edges} if self._edges else {}
        return found | _mean_over_lengths("dspr", self._by_length)


class DepthTally:
    """Root and NSpr over sentences."""

    def __init__(self) -> None:
        self._right = self._rooted = 0
        self._by_length: dict[int, list[float]] = defaultdict(list)

    def add(self, gold: GoldTree, depths: NDArray[Any]) -> None:
        """One sentence's predicted depths (words,)."""
        if gold.rooted:
            self._rooted += 1
            self._right += int(gold.counted[np.argmin(depths[gold.counted])] == gold.sentence.root)
        if gold.ordered:
            self._by_length[len(gold.sentence)].append(float(unit_ranks(depths) @ gold.depth_ranks))

    def scores(self) -> dict[str, float]:
        """`root` if a sentence is rooted in a word, `nspr` if one has the length for it."""
        found = {"root": self._right / self._rooted} if self._rooted else {}
        return found | _mean_over_lengths("nspr", self._by_length)


def spanning_tree(distances: NDArray[Any]) -> frozenset[Edge]:
    """The edges (i, j), i < j, of a minimum spanning tree (Kruskal) of distances (n, n), which may be 0.

    Of equal distances the first in the order of (i, j) is taken first.
    """
    left, right = np.triu_indices(len(distances), k=1)
    order = np.argsort(distances[left, right], kind="stable")
    group = list(range(len(distances)))
    edges: list[Edge] = []
    for i, j in zip(left[order].tolist(), right[order].tolist(), strict=True):
        if len(edges) == len(distances) - 1:
            break
        one, other = group[i], group[j]
        if one != other:
            edges.append((i, j))
            group = [one if each == other else each for each in group]
    return frozenset(edges)


def unit_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks along the last axis, centred and at length 1: products of two are Spearman's. 0 where all are equal."""
    from scipy.stats import rankdata  # slow to import, and a plan needs none

    ranks = rankdata(values, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    lengths = np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))
    return np.asarray(ranks / np.where(lengths > 0, lengths, 1.0))


def chance_levels(sentences: Sequence[ParsedSentence]) -> dict[str, float]:
    """What guessing gives: `uuas` of trees drawn evenly (two words of n are joined with probability 2/n), `root`."""
    trees = [GoldTree(sentence) for sentence in sentences]
    sizes = [len(tree.counted) for tree in trees]
    edges = sum(size - 1 for size in sizes if size)
    levels = {}
    if edges:
        levels["uuas"] = sum(2 * (size - 1) / size for size in sizes if size) / edges
    if rooted := [1 / size for size, tree in zip(sizes, trees, strict=True) if tree.rooted]:
        levels["root"] = fmean(rooted)
    return levels


def linear_uuas(sentences: Sequence[ParsedSentence]) -> float | None:
    """UUAS of joining each word with the next one, for which no encoder is needed; None if there is no edge."""
    tally = DistanceTally()
    for sentence in sentences:
        places = np.arange(len(sentence))
        tally.add(GoldTree(sentence), np.abs(places[:, None] - places[None, :]))
    return tally.scores().get("uuas")


def _mean_over_lengths(name: str, by_length: Mapping[int, Sequence[float]]) -> dict[str, float]:
    return {name: fmean(fmean(found) for found in by_length.values())} if by_length else {}
