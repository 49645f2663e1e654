"""A tree's depths and distances against a search of the graph, and where its words stand in its text."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from tree_states import world_trees

from thawbench.tasks.parsed_sentence import parsed, spans_of


def test_depths_and_distances_are_those_of_a_search_of_the_graph() -> None:
    for sentence in world_trees(30, 0)[0]:
        words = [word for word, head in enumerate(sentence.heads) if head]
        heads = [sentence.heads[word] - 1 for word in words]
        graph = coo_array((np.ones(len(words)), (words, heads)), shape=(len(sentence), len(sentence)))
        expected = shortest_path(graph, directed=False)
        np.testing.assert_array_equal(sentence.distances, expected)
        np.testing.assert_array_equal(sentence.depths, expected[sentence.root])


def test_a_sentence_of_one_word_is_its_root() -> None:
    sentence = parsed("x", "Yes", ["Yes"], [0], ["root"], ["INTJ"])

    assert (len(sentence), sentence.root, sentence.depths.tolist(), sentence.distances.tolist()) == (1, 0, [0], [[0]])


@pytest.mark.parametrize(
    ("heads", "told"),
    [
        ([2, 3, 2], "one is 0"),
        ([0, 0, 1], "one is 0"),
        ([0, 9, 1], "one is 0"),
        ([0, 3, 2], "lead to no root"),
        ([0, 1], "for each word"),
    ],
)
def test_what_is_no_tree_is_refused(heads: list[int], told: str) -> None:
    with pytest.raises(ValueError, match=f"place.*{told}"):
        parsed("place", "a b c", ["a", "b", "c"], heads, ["dep"] * 3, ["X"] * 3)


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("I don't.", ["I", "do", "n't", "."], [(0, 1), (2, 4), (4, 7), (7, 8)]),
        ("a  a\tb ", ["a", "a", "b"], [(0, 1), (3, 4), (5, 6)]),
        ("3 000 cats", ["3 000", "cats"], [(0, 5), (6, 10)]),
        ("cannot", ["can", "no"], [(0, 3), (3, 5)]),
        ("isn't", ["is", "not"], None),
    ],
)
def test_words_are_found_one_after_another(text: str, words: list[str], found: list[tuple[int, int]] | None) -> None:
    assert spans_of(text, words) == (None if found is None else tuple(found))


def test_a_text_that_does_not_spell_its_words_is_written_anew() -> None:
    sentence = parsed("x", "isn't it", ["is", "not", "it"], [0, 1, 1], ["root", "a:b", "c"], ["AUX", "PART", "PRON"])

    assert sentence.text == "is not it"
    assert [sentence.text[start:end] for start, end in sentence.spans] == ["is", "not", "it"]
    assert sentence.relations == ("root", "a", "c")
