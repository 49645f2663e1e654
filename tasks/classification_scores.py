"""Scores of predicted classes and of predicted numbers, and what answering without reading would score.

The chance level is that of the best constant answer: the test rows' majority class. A run whose final score is at or
under it counts as failed, which a board can tell from the record, as that carries both.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from thawbench.contracts import Json, Metric
from thawbench.errors import DegenerateError, UserError

CLASS_METRICS = ("accuracy", "macro_f1", "mcc", "spearman", "mae", "coarse_accuracy")
SCORE_METRICS = ("spearman", "pearson")
BESIDE = ("mae", "coarse_accuracy")
"""Metrics that can stand beside a main one, and not for it: less is better, or most of the answer is left out."""

_ONE_LEVEL: Mapping[str, str] = MappingProxyType({})


def metrics(names: Sequence[str], chance: Mapping[str, float]) -> tuple[Metric, ...]:
    """The metrics of these names, the first as the main one.

    `mcc` and correlations reach from -1 to 1; `mae` is counted in classes, from 0, and the less the better.
    """
    return tuple(
        Metric(
            name,
            "down" if name == "mae" else "up",
            lower=-1.0 if name in ("mcc", "spearman", "pearson") else 0.0,
            upper=None if name == "mae" else 1.0,
            chance=chance[name],
            main=name == names[0],
        )
        for name in names
    )


def chance_levels(
    names: Sequence[str], gold: Sequence[str | float], groups: Mapping[str, str] = _ONE_LEVEL
) -> dict[str, float]:
    """What the best constant answer scores, by each metric for itself.

    With a share p of the majority class among K classes: accuracy p; macro-F1 2p / (1 + p) / K, as the majority's
    precision is p and its recall 1, and all others have F1 0. MCC is 0 by definition; a correlation counts as 0.
    Coarse accuracy is the share of the largest group; the mean absolute error is that of the median class.

    Raises:
        UserError: see `class_scores`.
    """
    counts = Counter(gold)
    share = max(counts.values()) / len(gold)
    levels = {"accuracy": share, "macro_f1": 2 * share / (1 + share) / len(counts)}
    if "coarse_accuracy" in names:
        coarse = Counter(groups.get(str(label), label) for label in gold)
        levels["coarse_accuracy"] = max(coarse.values()) / len(gold)
    if "mae" in names:
        numbers = _numbers("mae", gold)
        levels["mae"] = float(np.mean(np.abs(np.array(numbers) - np.median(numbers))))
    return {name: levels.get(name, 0.0) for name in names}


def has_levels(chance: Json, names: Sequence[str]) -> bool:
    """Whether chance levels out of the manifest are there for these metrics; it may be of a set that had others."""
    return isinstance(chance, Mapping) and all(name in chance for name in names)


def class_scores(
    names: Sequence[str], gold: Sequence[str], predicted: Sequence[str], groups: Mapping[str, str] = _ONE_LEVEL
) -> dict[str, float]:
    """Scores of classes by name.

    Macro-F1 is the mean over the classes that occur in gold or predicted rows, a class that is never right having 0.
    MCC of a constant prediction is 0 (Gorodkin 2004, as scikit-learn has it). Coarse accuracy asks only for a class of
    the right group. Spearman and the mean absolute error read the classes' names as numbers; Spearman is left out where
    it is undefined, for a constant prediction.

    Args:
        groups: each class's group; a class without one is a group of its own.

    Raises:
        UserError: a class that should be a number is none.
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    found: dict[str, float] = {}
    for name in names:
        if name == "accuracy":
            found[name] = float(accuracy_score(gold, predicted))
        elif name == "macro_f1":
            found[name] = float(f1_score(gold, predicted, average="macro", zero_division=0.0))
        elif name == "mcc":
            found[name] = float(matthews_corrcoef(gold, predicted))
        elif name == "coarse_accuracy":
            coarse, said = ([groups.get(label, label) for label in labels] for labels in (gold, predicted))
            found[name] = float(accuracy_score(coarse, said))
        elif name == "mae":
            found[name] = float(np.mean(np.abs(np.subtract(_numbers(name, gold), _numbers(name, predicted)))))
        elif len(set(predicted)) > 1 and len(set(gold)) > 1:
            found[name] = _correlation(name, _numbers(name, gold), _numbers(name, predicted))
    return found


def number_scores(names: Sequence[str], gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Rank and linear correlation of numbers.

    Raises:
        DegenerateError: all predictions are the same, so that no correlation is defined.
    """
    if np.ptp(predicted) == 0:
        raise DegenerateError(f"every predicted score is {predicted[0]:g}: no correlation is defined")
    return {name: _correlation(name, gold, predicted) for name in names}


def _correlation(name: str, gold: Sequence[float], predicted: Sequence[float]) -> float:
    from scipy import stats

    correlate = stats.spearmanr if name == "spearman" else stats.pearsonr
    return float(correlate(gold, predicted).statistic)


def _numbers(name: str, labels: Sequence[str | float]) -> list[float]:
    try:
        return [float(label) for label in labels]
    except ValueError as error:
        raise UserError(
            f"{name} reads classes as numbers, and one of them is none ({error}); take it out of metrics"
        ) from None
