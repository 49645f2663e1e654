"""Scores of predictions against values worked by hand."""

import math

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score

from thawbench.errors import DegenerateError, UserError
from thawbench.tasks.classification_scores import chance_levels, class_scores, metrics, number_scores


def test_class_scores_are_those_worked_by_hand() -> None:
    gold = ["a", "a", "a", "b", "b"]
    predicted = ["a", "a", "b", "b", "a"]
    found = class_scores(("accuracy", "macro_f1", "mcc"), gold, predicted)
    # a: precision 2/3, recall 2/3; b: 1/2, 1/2; MCC of the table (2, 1, 1, 1) = (2 * 1 - 1 * 1) / sqrt(3 * 3 * 2 * 2)
    assert found == pytest.approx({"accuracy": 0.6, "macro_f1": (2 / 3 + 1 / 2) / 2, "mcc": 1 / 6})


def test_a_constant_prediction_has_an_mcc_of_zero_and_no_rank_correlation() -> None:
    found = class_scores(("mcc", "spearman"), ["1", "2", "3"], ["2", "2", "2"])
    assert found == {"mcc": 0.0}


def test_classes_that_are_numbers_are_ranked_as_numbers() -> None:
    found = class_scores(("spearman",), ["1", "2", "9", "10"], ["1", "2", "10", "9"])
    # ranks 1 2 3 4 against 1 2 4 3: 1 - 6 * 2 / (4 * 15)
    assert found["spearman"] == pytest.approx(0.8)


def test_the_mean_absolute_error_of_ratings_is_the_one_worked_by_hand() -> None:
    gold, predicted = ["1", "10", "8", "8"], ["3", "9", "8", "1"]
    assert class_scores(("mae",), gold, predicted) == {"mae": (2 + 1 + 0 + 7) / 4}
    # the median of 1, 8, 8 and 10 is 8
    assert chance_levels(("mae",), gold) == {"mae": (7 + 0 + 0 + 2) / 4}
    (metric,) = metrics(("mae",), {"mae": 2.25})
    assert (metric.direction, metric.lower, metric.upper, metric.chance) == ("down", 0.0, None, 2.25)


def test_no_class_is_a_better_constant_rating_than_chance_says() -> None:
    gold = ["1", "1", "4", "5", "9", "10"]
    constants = [class_scores(("mae",), gold, [label] * len(gold))["mae"] for label in gold]
    assert chance_levels(("mae",), gold)["mae"] == pytest.approx(min(constants))


def test_coarse_accuracy_asks_for_the_right_group_alone() -> None:
    groups = {"cat": "animal", "dog": "animal", "oak": "plant"}
    gold, predicted = ["cat", "dog", "oak", "rain"], ["dog", "oak", "oak", "rain"]
    found = class_scores(("accuracy", "coarse_accuracy"), gold, predicted, groups)
    assert found == {"accuracy": 0.5, "coarse_accuracy": 0.75}
    assert chance_levels(("accuracy", "coarse_accuracy"), gold, groups) == {"accuracy": 0.25, "coarse_accuracy": 0.5}
    (metric,) = metrics(("coarse_accuracy",), {"coarse_accuracy": 0.5})
    assert (metric.direction, metric.lower, metric.upper) == ("up", 0.0, 1.0)


@pytest.mark.parametrize("name", ["mae", "spearman"])
def test_a_class_that_is_no_number_is_told_in_one_line(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} reads classes as numbers, and one of them is none .*'good'"):
        class_scores((name,), ["1", "good"], ["good", "1"])


def test_numbers_correlate_as_worked_by_hand() -> None:
    found = number_scores(("spearman", "pearson"), [0.0, 1.0, 2.0], [0.0, 1.0, 5.0])
    assert found["spearman"] == pytest.approx(1.0)
    assert found["pearson"] == pytest.approx(5 / math.sqrt(2 * 14))


def test_constant_numbers_have_no_correlation() -> None:
    with pytest.raises(DegenerateError, match="every predicted score is 2"):
        number_scores(("spearman",), [0.0, 1.0], [2.0, 2.0])


@pytest.mark.parametrize("counts", [(7, 3), (5, 4, 1), (2, 2)])
def test_chance_is_what_the_majority_class_scores(counts: tuple[int, ...]) -> None:
    gold = [str(label) for label, count in enumerate(counts) for _ in range(count)]
    answer = DummyClassifier(strategy="most_frequent").fit(gold, gold).predict(gold)
    levels = chance_levels(("accuracy", "macro_f1", "mcc"), gold)
    assert levels == pytest.approx(class_scores(("accuracy", "macro_f1", "mcc"), gold, list(answer)))
    assert levels["macro_f1"] == pytest.approx(f1_score(gold, answer, average="macro", zero_division=0.0))


def test_the_first_metric_is_the_main_one_and_correlations_may_be_negative() -> None:
    mcc, accuracy = metrics(("mcc", "accuracy"), {"mcc": 0.0, "accuracy": 0.7})
    assert (mcc.main, mcc.lower, mcc.chance) == (True, -1.0, 0.0)
    assert (accuracy.main, accuracy.lower, accuracy.chance) == (False, 0.0, 0.7)
