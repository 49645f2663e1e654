"""What vectors tell of a set's classes: a read-out that a task fits by itself, whatever heads came with the vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thawbench.contracts import Input, Labelled, TrainSet
from thawbench.tasks.input_vectors import Encodes, product, side_vectors, stacked
from thawbench.tasks.similarity import normalised

_STRENGTHS = (1.0, 10.0, 100.0)


def fresh_predictions(encoder: Encodes, data: TrainSet, inputs: Sequence[Input]) -> list[str]:
    """The inputs' classes, by a logistic regression on the encoder's vectors of `data`.

    The protocol is that of the standard read-out: vectors of length 1, pairs as [u; v; |u-v|; u*v], an L2 penalty with
    C from {1, 10, 100} as dev likes it (the first of equals), then a fit on train and dev rows.

    Args:
        data: its target is classes, each of which has a train row.

    Raises:
        NotApplicableError: the encoder makes no vectors.
        DegenerateError: some are not finite.
    """
    from sklearn.linear_model import LogisticRegression

    def fit(strength: float, features: Any, rows: Sequence[Labelled]) -> Any:
        return LogisticRegression(C=strength, max_iter=5000).fit(features, [row.label for row in rows])

    train, dev = data.labelled, data.dev.labelled
    train_x, dev_x = (_features(encoder, [row.input for row in rows]) for rows in (train, dev))
    dev_y = [row.label for row in dev]
    strength = max(_STRENGTHS, key=lambda each: fit(each, train_x, train).score(dev_x, dev_y))
    model = fit(strength, stacked([train_x, dev_x], axis=0), (*train, *dev))
    return [str(label) for label in model.predict(_features(encoder, inputs))]


def _features(encoder: Encodes, inputs: Sequence[Input]) -> Any:
    """(inputs, dim) of texts or (inputs, 4 dim) of pairs, float64, dense or CSR."""
    first, *others = (normalised(side.astype(np.float64)) for side in side_vectors(encoder, inputs))
    if not others:
        return first
    other = others[0]
    return stacked([first, other, abs(first - other), product(first, other)], axis=1)
