"""The tables of one family of tasks: what is averaged, ranked, told apart and kept apart."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from thawbench.leaderboard.aggregates import Aggregate, aggregates_of
from thawbench.leaderboard.comparison import Comparison, compare_all, maybe_best
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.paired_test import LEAST_SEEDS
from thawbench.leaderboard.references import Reference, ReferenceRow, reference_rows
from thawbench.leaderboard.stability import Stability, no_better_than_chance, stability_of
from thawbench.leaderboard.statistics import Interval, Summary, shown, summarise
from thawbench.leaderboard.tie_groups import best_with_ties, tie_groups
from thawbench.leaderboard.units import Units, runs_interval, units_of
from thawbench.suite.records import MetricValue, Record

COSINE_SPEARMAN = "cosine_spearman"
FEWSHOT, SHIFT = "fewshot", "shift"
_LEFT_OUT, _SEARCH = f"{SHIFT}, rows left out", f"{SHIFT}, search"
_Choice = Callable[[Record], MetricValue | None]
_Score = Callable[[Record], float | None]


@dataclass(frozen=True)
class Entry:
    """One strategy on one task: a summary if every seed is ok, otherwise what became of the seeds, in words.

    Attributes:
        interval: of the mean over seeds, 95 %; None of a single seed.
        keys: the records behind it.
    """

    summary: Summary | None
    outcome: str
    interval: Interval | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One strategy over the columns of a table; None where there is no record.

    `mean` and `rank` are None where the row is incomplete or the table is not ranked, `rank` also of a control.

    Attributes:
        group: letters; two rows that share one cannot be told apart. Empty of a control, and with too few seeds.
        top: first by its mean, or not told apart from the first.
        best: by column, the same of its score there, among all rows that have one, complete or not.
    """

    strategy: str
    control: bool
    entries: tuple[Entry | None, ...]
    mean: float | None = None
    rank: int | None = None
    group: str = ""
    top: bool = False
    best: tuple[bool, ...] = ()

    @property
    def done(self) -> int:
        """Columns with a summary."""
        return sum(entry is not None and entry.summary is not None for entry in self.entries)


@dataclass(frozen=True)
class Column:
    """A task with the metric shown of it; the metric is empty, and not ranked, while no cell has a score.

    Attributes:
        ranked: it counts for means, order and letters.
    """

    task: str
    metric: str
    direction: str
    ranked: bool


