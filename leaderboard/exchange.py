"""Records on their way from one folder to another: packed with their sums, verified before they join others."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from thawbench.errors import UserError
from thawbench.leaderboard.mixture import refuse_mixtures
from thawbench.suite.record_store import RecordStore, published, read_packed, write_packed
from thawbench.suite.records import Record

Differing = Literal["refuse", "keep", "replace"]
"""What becomes of a record that is here already with other content: nothing is taken, mine stays, theirs comes."""
_LISTED = 20


@dataclass(frozen=True)
class Departure:
    """How many records were packed, and what is wrong with the damaged ones, which stay behind."""

    records: int
    damaged: tuple[str, ...]


@dataclass(frozen=True)
class Arrival:
    """How many records came in, were here already, stayed as they were though theirs differ, and were replaced."""

    new: int
    same: int
    kept: int
    replaced: int


def export_records(results: Path, out: Path) -> Departure:
    """Pack the records of a folder into one file, without tracebacks; the same records give the same bytes.

    Raises:
        UserError: there are none, or the file cannot be written.
    """
    store = RecordStore(results, read_only=True)
    records = store.all()
    if not records:
        raise UserError(f"there are no records in {results} to export; name their folder with --results")
    return Departure(write_packed(out, records), tuple(store.damaged.values()))


def import_records(source: Path, results: Path, differing: Differing = "refuse") -> Arrival:
    """Take the records of a packed file into a folder, all of them or, if anything is wrong with them, none.

    They are written one by one: a disk that fills up meanwhile leaves some, each whole, and the same call goes on with
    the rest.

    Raises:
        UserError: the file or one of its records is damaged; records differ from those of the same cell here, and
            `differing` is "refuse"; or the two could not stand on one board: other versions or rows of a task, other
            versions of a strategy, another major of a library. All that is wrong is listed, and nothing is written.
    """
    coming, damaged = read_packed(source)
    if damaged:
        raise UserError(f"{source} is damaged, and nothing of it was taken; ask for it again. {_listed(damaged)}")
    here = {record.key: record for record in RecordStore(results, read_only=True).all()}
    others = {key for key, record in coming.items() if key in here and published(here[key]) != published(record)}
    if others and differing == "refuse":
        raise UserError(
            f"{len(others)} of {len(coming)} records are in {results} already and differ, and nothing was taken: keep "
            f"yours with --differing keep, or take theirs with --differing replace. "
            f"{_listed(_differences(others, here, coming))}"
        )
    taken = {
        key: record for key, record in coming.items() if key not in here or (key in others and differing == "replace")
    }
    refuse_mixtures(list((here | taken).values()))
    store = RecordStore(results)
    for key, record in taken.items():
        if key not in here:
            store.read(key)  # sets a damaged one aside
        store.write(record)
    replaced = len(others) if differing == "replace" else 0
    return Arrival(
        new=len(taken) - replaced,
        same=len(coming) - len(taken) - (len(others) - replaced),
        kept=len(others) - replaced,
        replaced=replaced,
    )


def _differences(keys: set[str], here: Mapping[str, Record], coming: Mapping[str, Record]) -> tuple[str, ...]:
    names = [field.name for field in dataclasses.fields(Record)]
    found = []
    for key in sorted(keys):
        mine, theirs = published(here[key]), published(coming[key])
        fields = [name for name in names if getattr(mine, name) != getattr(theirs, name)]
        found.append(f"{mine.strategy} on {mine.task} ({key[:12]}) in {', '.join(fields)}")
    return tuple(found)


def _listed(lines: tuple[str, ...]) -> str:
    more = f"; … and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return "; ".join(lines[:_LISTED]) + more
