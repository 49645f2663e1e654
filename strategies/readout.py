"""The standard read-out: what classifies or scores where a strategy makes vectors and no head of its own.

L2-regularised logistic regression (ridge regression for scores) on L2-normalised vectors, pairs as [u; v; |u-v|; u*v].
C is the one of {1, 10, 100} with the best dev score, the smallest of equals; for ridge, alpha = 1 / C. With C chosen,
the weights are fitted once more on all n rows, dev's fifth included: a convex fit has nothing left for dev to stop, and
it costs the baseline of every board two points at n = 20 to leave these rows out (sst2, all-MiniLM-L6-v2, 10 samples:
.596 without them, .620 with them). What is trained by steps cannot do so, as dev chooses its moment.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression, Ridge

from thawbench.contracts import (
    Adapted,
    ClassTarget,
    Cost,
    FloatArray,
    Input,
    Json,
    Labelled,
    ScoreTarget,
    State,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, Head
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.pair_features import item_features

STRENGTHS = (1.0, 10.0, 100.0)
"""The values of C that dev chooses from."""

ABSENT_LOGIT = -1e4
"""The logit of a class without a train row: finite, and below every other."""


@dataclass(frozen=True)
class LinearReadout:
    """logits = x W' + b on L2-normalised features x.

    Attributes:
        weight: (classes, features), or (1, features) for a score; rows in the order of the target's classes.
        bias: (classes,) or (1,).
        cost: what fitting it took.
    """

    target: Target
    weight: FloatArray
    bias: FloatArray
    cost: Cost = field(default_factory=Cost)

    def predict(self, adapted: Adapted, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes) logits, or (inputs, 1) scores."""
        if not len(inputs):
            return np.zeros((0, len(self.bias)), np.float32)
        features = item_features(adapted, inputs)
        if features.shape[1] != self.weight.shape[1]:
            raise NotApplicableError(
                f"the read-out was fitted on {self.weight.shape[1]} features and got {features.shape[1]}: "
                "a later step changed the width of the vectors, or pairs were put to a head for texts"
            )
        logits: FloatArray = np.asarray(features @ self.weight.T + self.bias, dtype=np.float32)
        return logits

    @property
    def state(self) -> State:
        """Enough for `from_state`."""
        return State({"weight": self.weight, "bias": self.bias}, {"target": target_to_json(self.target)}, self.cost)

    @classmethod
    def from_state(cls, state: State) -> "LinearReadout":
        """What `state` was taken from."""
        target = target_from_json(state.values["target"])
        return cls(target, state.tensors["weight"], state.tensors["bias"], state.cost)


def with_head(adapted: AdaptedEncoder, name: str, head: Head) -> AdaptedEncoder:
    """The same encoder with one head more."""
    return replace(adapted, head_models={**adapted.head_models, name: head})


def learn_readout(adapted: Adapted, data: TrainSet, *, refit: bool = True) -> LinearReadout:
    """Fit one weight matrix per C on the train rows, and with the C that dev likes best one on train and dev rows.

    A class without a row gets `ABSENT_LOGIT`.

    Args:
        refit: False leaves it at the train rows, for a start that dev has yet to judge.

    Raises:
        NotApplicableError: the set has no labelled rows.
    """
    target = data.target
    if not data.labelled or target is None:
        raise NotApplicableError(f"{data.name} has no labelled rows to fit a read-out on")
    started = time.perf_counter()
    with metered() as meter:
        train_x = item_features(adapted, [row.input for row in data.labelled])
        dev = data.dev.labelled
        dev_x = item_features(adapted, [row.input for row in dev]) if dev else None
    train_y, dev_y = gold(data.labelled, target), gold(dev, target)
    found = []
    for strength in STRENGTHS if dev else STRENGTHS[:1]:
        weight, bias = _fit(train_x, train_y, strength, target)
        score = 0.0 if dev_x is None else score_of(dev_x @ weight.T + bias, dev_y, target)
        found.append((score, strength, weight, bias))
    score, strength, weight, bias = max(found, key=lambda each: each[0])  # the first of equals
    if refit and dev_x is not None:
        every_x = sp.vstack([train_x, dev_x]) if sp.issparse(train_x) else np.concatenate([train_x, dev_x])
        weight, bias = _fit(every_x, np.concatenate([train_y, dev_y]), strength, target)
    cost = Cost(
        fit_s=time.perf_counter() - started - meter.spent + meter.seconds,
        trainable_parameters=weight.size + bias.size,
        total_parameters=weight.size + bias.size,
        dev_score=score if dev else None,
    )
    return LinearReadout(target, weight, bias, cost)


