"""One set at its sizes, in domain or on another set: a row a strategy, and from which n on it is ahead of freezing."""

from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.overtaking import Overtaking
from thawbench.leaderboard.size_panels import SizePanel
from thawbench.leaderboard.tables import Row, entry_of, standing
from thawbench.suite.records import MetricValue, Record


@dataclass(frozen=True)
class SizeTable:
    """Rows by their score at the greatest n, those without one last.

    Attributes:
        overtakings: of a row over the frozen encoder, None where too few sizes and seeds are shared.
    """

    sizes: tuple[int, ...]
    rows: tuple[Row, ...]
    overtakings: tuple[Overtaking | None, ...]


def size_table(records: Sequence[Record], panel: SizePanel) -> SizeTable:
    """What the panel draws, as a table; of one backbone's records."""
    tasks = [panel.task(n) for n in panel.sizes]

    def choose(record: Record) -> MetricValue | None:
        return record.metric("shifted") if panel.other else record.main

    cells = grouped([each for each in records if each.task in tasks], lambda record: (record.strategy, record.task))
    rows = []
    for strategy, control in sorted({(name, group[0].control) for (name, _), group in cells.items()}):
        groups = [cells.get((strategy, task)) for task in tasks]
        entries = tuple(None if group is None else entry_of(group, choose) for group in groups)
        rows.append(Row(strategy, control, entries))
    rows.sort(key=lambda row: [standing(entry, up=panel.up) for entry in reversed(row.entries)])
    found = {each.first: each for each in panel.overtakings}
    return SizeTable(panel.sizes, tuple(rows), tuple(found.get(row.strategy) for row in rows))
