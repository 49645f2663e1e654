"""Columns of one task on several train sets, and what no train set moves, which belongs into each of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thawbench.leaderboard.mixture import one_line
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
    if not any(":" in record.task for record in records):
        return list(records)
    columns: dict[tuple[bytes, str], dict[str, None]] = {}
    for record in records:
        columns.setdefault(_place(record), {})[record.task] = None
    present = {(record.key, record.task) for record in records}
    found = list(records)
    for record in records:
        others = columns[_place(record)] if _learns_from_nothing(record) else ()
        found += [replace(record, task=task) for task in others if (record.key, task) not in present]
    return found


def different(records: Iterable[Record]) -> list[Record]:
    """Each cell once, as of one that stands in several columns."""
    return list({record.key: record for record in records}.values())


def _place(record: Record) -> tuple[bytes, str]:
    return one_line(record.cell["adaptation"]["backbone"]), without_train(record.task)


def _learns_from_nothing(record: Record) -> bool:
    return not any(step.get("train") for step in record.cell["adaptation"]["steps"])