def gold(rows: Sequence[Labelled], target: Target) -> NDArray[Any]:
    """The rows' classes as places in the target's order, or their scores."""
    if isinstance(target, ScoreTarget):
        scores = [row.score for row in rows]
        if None in scores:
            raise ValueError("a row without a score in a set of scores")
        return np.array(scores, dtype=np.float64)
    place = {name: index for index, name in enumerate(target.classes)}
    return np.array([place[row.label or ""] for row in rows], dtype=np.intp)


def score_of(predicted: NDArray[Any], truth: NDArray[Any], target: Target) -> float:
    """How dev judges a prediction: accuracy, or Spearman's rank correlation (0 where it is not defined)."""
    if isinstance(target, ClassTarget):
        return float(np.mean(predicted.argmax(axis=1) == truth))
    column = np.asarray(predicted).ravel()
    if len(truth) < 2 or np.ptp(column) == 0 or np.ptp(truth) == 0:
        return 0.0
    return float(spearmanr(column, truth).statistic)


def _fit(x: Any, y: NDArray[Any], strength: float, target: Target) -> tuple[FloatArray, FloatArray]:
    x = x.astype(np.float64)
    return _classes(x, y, strength, target) if isinstance(target, ClassTarget) else _scores(x, y, strength)


def _classes(x: Any, y: NDArray[Any], strength: float, target: ClassTarget) -> tuple[FloatArray, FloatArray]:
    present = np.unique(y)  # sorted, as scikit-learn sorts its classes_
    weight = np.zeros((len(target.classes), x.shape[1]), np.float32)
    bias = np.full(len(target.classes), ABSENT_LOGIT, np.float32)
    bias[present] = 0.0
    if len(present) == 1:
        return weight, bias
    model = LogisticRegression(C=strength, max_iter=5000).fit(x, y)
    coefficients, intercept = model.coef_, model.intercept_
    if len(present) == 2:  # scikit-learn keeps one row, the log-odds of the second class
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercept = np.concatenate([-intercept, intercept]) / 2
    weight[present], bias[present] = coefficients, intercept
    return weight, bias


def _scores(x: Any, y: NDArray[Any], strength: float) -> tuple[FloatArray, FloatArray]:
    # Cholesky where it can (dense), conjugate gradients from zero where it must (CSR): neither draws a number
    model = Ridge(alpha=1 / strength, solver="sparse_cg" if sp.issparse(x) else "cholesky", tol=1e-6).fit(x, y)
    return model.coef_.reshape(1, -1).astype(np.float32), np.atleast_1d(model.intercept_).astype(np.float32)


def target_to_json(target: Target) -> Json:
    """A target as plain JSON."""
    if isinstance(target, ClassTarget):
        return {"classes": list(target.classes)}
    return {"low": target.low, "high": target.high}


def target_from_json(value: Json) -> Target:
    """What `target_to_json` wrote.

    Raises:
        ValueError: it was something else.
    """
    match value:
        case {"classes": [*classes]}:
            return ClassTarget(tuple(str(name) for name in classes))
        case {"low": float() | int() as low, "high": float() | int() as high}:
            return ScoreTarget(float(low), float(high))
    raise ValueError(f"no target: {value!r:.80}")
