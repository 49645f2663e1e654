"""Which pairs a contrastive objective sees."""

from collections import Counter

import numpy as np
import pytest

from thawbench.contracts import Pair, ScoreTarget
from thawbench.errors import NotApplicableError
from thawbench.strategies.pair_sampling import (
    LABEL_EPOCH,
    PairRows,
    also_genuine,
    drawn_from_classes,
    impostor_weights,
    shuffled,
)


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(left: list[int], right: list[int], impostor: list[float]) -> PairRows:
    return PairRows(np.array(left), np.array(right), np.array(impostor))


def test_entailment_is_genuine_contradiction_an_impostor_and_neutral_says_nothing() -> None:
    pairs = [Pair("a", "b", "entailment"), Pair("c", "d", "neutral"), Pair("e", "f", "contradiction"), Pair("g", "h")]

    kept, weights = impostor_weights(pairs, None)

    assert [pair.a for pair in kept] == ["a", "e", "g"]
    assert weights.tolist() == [0.0, 1.0, 0.0]


def test_a_gold_score_is_a_weight_along_its_range() -> None:
    _, weights = impostor_weights([Pair("a", "b", score=score) for score in (5.0, 1.0, 4.0)], ScoreTarget(1, 5))

    assert weights.tolist() == [0.0, 1.0, 0.25]


def test_scores_without_a_range_are_refused() -> None:
    with pytest.raises(NotApplicableError, match="no range"):
        impostor_weights([Pair("a", "b", score=3.0)], None)


def test_of_scored_pairs_the_top_fifth_of_the_range_is_genuine_enough() -> None:
    pairs = rows([0, 1, 2], [3, 4, 5], [0.0, 0.2, 0.21])

    assert pairs.genuine_enough.left.tolist() == [0, 1]


def test_an_epoch_alternates_the_two_kinds_and_repeats_the_rarer() -> None:
    pairs = rows([0, 1, 2, 3, 4, 5, 6], [0] * 7, [0, 0, 0, 0, 0, 1, 1])

    epoch = shuffled(pairs, draw())

    assert epoch.impostor.tolist() == [0, 1] * 5
    assert sorted(epoch.left[::2]) == [0, 1, 2, 3, 4]
    assert set(Counter(epoch.left[1::2].tolist()).values()) == {2, 3}
    assert not np.array_equal(epoch.left, shuffled(pairs, draw(1)).left)


def test_scored_pairs_and_pairs_of_one_kind_are_only_shuffled() -> None:
    for weights in ([0.0, 0.5, 1.0], [0.0, 0.0, 0.0]):
        assert sorted(shuffled(rows([0, 1, 2], [3, 4, 5], weights), draw()).left) == [0, 1, 2]


def test_pairs_of_labelled_rows_are_what_they_say_and_never_a_row_with_itself() -> None:
    classes = np.array([2, 0, 1, 2, 2, 0, 1, 1, 3])

    epoch = drawn_from_classes(classes, draw())

    assert len(epoch) == LABEL_EPOCH
    assert epoch.impostor.tolist() == [0, 1] * (LABEL_EPOCH // 2)
    assert np.array_equal(classes[epoch.left] != classes[epoch.right], epoch.impostor == 1)
    assert (epoch.left != epoch.right).all()
    genuine, impostor = epoch[::2], epoch[1::2]
    assert set(genuine.left) == set(range(8))  # the only row of its class has no partner
    assert set(impostor.left) == set(range(9))
    seen = set(zip(epoch.left.tolist(), epoch.right.tolist(), strict=True))
    assert seen == {(a, b) for a in range(9) for b in range(9) if a != b}


def test_many_rows_are_all_anchors_of_both_kinds_in_one_epoch() -> None:
    classes = np.arange(3000) % 7

    epoch = drawn_from_classes(classes, draw())

    assert sorted(epoch.left[::2]) == sorted(epoch.left[1::2]) == list(range(3000))


def test_only_genuine_pairs_on_request() -> None:
    assert (drawn_from_classes(np.zeros(4, dtype=np.intp), draw(), genuine_only=True).impostor == 0).all()


def test_what_cannot_be_paired_is_not_applicable() -> None:
    with pytest.raises(NotApplicableError, match="no genuine pair"):
        drawn_from_classes(np.array([0, 1, 2]), draw())
    with pytest.raises(NotApplicableError, match="no impostor pair"):
        drawn_from_classes(np.array([1, 1, 1]), draw())


def test_candidates_as_right_as_the_own_partner_are_found_by_text() -> None:
    pairs = rows([0, 1, 0, 4], [2, 2, 3, 1], [0, 0, 0, 0])  # rows 0 and 1 share a partner, 0 and 2 an anchor

    assert also_genuine(pairs, None).astype(int).tolist() == [
        [1, 1, 1, 0],
        [1, 1, 0, 1],  # the partner of row 3 is this anchor
        [1, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_candidates_as_right_as_the_own_partner_are_found_by_class() -> None:
    classes = np.array([0, 0, 1, 1])

    assert also_genuine(rows([0, 2], [1, 3], [0, 0]), classes).tolist() == [[True, False], [False, True]]
    assert also_genuine(rows([0, 0], [1, 1], [0, 0]), classes).all()
