"""Letters: a pair shares one if and only if it is not told apart."""

import random
from itertools import combinations

import pytest

from thawbench.leaderboard.comparison import Comparison
from thawbench.leaderboard.tie_groups import best_with_ties, groups_in, tie_groups


def compared(names: str, apart: set[str]) -> list[Comparison]:
    """All pairs of these one-letter names; `apart` holds those that differ, such as {"pq"}."""
    return [
        Comparison(a, b, 0.1, None, 1.0, p, p, 3, None)
        for a, b in combinations(names, 2)
        for p in [0.01 if {a + b, b + a} & apart else 0.5]
    ]


def test_the_middle_one_belongs_to_both_ends() -> None:
    assert tie_groups("pqr", compared("pqr", {"pr"})) == ("a", "ab", "b")


def test_all_alike_share_one_letter_and_all_apart_have_one_each() -> None:
    assert tie_groups("pqr", compared("pqr", set())) == ("a", "a", "a")
    assert tie_groups("pqr", compared("pqr", {"pq", "pr", "qr"})) == ("a", "b", "c")


def test_letters_begin_with_the_best() -> None:
    assert tie_groups("rqp", compared("pqr", {"pr"})) == ("a", "ab", "b")


def test_who_was_compared_with_nobody_has_no_letter() -> None:
    assert tie_groups("pqx", compared("pq", {"pq"})) == ("a", "b", "")
    assert tie_groups("p", []) == ("",)


def test_two_that_have_no_seeds_in_common_share_no_letter() -> None:
    some = [each for each in compared("pqr", set()) if {each.first, each.second} != {"p", "q"}]
    assert tie_groups("pqr", some) == ("a", "b", "ab")


@pytest.mark.parametrize("seed", range(30))
def test_letters_say_of_every_pair_what_the_comparison_says(seed: int) -> None:
    draw = random.Random(seed)
    names = "pqrstuv"
    apart = {a + b for a, b in combinations(names, 2) if draw.random() < 0.4}
    letters = dict(zip(names, tie_groups(names, compared(names, apart)), strict=True))
    for a, b in combinations(names, 2):
        assert bool(set(letters[a]) & set(letters[b])) == (a + b not in apart), (a, b)


def test_more_groups_than_letters_become_numbers() -> None:
    names = [f"s{number}" for number in range(30)]
    apart = [Comparison(a, b, 0.1, None, 1.0, 0.01, 0.01, 3, None) for a, b in combinations(names, 2)]
    assert tie_groups(names, apart) == tuple(str(number + 1) for number in range(30))


def test_the_best_brings_along_whom_it_was_compared_with_and_not_told_apart_from() -> None:
    alike = [(each.first, each.second) for each in compared("pqr", {"pr"}) if not each.apart]
    assert best_with_ties({"p"}, alike) == {"p", "q"}
    assert best_with_ties({"x"}, alike) == {"x"}


def test_a_group_with_a_number_of_two_digits_is_one_group() -> None:
    assert groups_in("27") == ["27"]
    assert groups_in("2,27") == ["2", "27"]
    assert groups_in("ab") == ["a", "b"]
    assert groups_in("") == []
