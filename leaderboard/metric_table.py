"""All that is measured on one task, beside the metric that boards rank by: a row a strategy, a column a metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import methodcaller

from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.tables import Column, Row, entry_of, standing
from thawbench.suite.records import MetricValue, Record

_SHARES = ("mae", "relative_drop")
"""Times 100 though they have no bound: steps between ratings, and a drop over the score at home."""
_WIDEST = 2.0
"""No share or correlation, and no difference of two, is greater."""


@dataclass(frozen=True)
class MetricTable:
    """One task; the main metric is the first, and the rows are in its order, those without all their scores last.

    Attributes:
        scales: what each column's values are multiplied by to be shown: 100, and 1 of counts, layers and losses.
    """

    columns: tuple[Column, ...]
    scales: tuple[float, ...]
    rows: tuple[Row, ...]


def metric_table(records: Sequence[Record]) -> MetricTable:
    """Of the records of one task and one backbone; a metric that nobody has a score in is left out."""
    scored = {metric.name for record in records for metric in record.metrics if metric.value is not None}
    known = {metric.name: metric for record in records for metric in record.metrics}  # in the order of the task's
    metrics = sorted((known[name] for name in known if name in scored), key=lambda metric: not metric.main)
    rows = []
    for name, group in sorted(grouped(records, lambda record: record.strategy).items()):
        entries = tuple(entry_of(group, methodcaller("metric", each.name)) for each in metrics)
        rows.append(Row(name, group[0].control, entries))
    up = not metrics or metrics[0].direction != "down"
    rows.sort(key=lambda row: standing(row.entries[0] if row.entries else None, up=up))
    columns = (Column(records[0].task, each.name, each.direction, ranked=False) for each in metrics)
    return MetricTable(tuple(columns), tuple(map(_scale, metrics)), tuple(rows))


def _scale(metric: MetricValue) -> float:
    bounded = all(end is not None and abs(end) <= _WIDEST for end in (metric.lower, metric.upper))
    return 100.0 if bounded or metric.name in _SHARES else 1.0
