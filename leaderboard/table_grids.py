"""What stands on a page of one table: its rows, what is told apart, the sums over tasks, and how stable they are."""

import math
from collections.abc import Sequence

from thawbench.leaderboard.comparison import Comparison
from thawbench.leaderboard.curve_table import CurveTable
from thawbench.leaderboard.field_panels import FieldPanel
from thawbench.leaderboard.figure_cells import Point
from thawbench.leaderboard.grid import MISSING, Cell, Grid, between, grid, named, percent, score
from thawbench.leaderboard.metric_table import MetricTable
from thawbench.leaderboard.references import Published
from thawbench.leaderboard.size_panels import FROZEN
from thawbench.leaderboard.size_table import SizeTable
from thawbench.leaderboard.stability import Components, Stability
from thawbench.leaderboard.tables import Column, Entry, Row, Table

BELOW = "‡"
_ARROWS = {"up": " ↑", "down": " ↓"}
_BEST_OF = (2, 3, 5, 10)
_STREAMS = ("sample", "init", "order", "rest")


def complete_grid(table: Table) -> Grid:
    """The complete rows, ranked where the table is."""
    tasks = [column.task for column in table.columns]
    if table.direction is None:
        return grid(
            ["Strategy", *tasks],
            [[named(row.strategy, row.control), *map(_entry, row.entries)] for row in table.complete],
        )
    grouped = any(row.group for row in table.complete)
    heads = ["#", "Strategy", *(_head(column) for column in table.columns), "Mean", *(["Group"] if grouped else [])]
    return grid(heads, [_ranked(row, grouped) for row in table.complete])


def references_grid(table: Table) -> Grid:
    """What others published of these tasks; no rows where nobody did."""
    tasks = [column.task for column in table.columns]
    return grid(
        ["Published", *tasks, "Protocol", "Source"],
        [[row.model, *(_published(each) for each in row.scores), row.protocol, row.source] for row in table.references],
    )


def incomplete_grid(table: Table) -> Grid:
    """The rows that lack a score, with what became of it."""
    tasks = [column.task for column in table.columns]
    return grid(
        ["Strategy", "Done", *tasks],
        [[named(row.strategy, row.control), f"{row.done}/{len(tasks)}", *_entries(row)] for row in table.incomplete],
    )


def against_best_grid(table: Table) -> Grid:
    """The first row against every other that it was compared with; no rows where there is none."""
    placed = [row.strategy for row in table.complete if not row.control]
    pairs = {frozenset((each.first, each.second)): each for each in table.comparisons}
    found = [(other, pairs.get(frozenset((placed[0], other)))) for other in placed[1:]]
    heads = ["Strategy", "Behind by", "95 %", "Pairs lost", "p (Holm)", "Seeds", "Would show"]
    return grid(heads, [_compared(other, each) for other, each in found if each is not None])


def over_tasks_grid(table: Table) -> Grid:
    """Sums over tasks, in the order of the table; no rows where it has one task or one strategy."""
    heads = ["Strategy", "IQM", "95 %", "Mean rank", "Borda", "Failed"]
    places = [row.strategy for row in table.complete]
    found = sorted(table.aggregates, key=lambda each: places.index(each.strategy))
    if len(found) < 2 or sum(column.ranked for column in table.columns) < 2:
        return grid(heads, [])
    return grid(
        heads,
        [
            [
                each.strategy,
                score(each.iqm),
                between(each.interval),
                f"{each.mean_rank:.2f}",
                f"{each.borda:.1f}",
                percent(each.failed),
            ]
            for each in found
        ],
    )


def metrics_grid(table: MetricTable) -> Grid:
    """Every strategy in every metric of one task, times 100 what is a share; an arrow says which way is better."""
    heads = [f"{column.metric}{_ARROWS.get(column.direction, '')}" for column in table.columns]
    rows = [[named(row.strategy, row.control), *map(_entry, row.entries, table.scales)] for row in table.rows]
    return grid(["Strategy", *heads], rows)


def sizes_grid(table: SizeTable) -> Grid:
    """Every strategy at every n of one set, and where it overtakes the frozen encoder."""
    rows = [
        [named(row.strategy, row.control), *map(_entry, row.entries), MISSING if found is None else found.told]
        for row, found in zip(table.rows, table.overtakings, strict=True)
    ]
    return grid(["Strategy", *(f"n = {n}" for n in table.sizes), f"Overtakes {FROZEN}"], rows)


