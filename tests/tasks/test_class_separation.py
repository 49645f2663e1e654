"""How far classes lie apart: by hand, by the index of Caliński and Harabasz, and what leaves it as it is."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ortho_group
from sklearn.metrics import calinski_harabasz_score

from thawbench.errors import DegenerateError
from thawbench.tasks.class_separation import chance_ratio, class_separation

DRAWS = np.random.default_rng(3)
CLASSES = tuple("abacabcaab" * 6)
ROWS = DRAWS.standard_normal((60, 5)) + 0.7 * np.array([["abc".index(name)] for name in CLASSES]) + 3


def ratio(rows: NDArray[np.float64]) -> float:
    return class_separation(rows, CLASSES).ratio


def test_it_is_what_a_hand_works_out() -> None:
    # the means are (0, 1), (4, 0) and, of all, (1, 3/4), at squared distances of 17/16 and 153/16
    rows = np.array([[-1.0, 0], [-1, 2], [2, 1], [4, 0]])
    found = class_separation(rows, ("a", "a", "a", "b"))

    assert found.between == pytest.approx((3 * 17 / 16 + 153 / 16) / 4)
    assert found.within == pytest.approx((2 + 2 + 4 + 0) / 4)
    assert found.ratio == pytest.approx(51 / 32)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_it_is_the_index_of_calinski_and_harabasz_but_for_the_degrees_of_freedom(classes: int) -> None:
    uneven = np.minimum(np.arange(60) % (classes + 2), classes - 1)
    names = [f"class {number}" for number in DRAWS.permutation(uneven)]
    rows, kinds = len(ROWS), len(set(names))
    expected = calinski_harabasz_score(ROWS, names) * (kinds - 1) / (rows - kinds)

    assert class_separation(ROWS, names).ratio == pytest.approx(expected, rel=1e-9)


def test_the_two_parts_are_all_of_the_variance() -> None:
    found = class_separation(ROWS, CLASSES)

    assert found.between + found.within == pytest.approx(ROWS.var(axis=0).sum(), rel=1e-12)


def test_turning_moving_and_scaling_the_space_leave_the_ratio_as_it_is() -> None:
    turn = ortho_group.rvs(5, random_state=1)

    assert ratio(7 * ROWS @ turn - 20) == pytest.approx(ratio(ROWS), rel=1e-9)
    assert ratio(ROWS * [9, 1, 1, 1, 1]) != pytest.approx(ratio(ROWS), rel=1e-3)


def test_float32_is_widened_first() -> None:
    narrow = (ROWS + 500).astype(np.float32)

    assert class_separation(narrow, CLASSES) == class_separation(narrow.astype(np.float64), CLASSES)
    assert ratio(narrow.astype(np.float64)) == pytest.approx(ratio(ROWS), rel=1e-3)


def test_labels_at_random_have_the_chance_ratio() -> None:
    found = [class_separation(ROWS, DRAWS.permutation(CLASSES).tolist()) for _ in range(2000)]
    between, within = (np.mean([getattr(each, part) for each in found]) for part in ("between", "within"))

    assert chance_ratio(60, 3) == 2 / 57
    assert between / within == pytest.approx(2 / 57, rel=0.03)


@pytest.mark.parametrize(
    ("rows", "classes", "told"),
    [
        (ROWS[:3], "aaa", "needs two of them, and the 3 rows are all of a"),
        (ROWS[:0], "", "needs two of them, and the 0 rows are none"),
        (np.ones((4, 3)) / 3, "aabb", "the vectors of 4 rows are one and the same"),
        (ROWS[[0, 0, 1, 1]], "aabb", "the vectors of each class are one and the same, so that the ratio has no bound"),
        (ROWS[:2], "ab", "the vectors of each class are one and the same"),
        (np.array([[np.nan], [1], [2]]), "aab", "the vectors of 3 rows are not all finite"),
    ],
)
def test_where_there_is_no_ratio_it_is_told(rows: NDArray[np.float64], classes: str, told: str) -> None:
    with pytest.raises(DegenerateError, match=told):
        class_separation(rows, tuple(classes))
