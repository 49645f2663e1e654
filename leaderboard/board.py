"""From records to tables: a pure function, the same for the same records in any order.

Results of different backbones (weights, pooling, layer, length, precision) stand in sections of their own. Within a
section nothing is averaged but seeds, and whatever else differs between two records of one entry is refused.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thawbench.errors import UserError
from thawbench.leaderboard.mixture import grouped, refuse_mixed_strategies, refuse_mixed_tasks
from thawbench.leaderboard.stability import Stability, stability_of
from thawbench.leaderboard.statistics import Summary, summarise
from thawbench.suite.records import MetricValue, Record, canonical_json

COSINE_SPEARMAN = "cosine_spearman"
FEWSHOT = "fewshot"


@dataclass(frozen=True)
class Entry:
    """One strategy on one task: a summary if every seed is ok, otherwise what became of the seeds, in words."""

    summary: Summary | None
    outcome: str


@dataclass(frozen=True)
class Row:
    """One strategy over the columns of a table; None where there is no record.

    `mean` and `rank` are None where the row is incomplete or the table is not ranked, `rank` also of a control.
    """

    strategy: str
    control: bool
    entries: tuple[Entry | None, ...]
    mean: float | None = None
    rank: int | None = None

    @property
    def done(self) -> int:
        """Columns with a summary."""
        return sum(entry is not None and entry.summary is not None for entry in self.entries)


@dataclass(frozen=True)
class Column:
    """A task with the metric shown of it; the metric is empty, and not ranked, while no cell has a score."""

    task: str
    metric: str
    direction: str


@dataclass(frozen=True)
class Table:
    """One family of tasks. `direction` is that of all columns that have one, None if they disagree or none has.

    `stability` says of few-shot tasks how far their scores depend on the seeds.
    """

    title: str
    columns: tuple[Column, ...]
    direction: str | None
    complete: tuple[Row, ...]
    incomplete: tuple[Row, ...]
    stability: tuple[Stability, ...] = ()


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
class CostRow:
    """What a strategy cost over its ok cells.

    `fit_s` is the mean over its fits, `encode_s` the mean over its cells, `peak_memory_mb` the greatest of any cell.
    """

    strategy: str
    fit_s: float
    encode_s: float
    trainable_share: float | None
    tokens_per_s: float | None
    truncated: int
    texts: int
    peak_memory_mb: float | None


@dataclass(frozen=True)
class Section:
    """All that was measured with one backbone."""

    backbone: str
    weights: str
    details: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    problems: tuple[Problem, ...]
    costs: tuple[CostRow, ...]


@dataclass(frozen=True)
class Board:
    """Everything that is published, and the number of records behind it."""

    records: int
    sections: tuple[Section, ...]


def build_board(records: Sequence[Record]) -> Board:
    """A board out of records, in any order.

    Raises:
        UserError: there are none, or they mix versions of one task or one strategy.
    """
    if not records:
        raise UserError("there are no records to show; make some: pytest suite/ --strategy=frozen")
    ordered = sorted(records, key=lambda record: record.key)
    refuse_mixed_tasks(ordered)
    by_backbone = grouped(ordered, lambda record: canonical_json(record.cell["adaptation"]["backbone"]))
    sections = [_section(group) for _, group in sorted(by_backbone.items())]
    return Board(len(ordered), tuple(sorted(sections, key=lambda section: section.backbone)))


def _section(records: Sequence[Record]) -> Section:
    refuse_mixed_strategies(records)
    families = grouped(records, lambda record: record.family)
    scored = grouped([record for record in records if record.status == "ok"], lambda record: record.strategy)
    backbone = records[0].cell["adaptation"]["backbone"]
    details = {name: value for name, value in backbone.items() if name not in ("weights", "tokenizer")}
    details["device"] = _listed(record.environment.device for record in records)
    details["threads"] = _listed(record.environment.threads for record in records)
    return Section(
        backbone=_listed(record.backbone for record in records),
        weights=str(backbone["weights"])[:12],
        details=tuple((name.replace("_", " "), str(value)) for name, value in details.items()),
        tables=tuple(table for family in sorted(families) for table in _tables(family, families[family])),
        problems=tuple(_problem(record) for record in sorted(records, key=_place) if record.status != "ok"),
        costs=tuple(_cost(name, group) for name, group in sorted(scored.items())),
    )


# ---- tables ---------------------------------------------------------------------------------------------------------


def _tables(family: str, records: Sequence[Record]) -> list[Table]:
    tables = [_table(family, records, lambda record: record.main)]
    if family == FEWSHOT:
        tables[0] = replace(tables[0], stability=stability_of(records))
    cosine = [(record.main, record.metric(COSINE_SPEARMAN)) for record in records if record.status == "ok"]
    if any(main and other and main.value != other.value for main, other in cosine):
        tables.append(_table(f"{family}, by cosine", records, lambda record: record.metric(COSINE_SPEARMAN)))
    return tables


def _table(title: str, records: Sequence[Record], choose: Callable[[Record], MetricValue | None]) -> Table:
    columns = tuple(
        _column(task, members, choose) for task, members in sorted(grouped(records, lambda record: record.task).items())
    )
    directions = {column.direction for column in columns} - {"none"}
    direction = directions.pop() if len(directions) == 1 else None
    cells = grouped(records, lambda record: (record.strategy, record.task))
    complete: list[Row] = []
    incomplete: list[Row] = []
    for strategy, members in sorted(grouped(records, lambda record: record.strategy).items()):
        groups = [cells.get((strategy, column.task)) for column in columns]
        entries = tuple(None if group is None else _entry(group, choose) for group in groups)
        row = Row(strategy, members[0].control, entries)
        (complete if row.done == len(columns) else incomplete).append(row)
    return Table(title, columns, direction, _ranked(complete, columns, direction), tuple(incomplete))


def _column(task: str, records: Sequence[Record], choose: Callable[[Record], MetricValue | None]) -> Column:
    chosen = (choose(record) for record in records if record.status == "ok")
    metric = next((metric for metric in chosen if metric is not None), None)
    return Column(task, "", "none") if metric is None else Column(task, metric.name, metric.direction)


def _entry(group: Sequence[Record], choose: Callable[[Record], MetricValue | None]) -> Entry:
    found = [metric.value for record in group if record.status == "ok" and (metric := choose(record)) is not None]
    values = [value for value in found if value is not None]
    if len(values) == len(group):
        return Entry(summarise(values), "ok")
    # a mean over those seeds that survived would flatter
    counts = Counter(record.status.replace("_", " ") for record in group if record.status != "ok")
    counts["not taken"] += sum(record.status == "ok" for record in group) - len(values)
    words = [
        status if len(group) == 1 else f"{status} {count} of {len(group)}"
        for status, count in sorted(counts.items())
        if count
    ]
    return Entry(None, ", ".join(words))


def _ranked(rows: Sequence[Row], columns: Sequence[Column], direction: str | None) -> tuple[Row, ...]:
    if direction is None:
        return tuple(rows)
    sign = -1 if direction == "up" else 1
    means = {row.strategy: _row_mean(row, columns) for row in rows}
    # what prints alike ranks alike
    placed = sorted(rows, key=lambda row: (sign * shown(means[row.strategy]), row.strategy))
    contenders = [shown(means[row.strategy]) for row in placed if not row.control]
    return tuple(
        replace(
            row,
            mean=means[row.strategy],
            rank=None if row.control else contenders.index(shown(means[row.strategy])) + 1,
        )
        for row in placed
    )


def _row_mean(row: Row, columns: Sequence[Column]) -> float:
    pairs = zip(row.entries, columns, strict=True)
    means = [entry.summary.mean for entry, column in pairs if column.direction != "none" and entry and entry.summary]
    return math.fsum(means) / len(means)


def shown(fraction: float) -> float:
    """A fraction as boards print it: times 100, two decimals."""
    return round(100 * fraction, 2) + 0.0  # no -0.00


# ---- what is beside the tables --------------------------------------------------------------------------------------


def _problem(record: Record) -> Problem:
    reason = record.reason if record.failure is None else f"{record.failure.type}: {record.failure.message}"
    lines = reason.strip().splitlines() or [""]
    return Problem(record.strategy, record.task, _seeds(record), record.status.replace("_", " "), lines[0], record.key)


def _cost(strategy: str, records: Sequence[Record]) -> CostRow:
    fits = {canonical_json(record.cell["adaptation"]): record.usage.fit_s for record in records}
    usages = [record.usage for record in records]
    encode_s = math.fsum(usage.encode_s for usage in usages)
    total = sum(usage.total_parameters for usage in usages)
    peaks = [usage.peak_memory_mb for usage in usages if usage.peak_memory_mb is not None]
    return CostRow(
        strategy=strategy,
        fit_s=math.fsum(fits.values()) / len(fits),
        encode_s=encode_s / len(usages),
        trainable_share=sum(usage.trainable_parameters for usage in usages) / total if total else None,
        tokens_per_s=sum(usage.tokens for usage in usages) / encode_s if encode_s else None,
        truncated=sum(usage.truncated for usage in usages),
        texts=sum(usage.texts for usage in usages),
        peak_memory_mb=max(peaks, default=None),
    )


def _place(record: Record) -> tuple[str, str, str, str]:
    return (record.task, record.strategy, _seeds(record), record.key)


def _seeds(record: Record) -> str:
    drawn = {stream: getattr(record.seeds, stream) for stream in sorted(record.draws)}
    return ",".join(f"{stream}={seed}" for stream, seed in drawn.items())


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in sorted(set(values)))