def fields_grid(panels: Sequence[FieldPanel]) -> Grid:
    """Every strategy at every value of one field, on every task the score and the seconds of its fastest fit."""
    found = {
        (ladder.strategy, rung.value, panel.task): rung
        for panel in panels
        for ladder in panel.ladders
        for rung in ladder.rungs
    }
    rows = []
    for strategy, value in sorted({(strategy, value) for strategy, value, _ in found}):
        cells: list[str] = []
        for panel in panels:
            rung = found.get((strategy, value, panel.task))
            seconds = None if rung is None else rung.seconds
            cells += [
                MISSING if rung is None else _entry(rung.entry),
                MISSING if seconds is None else f"{seconds:.0f}",
            ]
        rows.append([strategy, f"{value:g}", *cells])
    return grid(["Strategy", panels[0].field, *(head for panel in panels for head in (panel.task, "fit s"))], rows)


def curves_grid(table: CurveTable) -> Grid:
    """Every strategy at every place of the axis; a dash where not every run has the curve."""
    rows = []
    for line in table.lines:
        at = {point.x: point for point in line.there}
        means = [_mean(at.get(x), table.scale) for x in table.xs]
        rows.append([named(line.strategy, line.control), *means])
    return grid(["Strategy", *(f"{x:g}" for x in table.xs)], rows)


def stability_grid(found: Sequence[Stability]) -> Grid:
    """One line a task and strategy."""
    sizes = [k for k in _BEST_OF if any(len(each.best_by_dev) >= k for each in found)]
    streams = _STREAMS if any(each.components for each in found) else ()
    heads = ["Task", "Strategy", "n", "Mean", "95 %", "Std", "Failed", *(f"Best of {k}" for k in sizes)]
    rows = [
        [
            each.task,
            named(each.strategy, each.control),
            str(each.summary.n),
            score(each.summary.mean),
            between(each.interval),
            score(each.summary.std),
            MISSING if each.failed is None else percent(each.failed / each.summary.n),
            *(score(each.best_by_dev[k - 1]) if len(each.best_by_dev) >= k else MISSING for k in sizes),
            *(_component(each.components, stream) for stream in streams),
        ]
        for each in found
    ]
    return grid([*heads, *(each.capitalize() for each in streams)], rows)


def _head(column: Column) -> str:
    return column.task if column.ranked else f"{column.task}, not ranked"


def _published(found: Published | None) -> str:
    if found is None:
        return MISSING
    return score(found.value) if found.std is None else f"{score(found.value)} ± {score(found.std)}"


def _entries(row: Row) -> list[Cell]:
    best = row.best or (False,) * len(row.entries)
    return [Cell(_entry(entry), bold) for entry, bold in zip(row.entries, best, strict=True)]


def _mean(point: Point | None, scale: float) -> str:
    return MISSING if point is None else f"{scale * point.mean:.2f}"


def _ranked(row: Row, grouped: bool) -> list[Cell | str]:
    rank = "" if row.rank is None else str(row.rank)
    mean = Cell("" if row.mean is None else score(row.mean), row.top)
    group = [row.group or ("" if row.control else MISSING)] if grouped else []
    return [rank, named(row.strategy, row.control), *_entries(row), mean, *group]


def _compared(other: str, found: Comparison) -> list[Cell | str]:
    turned = found.first == other
    difference = -found.difference if turned else found.difference
    interval = found.interval
    if interval is not None and turned:
        interval = type(interval)(-interval.high, -interval.low)
    return [
        other,
        score(difference),
        MISSING if found.seeds is None else between(interval),
        percent(1 - found.better if turned else found.better),
        _p(found),
        MISSING if found.seeds is None else str(found.seeds),
        score(found.detectable),
    ]


def _p(found: Comparison) -> str:
    """None where no seed moves either of the two: there is nothing to test."""
    if found.seeds is None:
        return MISSING
    return "< 0.0001" if found.adjusted < 1e-4 else f"{found.adjusted:.4f}"


def _component(components: Components | None, stream: str) -> str:
    variance: float | None = getattr(components, stream, None)
    if components is None or variance is None:
        return MISSING
    return score(math.sqrt(variance)) + (f" {BELOW}" if stream in components.clipped else "")


def _entry(entry: Entry | None, scale: float = 100.0) -> str:
    if entry is None:
        return MISSING
    if entry.summary is None:
        return entry.outcome
    spread = "" if entry.summary.std is None else f" ± {score(entry.summary.std, scale)}"
    return f"{score(entry.summary.mean, scale)}{spread} ({entry.summary.n})"
