"""From records to tables: a pure function, the same for the same records in any order.

Results of different backbones (weights, pooling, layer, length, precision) stand in sections of their own. Within a
section nothing is averaged but seeds, and whatever else differs between the cells of two records of one entry is
refused. The device and its threads are not of a cell; a section says which its records are from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from thawbench.errors import UserError
from thawbench.leaderboard.columns import different
from thawbench.leaderboard.costs import CostRow, costs_of
from thawbench.leaderboard.mixture import grouped, refuse_mixtures
from thawbench.leaderboard.overall import Overall, overall_of
from thawbench.leaderboard.references import Reference
from thawbench.leaderboard.relevance import Relevance, relevance_of
from thawbench.leaderboard.tables import Table, tables_of
from thawbench.leaderboard.turned_labels import TurnedLabels, turned_labels
from thawbench.suite.record_store import uncollected
from thawbench.suite.records import Record


@dataclass(frozen=True)
class Problem:
    """A cell without a score, and why."""

    strategy: str
    task: str
    seeds: str
    status: str
    reason: str
    key: str


@dataclass(frozen=True)
class Section:
    """All that was measured with one backbone."""

    backbone: str
    weights: str
    details: tuple[tuple[str, str], ...]
    overall: Overall | None
    tables: tuple[Table, ...]
    problems: tuple[Problem, ...]
    costs: tuple[CostRow, ...]
    turned: tuple[TurnedLabels, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Board:
    """Everything that is published, and the number of records behind it."""

    records: int
    sections: tuple[Section, ...]
    relevance: Relevance | None


@uncollected()
def build_board(records: Sequence[Record], references: Sequence[Reference] = ()) -> Board:
    """A board out of records, in any order.

    Args:
        references: published scores to stand beside them.

    Raises:
        UserError: there are none, or they mix versions of one task, family, train set, strategy or library.
    """
    if not records:
        raise UserError("there are no records to show; make some: pytest suite/ --strategy=frozen")
    ordered = sorted(records, key=lambda record: record.key)
    groups = refuse_mixtures(ordered)
    sections = sorted((_section(group, references) for group in groups), key=lambda section: section.backbone)
    relevance = relevance_of([(section.backbone, section.tables) for section in sections])
    return Board(len(different(ordered)), tuple(sections), relevance)


def _section(records: Sequence[Record], references: Sequence[Reference]) -> Section:
    families = grouped(records, lambda record: record.family)
    tables = tuple(table for family in sorted(families) for table in tables_of(family, families[family], references))
    backbone = records[0].cell["adaptation"]["backbone"]
    details = {name: value for name, value in backbone.items() if name not in ("weights", "tokenizer")}
    details["device"] = _listed(record.environment.device for record in records)
    details["processor"] = _listed(record.environment.cpu for record in records)
    details["threads"] = _listed(record.environment.threads for record in records)
    return Section(
        backbone=_listed(record.backbone for record in records),
        weights=str(backbone["weights"])[:12],
        details=tuple((name.replace("_", " "), str(value)) for name, value in details.items()),
        overall=overall_of(tables),
        tables=tables,
        problems=tuple(map(_problem, sorted((each for each in records if each.status != "ok"), key=_place))),
        costs=costs_of(different(records)),
        turned=turned_labels(records),
        records=tuple(records),
    )


def _problem(record: Record) -> Problem:
    reason = record.reason if record.failure is None else f"{record.failure.type}: {record.failure.message}"
    lines = reason.strip().splitlines() or [""]
    return Problem(record.strategy, record.task, _seeds(record), record.status.replace("_", " "), lines[0], record.key)


def _place(record: Record) -> tuple[str, str, str, str]:
    return (record.task, record.strategy, _seeds(record), record.key)


def _seeds(record: Record) -> str:
    drawn = {stream: getattr(record.seeds, stream) for stream in sorted(record.draws)}
    return ",".join(f"{stream}={seed}" for stream, seed in drawn.items())


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in sorted(set(values)))
