"""Samples: prefixes of one order a seed, and their dev rows."""

from collections import Counter

from thawbench.tasks.sampling import dev_rows, order


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
