"""Scores of predicted classes and of predicted numbers, and what answering without reading would score.

The chance level is that of the best constant answer: the test rows' majority class. A run whose final score is at or
under it counts as failed, which a board can tell from the record, as that carries both.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from thawbench.contracts import Metric
from thawbench.errors import DegenerateError

CLASS_METRICS = ("accuracy", "macro_f1", "mcc", "spearman")
SCORE_METRICS = ("spearman", "pearson")


def metrics(names: Sequence[str], chance: Mapping[str, float]) -> tuple[Metric, ...]:
    """The metrics of these names, the first as the main one; `mcc` and correlations reach from -1 to 1."""
    return tuple(
        Metric(
            name,
            lower=0.0 if name in ("accuracy", "macro_f1") else -1.0,
            upper=1.0,
            chance=chance[name],
            main=name == names[0],
        )
        for name in names
    )


def chance_levels(names: Sequence[str], gold: Sequence[str | float]) -> dict[str, float]:
    """What the best constant answer scores.

    With a share p of the majority class among K classes: accuracy p; macro-F1 2p / (1 + p) / K, as the majority's
    precision is p and its recall 1, and all others have F1 0. MCC is 0 by definition; a correlation counts as 0.
    """
    counts = Counter(gold)
    share = max(counts.values()) / len(gold)
    levels = {"accuracy": share, "macro_f1": 2 * share / (1 + share) / len(counts)}
    return {name: levels.get(name, 0.0) for name in names}


def class_scores(names: Sequence[str], gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Scores of classes by name.

    Macro-F1 is the mean over the classes that occur in gold or predicted rows, a class that is never right having 0.
    MCC of a constant prediction is 0 (Gorodkin 2004, as scikit-learn has it). Spearman reads the classes' names as
    numbers, and is left out where it is undefined, for a constant prediction.
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
        elif len(set(predicted)) > 1 and len(set(gold)) > 1:
            found[name] = _correlation(name, [float(value) for value in gold], [float(value) for value in predicted])
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
