"""The control that looks at no text."""

from typing import Any

import numpy as np
import pytest

from thawbench.contracts import (
    Budget,
    ClassTarget,
    Labelled,
    Provides,
    Rows,
    ScoreTarget,
    Seeds,
    Strategy,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.majority import Majority
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.readout import ABSENT_LOGIT

START = AdaptedEncoder(RandomSource(0, 4), has_layers=True)


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(rows: tuple[Labelled, ...], target: Target | None, dev: tuple[Labelled, ...] = ()) -> AdaptedEncoder:
    data = TrainSet("set", 1, "f", target, labelled=rows, dev=Rows(labelled=dev))
    return Majority().fit(START, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt)


def labelled(*labels: str) -> tuple[Labelled, ...]:
    return tuple(Labelled(f"text {place}", label=label) for place, label in enumerate(labels))


def test_logits_are_log_frequencies_in_the_order_of_the_classes() -> None:
    adapted = fit(labelled("b", "c", "b", "b"), ClassTarget(("c", "b", "a")), dev=labelled("b", "c"))
    logits = adapted.predict(["x", ("y", "z")], "set")

    assert np.allclose(logits, [[np.log(0.25), np.log(0.75), ABSENT_LOGIT]] * 2)
    assert adapted.provides == {Provides.CLASSES}
    assert adapted.state.cost.dev_score == 0.5


def test_the_first_of_equally_frequent_classes_wins() -> None:
    logits = fit(labelled("a", "b"), ClassTarget(("b", "a"))).predict(["x"], "set")

    assert logits.argmax() == 0


def test_a_score_is_the_mean_of_the_train_rows() -> None:
    rows = (Labelled("x", score=1.0), Labelled("y", score=4.0))

    assert fit(rows, ScoreTarget(0, 5)).predict(["z"], "set").tolist() == [[2.5]]


def test_it_makes_no_vectors_and_restores_the_same_head() -> None:
    adapted = fit(labelled("a", "b", "b"), ClassTarget(("a", "b")))
    restored = Majority().restore(START, adapted.state)

    assert np.array_equal(restored.predict(["x"], "set"), adapted.predict(["x"], "set"))
    with pytest.raises(NotApplicableError, match="makes no vectors"):
        adapted.encode(["x"])


def test_a_set_without_labels_is_not_for_it() -> None:
    with pytest.raises(NotApplicableError, match="no labelled rows"):
        fit((), None)
