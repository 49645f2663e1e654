"""Logistic regression whose strength C is chosen by stratified folds or by dev rows, as SentEval chooses it.

The folds are drawn from one fixed seed and hang on the classes alone: the same rows stand in the same fold whatever the
vectors. Of equally good C the smallest is taken, with accuracies rounded to a hundredth of a percent.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 10
_SEED = 1111


def folds(y: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Places of train and test rows, ten times; they hang on the classes alone."""
    from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(FOLDS, shuffle=True, random_state=_SEED).split(np.zeros(len(y)), y)


def chosen_in_folds(strengths: Sequence[float], x: Any, y: NDArray[Any]) -> tuple[float, float]:
    """The C that is best on the mean over ten folds, and that accuracy."""
    parts = list(folds(y))
    means = [
        float(np.mean([fit(strength, x[train], y[train]).score(x[test], y[test]) for train, test in parts]))
        for strength in strengths
    ]
    return _best(strengths, means)


def chosen(strengths: Sequence[float], x: Any, y: NDArray[Any], dev_x: Any, dev_y: NDArray[Any]) -> tuple[float, float]:
    """The C that is best on dev rows, and that accuracy."""
    return _best(strengths, [float(fit(strength, x, y).score(dev_x, dev_y)) for strength in strengths])


def _best(strengths: Sequence[float], scores: Sequence[float]) -> tuple[float, float]:
    rounded = [round(100 * score, 2) for score in scores]
    place = rounded.index(max(rounded))
    return strengths[place], scores[place]


def fit(strength: float, x: Any, y: NDArray[Any]) -> Any:
    """scikit-learn's logistic regression on x (rows, features), dense or CSR, run until it converges."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=5000).fit(x, y)