@dataclass(frozen=True)
class Table:
    """One family of tasks. `direction` is that of all columns that have one, None if they disagree or none has.

    `stability` says of few-shot tasks how far their scores depend on the seeds. Only complete rows that are no controls
    are compared and have aggregates, and only in a table that is ranked. Where some are compared, order, means and
    letters rest on the same columns: tasks that nobody ran at three seeds are shown, and named in `left_out`.
    """

    title: str
    columns: tuple[Column, ...]
    direction: str | None
    complete: tuple[Row, ...]
    incomplete: tuple[Row, ...]
    stability: tuple[Stability, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    left_out: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    references: tuple[ReferenceRow, ...] = ()


def tables_of(family: str, records: Sequence[Record], references: Sequence[Reference] = ()) -> list[Table]:
    """A family's table by its main metric, and one by cosine where that is another score.

    Of `shift` the tasks of one domain, of which train rows were left out, have a table of their own: their main score
    is that on all test rows, and not a shifted one. So do searches elsewhere, whose score is another.
    """
    searched = {record.task for record in records if family == SHIFT and record.metric("backbone") is not None}

    def title(record: Record) -> str:
        if _on_one_domain(record):
            return _LEFT_OUT
        return _SEARCH if record.task in searched else family

    parts = grouped(records, title)
    tables = [table for title, members in sorted(parts.items()) for table in _by_metric(title, members)]
    return [
        replace(table, references=reference_rows(references, [(each.task, each.metric) for each in table.columns]))
        for table in tables
    ]


def _on_one_domain(record: Record) -> bool:
    """Whether it is of `shift` and names no second domain behind a ~."""
    return record.family == SHIFT and "~" not in record.task.partition(":")[0]


def _by_metric(title: str, records: Sequence[Record]) -> list[Table]:
    tables = [_table(title, records, lambda record: record.main)]
    if title == FEWSHOT:
        tables[0] = replace(tables[0], stability=stability_of(records))
    cosine = [(record.main, record.metric(COSINE_SPEARMAN)) for record in records if record.status == "ok"]
    if any(main and other and main.value != other.value for main, other in cosine):
        tables.append(_table(f"{title}, by cosine", records, lambda record: record.metric(COSINE_SPEARMAN)))
    return tables


def _table(title: str, records: Sequence[Record], choose: _Choice) -> Table:
    by_task = grouped(records, lambda record: record.task)
    cells = grouped(records, lambda record: (record.strategy, record.task))
    controls = {strategy: group[0].control for (strategy, _), group in cells.items()}
    columns = tuple(_column(task, members, choose) for task, members in sorted(by_task.items()))
    directions = {column.direction for column in columns if column.ranked}
    direction = directions.pop() if len(directions) == 1 else None
    complete: list[Row] = []
    incomplete: list[Row] = []
    for strategy, control in sorted(controls.items()):
        groups = [cells.get((strategy, column.task)) for column in columns]
        entries = tuple(None if group is None else entry_of(group, choose) for group in groups)
        row = Row(strategy, control, entries)
        (complete if row.done == len(columns) else incomplete).append(row)
    table = Table(title, columns, direction, tuple(complete), tuple(incomplete))
    return table if direction is None else _compared(table, records, by_task, choose)


def _compared(
    table: Table, records: Sequence[Record], by_task: Mapping[str, Sequence[Record]], choose: _Choice
) -> Table:
    """The same in order, with what can be told apart on the whole and in each column."""
    contenders = [row for row in table.complete if not row.control]
    names = [row.strategy for row in contenders]
    places = [at for at, column in enumerate(table.columns) if column.ranked]

    def score(record: Record) -> float | None:
        metric = choose(record)
        return None if metric is None else metric.value

    units = units_of(records, names, [table.columns[at].task for at in places], score, up=table.direction == "up")
    repeated = units.repeated(LEAST_SEEDS)
    comparisons = compare_all(units.on(repeated)) if repeated else ()
    counted = [places[at] for at in repeated] if comparisons else places
    columns = tuple(replace(column, ranked=at in counted) for at, column in enumerate(table.columns))
    complete = _ranked(table.complete, columns, up=units.up)
    placed = [row.strategy for row in complete if not row.control]
    groups = dict(zip(placed, tie_groups(placed, comparisons), strict=True))
    alike = ((each.first, each.second) for each in comparisons if not each.apart)
    top = best_with_ties({row.strategy for row in complete if row.rank == 1}, alike)
    rows = (*table.complete, *table.incomplete)
    best = {at: _best(by_task[table.columns[at].task], rows, at, score, up=units.up) for at in places}

    def marked(row: Row) -> Row:
        return replace(row, best=tuple(row.strategy in best.get(at, ()) for at in range(len(columns))))

    return replace(
        table,
        columns=columns,
        complete=tuple(
            marked(replace(row, group=groups.get(row.strategy, ""), top=row.strategy in top)) for row in complete
        ),
        incomplete=tuple(map(marked, table.incomplete)),
        comparisons=comparisons,
        left_out=tuple(table.columns[at].task for at in places if at not in counted),
        aggregates=_aggregates(units.on([places.index(at) for at in counted]), contenders, counted, records),
    )


def _best(records: Sequence[Record], rows: Sequence[Row], at: int, score: _Score, *, up: bool) -> frozenset[str]:
    """Who has the best score in one column, whose records these are, and who cannot be told apart from it there."""
    means = {row.strategy: _mean(row.entries[at]) for row in rows if not row.control}
    scored = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    if not scored:
        return frozenset()
    first = (max if up else min)(scored.values())
    units = units_of(records, list(scored), [records[0].task], score, up=up)
    best = frozenset(name for name, mean in scored.items() if mean == first)
    return best.union(*(maybe_best(units, name) for name in best))


def _aggregates(
    units: Units, contenders: Sequence[Row], places: Sequence[int], records: Sequence[Record]
) -> tuple[Aggregate, ...]:
    if not contenders:
        return ()
    means = [[_mean(row.entries[at]) for at in places] for row in contenders]
    runs = grouped(records, lambda record: record.strategy)
    return aggregates_of(units, means, [_failed_share(runs[row.strategy], set(units.tasks)) for row in contenders])


def _mean(entry: Entry | None) -> float:
    """As it is printed, for what prints alike ranks alike; nan of nothing, which no complete row has."""
    return math.nan if entry is None or entry.summary is None else shown(entry.summary.mean)


def _failed_share(records: Sequence[Record], tasks: Collection[str]) -> float | None:
    """The share of runs no better than the best constant answer; None where some metric has no such."""
    mains = [record.main for record in records if record.task in tasks]
    verdicts = [None if main is None else no_better_than_chance(main) for main in mains]
    return None if None in verdicts else sum(map(bool, verdicts)) / len(verdicts)


def _column(task: str, records: Sequence[Record], choose: _Choice) -> Column:
    chosen = (choose(record) for record in records if record.status == "ok")
    metric = next((metric for metric in chosen if metric is not None), None)
    if metric is None:
        return Column(task, "", "none", ranked=False)
    return Column(task, metric.name, metric.direction, ranked=metric.direction != "none")


def standing(entry: Entry | None, *, up: bool) -> tuple[bool, float]:
    """What entries are sorted by: the best first, and those without a summary last.

    Args:
        up: greater is better.
    """
    summary = None if entry is None else entry.summary
    if summary is None:
        return (True, 0.0)
    return (False, -summary.mean if up else summary.mean)


def entry_of(group: Sequence[Record], choose: _Choice) -> Entry:
    """Of one strategy on one task, whose records these are."""
    found = [metric.value for record in group if record.status == "ok" and (metric := choose(record)) is not None]
    values = [value for value in found if value is not None]
    keys = tuple(sorted(record.key for record in group))
    if len(values) == len(group):
        summary = summarise(values)
        return Entry(summary, "ok", runs_interval(group, summary), keys)
    # a mean over those seeds that survived would flatter
    counts = Counter(record.status.replace("_", " ") for record in group if record.status != "ok")
    counts["not taken"] += sum(record.status == "ok" for record in group) - len(values)
    words = [
        status if len(group) == 1 else f"{status} {count} of {len(group)}"
        for status, count in sorted(counts.items())
        if count
    ]
    return Entry(None, ", ".join(words), keys=keys)


def _ranked(rows: Sequence[Row], columns: Sequence[Column], *, up: bool) -> tuple[Row, ...]:
    means = {row.strategy: _row_mean(row, columns) for row in rows}
    # what prints alike ranks alike
    placed = sorted(rows, key=lambda row: ((-1 if up else 1) * shown(means[row.strategy]), row.strategy))
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
    means = [entry.summary.mean for entry, column in pairs if column.ranked and entry and entry.summary]
    return math.fsum(means) / len(means)
