"""Columns of one task on several train sets, and what no train set moves, which belongs into each of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thawbench.leaderboard.mixture import grouped, one_line
from thawbench.names import parse_task
from thawbench.suite.records import Record


def without_train(task: str) -> str:
    """A task's name but for the train set that is asked for: `ir/SciFact` of `ir/SciFact:train=nli`."""
    name = parse_task(task)
    return str(replace(name, options=tuple(pair for pair in name.options if pair[0] != "train")))


def in_every_column(records: Sequence[Record]) -> list[Record]:
    """The records, and those of cells without a train set once more under each other spelling of their task.

    `frozen` is one cell, and one record, of `ir/SciFact` and of `ir/SciFact:train=nli`: without this it would lack a
    number in all columns but one, and be ranked in none.
    """
    spellings = grouped(dict.fromkeys(record.task for record in records), without_train)
    several = {task: plain for plain, tasks in spellings.items() if len(tasks) > 1 for task in tasks}
    spelled = [record for record in records if record.task in several]  # most often none
    places = [(one_line(record.cell["adaptation"]["backbone"]), several[record.task]) for record in spelled]
    columns: dict[tuple[bytes, str], dict[str, None]] = {}
    for record, place in zip(spelled, places, strict=True):
        columns.setdefault(place, {})[record.task] = None
    present = {(record.key, record.task) for record in spelled}
    found = list(records)
    for record, place in zip(spelled, places, strict=True):
        others = columns[place] if _learns_from_nothing(record) else ()
        found += [replace(record, task=task) for task in others if (record.key, task) not in present]
    return found


def different(records: Iterable[Record]) -> list[Record]:
    """Each cell once, as of one that stands in several columns."""
    return list({record.key: record for record in records}.values())


def _learns_from_nothing(record: Record) -> bool:
    return not any(step.get("train") for step in record.cell["adaptation"]["steps"])
