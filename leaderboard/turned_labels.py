"""Shifts on which every strategy is worse than chance: what a copy of a set gives whose labels are turned round."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from thawbench.leaderboard.mixture import grouped
from thawbench.suite.records import Record

FAMILY, METRIC = "shift", "shifted_mcc"
WORST = -0.1
LEAST_STRATEGIES = 2


@dataclass(frozen=True)
class TurnedLabels:
    """One task and the Matthews correlations there, at least and at most, of means over seeds; 0 is chance."""

    task: str
    strategies: int
    least: float
    most: float


def turned_labels(records: Sequence[Record]) -> tuple[TurnedLabels, ...]:
    """The shifts where all strategies that are no controls, two or more, correlate with the labels below -0.1.

    What was learnt may well be worth nothing elsewhere, which is 0. That all of them know the classes apart and name
    each by the other's name is more than bad luck: the test set may name its labels the other way.
    """
    found = []
    shifts = [record for record in records if record.family == FAMILY and not record.control]
    for task, members in sorted(grouped(shifts, lambda record: record.task).items()):
        runs: dict[str, list[float]] = {}
        for record in members:
            metric = record.metric(METRIC)
            if metric is not None and metric.value is not None:
                runs.setdefault(record.strategy, []).append(metric.value)
        means = [fmean(values) for values in runs.values()]
        if len(means) >= LEAST_STRATEGIES and max(means) < WORST:
            found.append(TurnedLabels(task, len(means), min(means), max(means)))
    return tuple(found)
