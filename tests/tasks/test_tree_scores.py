"""UUAS, DSpr, Root and NSpr: perfect on gold, at chance on noise, and equal to loops over scipy's own functions."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import spearmanr
from tree_states import world_trees

from thawbench.tasks.parsed_sentence import ParsedSentence, parsed
from thawbench.tasks.tree_scores import (
    DepthTally,
    DistanceTally,
    GoldTree,
    chance_levels,
    linear_uuas,
    spanning_tree,
    unit_ranks,
)

TREES = world_trees(40, 0)[0]
# `Go , now !` with `now` under the comma, and `Stop .`
ODD = [
    parsed("odd", "Go , now !", ["Go", ",", "now", "!"], [0, 1, 2, 1], ["root", "punct", "dep", "punct"],
           ["VERB", "PUNCT", "ADV", "PUNCT"]),
    parsed("two", "Stop .", ["Stop", "."], [0, 1], ["root", "punct"], ["VERB", "PUNCT"]),
    parsed("one", "Yes", ["Yes"], [0], ["root"], ["INTJ"]),
    parsed("none", "...", ["..."], [0], ["root"], ["PUNCT"]),
]  # fmt: skip


def symmetric(generator: np.random.Generator, size: int) -> NDArray[Any]:
    matrix = generator.uniform(1, 2, (size, size))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    return matrix


def scores(
    sentences: Sequence[ParsedSentence], distances: Sequence[NDArray[Any]], depths: Sequence[NDArray[Any]]
) -> dict[str, float]:
    by_distance, by_depth = DistanceTally(), DepthTally()
    for sentence, distance, depth in zip(sentences, distances, depths, strict=True):
        by_distance.add(GoldTree(sentence), distance)
        by_depth.add(GoldTree(sentence), depth)
    return {**by_distance.scores(), **by_depth.scores()}


def test_gold_distances_and_depths_are_perfect() -> None:
    trees = [*TREES, *ODD]
    found = scores(trees, [tree.distances for tree in trees], [tree.depths for tree in trees])

    assert found == pytest.approx({"uuas": 1.0, "dspr": 1.0, "root": 1.0, "nspr": 1.0}, abs=1e-12)


def test_all_four_are_those_of_a_loop() -> None:
    generator = np.random.default_rng(0)
    distances = [tree.distances + 4 * symmetric(generator, len(tree)) for tree in TREES]
    depths = [tree.depths + generator.normal(size=len(tree)) for tree in TREES]

    right = edges = roots = 0
    dspr: dict[int, list[float]] = {}
    nspr: dict[int, list[float]] = {}
    for tree, distance, depth in zip(TREES, distances, depths, strict=True):
        keep = [word for word, upos in enumerate(tree.upos) if upos != "PUNCT"]
        gold = {frozenset((word, tree.heads[word] - 1)) for word in keep if tree.heads[word]}
        spanning = minimum_spanning_tree(distance[keep][:, keep]).tocoo()
        found = {frozenset((keep[i], keep[j])) for i, j in zip(spanning.row, spanning.col, strict=True)}
        edges, right = edges + len(gold), right + len(gold & found)
        roots += min(keep, key=lambda word: depth[word]) == tree.heads.index(0)
        if 5 <= len(tree) <= 50:
            rows = zip(distance, tree.distances, strict=True)
            dspr.setdefault(len(tree), []).extend(float(spearmanr(*row).statistic) for row in rows)
            nspr.setdefault(len(tree), []).append(float(spearmanr(depth, tree.depths).statistic))

    expected = {
        "uuas": right / edges,
        "dspr": fmean(map(fmean, dspr.values())),
        "root": roots / len(TREES),
        "nspr": fmean(map(fmean, nspr.values())),
    }
    assert scores(TREES, distances, depths) == pytest.approx(expected, abs=1e-9)
    assert 0.1 < expected["uuas"] < 0.9


def test_noise_is_at_chance() -> None:
    generator = np.random.default_rng(1)
    trees = world_trees(200, 0)[0]
    distances = [symmetric(generator, len(tree)) for tree in trees]
    found = scores(trees, distances, [generator.normal(size=len(tree)) for tree in trees])
    chance = chance_levels(trees)

    assert found["uuas"] == pytest.approx(chance["uuas"], abs=0.04)
    assert found["root"] == pytest.approx(chance["root"], abs=0.08)
    assert found["nspr"] == pytest.approx(0, abs=0.1)


def test_without_punctuation_what_hung_on_it_hangs_on_its_head() -> None:
    odd, two, one, none = map(GoldTree, ODD)

    assert odd.counted.tolist() == [0, 2]
    assert set(odd.edges) == {(0, 1)}
    assert [len(tree.edges) for tree in (two, one, none)] == [0, 0, 0]
    assert [tree.rooted for tree in (odd, two, one, none)] == [True, True, True, False]


def test_words_without_edges_and_short_sentences_leave_the_scores_out() -> None:
    short = ODD[1:3]
    found = scores(short, [tree.distances for tree in short], [tree.depths for tree in short])

    assert found == {"root": 1.0}
    assert scores(ODD[3:], [np.zeros((1, 1))], [np.zeros(1)]) == {}


def test_chance_and_the_line_of_neighbours_by_hand() -> None:
    # two counted words are joined for certain, and one of the two is the root; one counted word has no edge
    assert chance_levels(ODD) == pytest.approx({"uuas": 1.0, "root": (1 / 2 + 1 + 1) / 3})
    # `a b c`, all under c: of the edges a-c and b-c, the line has the second
    three = parsed("x", "a b c", ["a", "b", "c"], [3, 3, 0], ["dep", "dep", "root"], ["X"] * 3)
    assert linear_uuas([three]) == 0.5
    assert chance_levels([three])["uuas"] == pytest.approx(2 / 3)
    assert linear_uuas(ODD[1:]) is None


def test_a_spanning_tree_may_have_edges_of_no_length_and_takes_the_first_of_equals() -> None:
    assert spanning_tree(np.zeros((3, 3))) == {(0, 1), (0, 2)}
    generator = np.random.default_rng(2)
    for size in (1, 2, 7, 30):
        matrix = symmetric(generator, size)
        expected = minimum_spanning_tree(matrix).sum()
        assert sum(matrix[edge] for edge in spanning_tree(matrix)) == pytest.approx(expected)


def test_equal_predictions_order_nothing() -> None:
    assert unit_ranks(np.full(4, 2.0)).tolist() == [0, 0, 0, 0]
