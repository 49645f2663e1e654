"""Samples: prefixes of one order a seed, and their dev rows."""

from collections import Counter

import pytest

from thawbench.errors import UserError
from thawbench.tasks.sampling import balanced_order, dev_rows, least, order, parse


def test_an_order_is_a_permutation_that_depends_on_seed_and_name_only() -> None:
    assert sorted(order("nli", 0, 50)) == list(range(50))
    assert order("nli", 0, 50) == order("nli", 0, 50)
    assert order("nli", 0, 50) != order("nli", 1, 50)
    assert order("nli", 0, 50) != order("stsb", 0, 50)


def test_the_order_stays_what_it_was_when_records_were_made() -> None:
    assert order("nli", 0, 8) == [0, 6, 4, 7, 2, 5, 3, 1]


def test_dev_is_a_fifth_shared_out_by_class() -> None:
    strata = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    assert Counter(strata[position] for position in dev_rows(strata)) == {"a": 12, "b": 6, "c": 2}


def test_dev_takes_the_last_rows_of_a_class() -> None:
    assert dev_rows(["a", "b", "a", "b", "a", "b", "a", "b", "a", "b"]) == {8, 9}


def test_dev_has_at_least_one_row_and_leaves_one() -> None:
    assert len(dev_rows(["a", "b"])) == 1
    assert len(dev_rows([0.1, 0.9])) == 1


def test_the_only_row_of_a_class_stays_in_train() -> None:
    strata = ["once", *["often"] * 9]
    assert all(strata[position] == "often" for position in dev_rows(strata))


def test_scores_count_by_fifths_of_their_own_order() -> None:
    scores = [float(value) for value in (9, 1, 8, 2, 7, 3, 6, 4, 5, 0)] * 5
    assert sorted(int(scores[position]) // 2 for position in dev_rows(scores)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_every_prefix_of_a_balanced_order_is_as_balanced_as_its_classes_allow() -> None:
    classes = ["a"] * 50 + ["b"] * 7 + ["c"] * 20
    taken = balanced_order("set", 0, classes)
    assert sorted(taken) == list(range(77))
    for n in range(1, 78):
        counts = Counter(classes[row] for row in taken[:n])
        left = {label: classes.count(label) - counts[label] for label in "abc"}
        for label, room in left.items():  # a class may lag by more than one only when it is used up
            assert counts[label] >= max(counts.values()) - 1 or room == 0


def test_a_balanced_order_depends_on_seed_and_name_and_draws_the_classes_anew_each_round() -> None:
    classes = ["a", "b", "c", "d"] * 30
    first = balanced_order("set", 0, classes)
    assert first == balanced_order("set", 0, classes)
    assert first != balanced_order("set", 1, classes)
    assert first != balanced_order("other", 0, classes)
    rounds = {tuple(classes[row] for row in first[start : start + 4]) for start in range(0, 120, 4)}
    assert len(rounds) > 10


def test_one_row_of_each_class_stays_in_train_though_dev_gets_less_than_its_fifth() -> None:
    strata = [f"class {number}" for number in range(77)] + ["class 0", "class 1", "class 2"]
    assert dev_rows(strata) == {77, 78, 79}


def test_what_rare_classes_cannot_give_to_dev_the_common_ones_give() -> None:
    strata = ["common"] * 50 + [f"rare {number}" for number in range(50)]
    held = dev_rows(strata)
    assert held == set(range(30, 50))


def test_a_sampled_name_is_taken_apart() -> None:
    assert parse("sst2@100") == ("sst2", 100)
    assert parse("sst2") == ("sst2", None)
    with pytest.raises(UserError, match="after @ stands a number"):
        parse("sst2@0")


def test_the_least_sample_holds_a_train_row_of_each_class_and_one_for_dev() -> None:
    assert (least(0), least(2), least(77)) == (2, 3, 78)
