"""The records of a folder that a page or a figure is made of."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.columns import in_every_column
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record


@dataclass(frozen=True)
class Selection:
    """Records, and what is wrong with the folder's damaged ones, which are left out."""

    records: list[Record]
    damaged: tuple[str, ...]


def selected(results: Path, tasks: Sequence[str] = ()) -> Selection:
    """The records of some tasks.

    Args:
        tasks: globs; a record counts if its task, as it was spelled, fits one. None is all.

    Raises:
        UserError: there are none, or none of such a task.
    """
    store = RecordStore(results, read_only=True)
    records = in_every_column(store.all())
    if not records:
        raise UserError(
            f"there are no records in {results}; make some: pytest suite/ --strategy=frozen --results={results}"
        )
    for pattern in tasks:
        if not fnmatch.filter((record.task for record in records), pattern):
            raise unknown(f"task in the records of {results}", pattern, {record.task for record in records})
    if tasks:
        records = [record for record in records if any(fnmatch.fnmatch(record.task, task) for task in tasks)]
    return Selection(records, tuple(store.damaged.values()))
