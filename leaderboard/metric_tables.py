"""All that is measured on one task, beside the metric that boards rank by: a row a strategy, a column a metric."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.tables import Entry, entry_of
from thawbench.suite.records import MetricValue, Record


@dataclass(frozen=True)
class MetricRow:
    """One strategy, with an entry for each metric."""

    strategy: str
    control: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class MetricTable:
    """One task; the main metric is the first, and the rows are in its order, those without all their scores last.

    Attributes:
        directions: of each metric, `up`, `down` or `none`.
    """

    task: str
    metrics: tuple[str, ...]
    directions: tuple[str, ...]
    rows: tuple[MetricRow, ...]


def metric_tables(records: Sequence[Record]) -> tuple[MetricTable, ...]:
    """One of each task that has a score in two metrics at least, of records of one backbone."""
    tasks = sorted(grouped(records, lambda record: record.task).items())
    tables = [_table(task, members) for task, members in tasks]
    return tuple(table for table in tables if len(table.metrics) > 1)


def _table(task: str, records: Sequence[Record]) -> MetricTable:
    found: dict[str, MetricValue | None] = {}
    for each in (metric for record in records for metric in record.metrics):
        found[each.name] = found.get(each.name) or (None if each.value is None else each)  # in the order of the task's
    metrics = sorted((each for each in found.values() if each is not None), key=lambda each: not each.main)
    strategies = grouped(records, lambda record: record.strategy)
    rows = [
        MetricRow(name, group[0].control, tuple(entry_of(group, _reading(each.name)) for each in metrics))
        for name, group in sorted(strategies.items())
    ]
    up = not metrics or metrics[0].direction != "down"

    def place(row: MetricRow) -> tuple[bool, float]:
        summary = row.entries[0].summary if row.entries else None
        return (summary is None, 0.0 if summary is None else summary.mean * (-1 if up else 1))

    return MetricTable(
        task,
        tuple(each.name for each in metrics),
        tuple(each.direction for each in metrics),
        tuple(sorted(rows, key=place)),
    )


def _reading(name: str) -> Callable[[Record], MetricValue | None]:
    return lambda record: record.metric(name)
