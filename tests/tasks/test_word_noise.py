"""What each kind of word noise does to words, where it strikes, and that nothing but its own seed decides."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from thawbench.registry import noisers
from thawbench.tasks.synonyms import SYNONYMS
from thawbench.tasks.word_noise import FELT_BY_ALL, Case, Deletions, Order, Swaps, Synonyms, Typos, WordNoise

TEXTS = [
    f"The film number {row} was, quickly said, a rather\tboring  story; nobody LIKED the ending!" for row in range(40)
]
EACH = pytest.mark.parametrize("name", [*FELT_BY_ALL, "synonyms", "case"])


def noise(name: str) -> WordNoise:
    made = noisers.get(name)()
    assert isinstance(made, WordNoise)
    return made


def changed(before: str, after: str) -> set[int]:
    return {place for place, (a, b) in enumerate(zip(before.split(), after.split(), strict=True)) if a != b}


@EACH
def test_the_same_call_gives_the_same_texts_whatever_any_global_state_says(name: str) -> None:
    first = noise(name)(TEXTS, 0.5, 3)
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)

    assert noise(name)(TEXTS, 0.5, 3) == first
    assert noise(name)(TEXTS, 0.5, 4) != first
    assert len(first) == len(TEXTS)


@EACH
def test_a_text_depends_on_its_place_and_on_no_other_text(name: str) -> None:
    others = [*["something else altogether"] * 39, TEXTS[39]]

    assert noise(name)(others, 0.5, 3)[39] == noise(name)(TEXTS, 0.5, 3)[39]


@EACH
def test_strength_0_leaves_every_text_as_it_is_to_the_last_blank(name: str) -> None:
    odd = ["", " ", "one", "  two\n words  ", "ß 火 👍 e\u0301", *TEXTS]

    assert noise(name)(odd, 0.0, 3) == odd
    assert len(noise(name)(odd, 1.0, 3)) == len(odd)
    assert noise(name)(odd, 1.0, 3)[:2] == ["", " "]


@pytest.mark.parametrize("name", ["typos", "swaps", "synonyms", "case"])
def test_what_is_spoilt_at_a_strength_is_spoilt_alike_at_a_greater_one(name: str) -> None:
    weak, strong = (noise(name)(TEXTS, strength, 3) for strength in (0.2, 0.6))
    found = 0
    for text, little, much in zip(TEXTS, weak, strong, strict=True):
        places = changed(text, little)
        found += len(places)
        assert places <= changed(text, much)
        assert all(little.split()[place] == much.split()[place] for place in places)
    assert found > 10


def test_what_is_deleted_at_a_strength_is_deleted_at_a_greater_one() -> None:
    steps = [Deletions()(TEXTS, strength, 3) for strength in (0.2, 0.6, 0.95, 1.0)]
    for texts in zip(*steps, strict=True):
        counts = [Counter(text.split()) for text in texts]
        assert all(more <= fewer for fewer, more in pairwise(counts))
        assert counts[-1].total() == 1


@pytest.mark.parametrize("name", ["typos", "case"])
def test_the_share_of_words_that_is_hit_is_the_strength(name: str) -> None:
    texts = ["word " * 50] * 100  # where every word can be spoilt
    told = noise(name)(texts, 0.2, 0)
    share = np.mean([len(changed(text, after)) for text, after in zip(texts, told, strict=True)]) / 50

    assert share == pytest.approx(0.2, abs=0.02)  # 5000 draws: a standard deviation of .0057


def test_a_typo_is_one_neighbour_on_the_keyboard_in_the_same_case() -> None:
    told = {Typos().change("G", 0.0, draw / 20) for draw in range(20)}

    assert told == set("FHTYVB")
    assert Typos().change("a-b", 0.99, 0.0) in {"a-v", "a-n", "a-g", "a-h"}
    assert Typos().change("1999!", 0.5, 0.5) == "1999!"


def test_a_swap_changes_two_letters_that_differ_and_stand_side_by_side() -> None:
    assert {Swaps().change("film", draw, 0.0) for draw in (0.0, 0.4, 0.9)} == {"iflm", "flim", "fiml"}
    assert Swaps().change("aab", 0.0, 0.0) == "aba"
    assert Swaps().change("aa", 0.0, 0.0) == "aa"
    assert Swaps().change("a.b", 0.0, 0.0) == "a.b"


def test_order_keeps_the_words_and_moves_each_that_is_hit() -> None:
    words = [f"w{number}" for number in range(20)]
    (told,) = Order()([" ".join(words)], 1.0, 0)

    assert sorted(told.split()) == sorted(words)
    assert changed(" ".join(words), told) == set(range(20))
    assert Order().spoil(["a", "b", "c"], [1], [(0.0, 0.0)] * 3) == ["a", "b", "c"]
    assert Order().spoil(["a", "b", "c"], [2, 0], [(0.5, 0.0), (0.0, 0.0), (0.1, 0.0)]) == ["c", "b", "a"]


def test_deletions_close_the_gaps_and_keep_the_white_space_of_what_stays() -> None:
    assert Deletions().spoil(["a", "b", "c"], [2, 0], [(0.0, 0.0)] * 3) == ["", "b", ""]
    (told,) = Deletions()(["a\tb  c d e f g h i j k l m n"], 0.5, 1)

    assert "  " not in told.replace("b  c", "")
    assert told == told.strip()


def test_case_is_turned_letter_by_letter() -> None:
    assert Case()(["The FILM, was 3D"], 1.0, 0) == ["tHE film, WAS 3d"]


def test_a_synonym_takes_the_case_and_the_marks_of_its_word() -> None:
    assert [Synonyms().change(word, 0.0, 0.0) for word in ("movie", "Movie,", '"MOVIE"', "movie-like", "xyzzy")] == [
        "film",
        "Film,",
        '"FILM"',
        "movie-like",
        "xyzzy",
    ]


def test_synonyms_are_mutual_plain_lower_case_words() -> None:
    assert len(SYNONYMS) > 150
    for word, others in SYNONYMS.items():
        assert word.isalpha()
        assert word.islower()
        assert word not in others
        assert all(word in SYNONYMS[other] for other in others)
