"""Shifts on which every strategy is worse than chance: what a copy of a set gives whose labels are turned round."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.tables import SHIFT
from thawbench.suite.records import Record

_METRIC = "shifted_mcc"
_WORST = -0.1
_LEAST_STRATEGIES = 2


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
    scored = [
        (record, metric.value)
        for record in records
        if record.family == SHIFT and not record.control
        if (metric := record.metric(_METRIC)) is not None and metric.value is not None
    ]
    found = []
    for task, members in sorted(grouped(scored, lambda each: each[0].task).items()):
        runs = grouped(members, lambda each: each[0].strategy)
        means = [fmean(value for _, value in group) for group in runs.values()]
        if len(means) >= _LEAST_STRATEGIES and max(means) < _WORST:
            found.append(TurnedLabels(task, len(means), min(means), max(means)))
    return tuple(found)
