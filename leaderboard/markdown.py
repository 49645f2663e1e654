"""A board as GitHub-flavoured Markdown. No time stamp: the same records give the same bytes."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from thawbench import __version__
from thawbench.errors import UserError
from thawbench.leaderboard.board import Board, CostRow, Entry, Problem, Row, Section, Table, build_board, shown
from thawbench.leaderboard.stability import Components, Stability
from thawbench.suite.records import RecordStore

_CONTROL = "†"
_MISSING = "–"
_BELOW = "‡"
_BEST_OF = (2, 3, 5, 10)
_STREAMS = ("sample", "init", "order", "rest")
_WORDS = {"up": "higher is better", "down": "lower is better", None: "not ranked"}


def write_board(results: Path, out: Path) -> tuple[str, ...]:
    """Write the board of a results folder, and return what is wrong with its damaged records, which are left out.

    Raises:
        UserError: there are no records, they may not be shown together, or `out` cannot be written.
    """
    store = RecordStore(results, read_only=True)
    records = store.all()
    if not records:
        raise UserError(
            f"there are no records in {results}; make some: pytest suite/ --strategy=frozen --results={results}"
        )
    try:
        out.write_text(render_markdown(build_board(records)), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"the board {out} cannot be written ({error.strerror}); choose another file") from None
    return tuple(store.damaged.values())


def render_markdown(board: Board) -> str:
    """The whole page."""
    legend = (
        f"Thawbench {__version__}, {board.records} {'record' if board.records == 1 else 'records'}. "
        "Scores are times 100: mean ± sample standard deviation over seeds (number of seeds). "
        f"{_CONTROL} marks a control: a yardstick, not ranked. {_MISSING} has no record. "
        "**Bold** is the best of the complete rows that are no controls."
    )
    parts = [part for section in board.sections for part in _section(section)]
    return "\n\n".join(["# Leaderboard", legend, *parts]) + "\n"


def escape(text: str) -> str:
    """A text as one line that Markdown shows as it is, inside a table too."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    line = re.sub(r"([\\`*<|\[~])", r"\\\1", line)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", line)  # inside a word an underscore is only itself


def _section(section: Section) -> list[str]:
    details = ", ".join(f"{name} {value}" for name, value in section.details)
    parts = [f"## {escape(section.backbone)}", f"Weights `{section.weights}`; {escape(details)}."]
    for table in section.tables:
        parts += _table(table)
    if section.problems:
        parts += ["### Without a score", "\n".join(_problem(problem) for problem in section.problems)]
    if section.costs:
        parts += [
            "### Cost",
            "Seconds are those of a cold cache: fit per fit, encode per cell. Memory is the greatest peak of any cell.",
            _costs(section.costs),
        ]
    return parts


def _table(table: Table) -> list[str]:
    metrics = ", ".join(sorted({escape(column.metric) for column in table.columns if column.metric})) or "no score yet"
    parts = [f"### {escape(table.title)}", f"Metric: {metrics}; {_WORDS[table.direction]}."]
    tasks = [escape(column.task) for column in table.columns]
    if table.complete:
        best = [_best(table, position) for position in range(len(tasks))]
        if table.direction is None:
            rows = [[_name(row), *map(_cell, row.entries)] for row in table.complete]
            parts.append(_grid(["Strategy", *tasks], rows))
        else:
            rows = [_ranked_row(row, best) for row in table.complete]
            parts.append(_grid(["#", "Strategy", *tasks, "Mean"], rows))
    if table.incomplete:
        rows = [[_name(row), f"{row.done}/{len(tasks)}", *map(_cell, row.entries)] for row in table.incomplete]
        parts += ["Incomplete, so not ranked:", _grid(["Strategy", "Done", *tasks], rows)]
    if table.stability:
        parts += _stability(escape(table.title), table.stability)
    return parts


def _stability(title: str, found: Sequence[Stability]) -> list[str]:
    sizes = [k for k in _BEST_OF if any(len(each.best_by_dev) >= k for each in found)]
    crossed = [each.components for each in found if each.components]
    told = (
        "Over seeds, wherever there are two or more. Failed: runs whose score is no better than the best constant "
        "answer. Best of k: the test score to expect of that of k runs which is best on dev."
    )
    if crossed:
        told += (
            " By stream: the standard deviation that is due to seeds of this stream alone, and rest to streams only "
            "together, from crossed seeds."
        )
    if any(components.clipped for components in crossed):
        told += f" {_BELOW} marks a variance whose unbiased estimate is below 0; it is set to 0."
    heads = ["Task", "Strategy", "n", "Mean", "Std", "Failed", *(f"Best of {k}" for k in sizes)]
    rows = [
        [
            escape(each.task),
            escape(each.strategy) + (f" {_CONTROL}" if each.control else ""),
            str(each.summary.n),
            f"{shown(each.summary.mean):.2f}",
            _MISSING if each.summary.std is None else f"{shown(each.summary.std):.2f}",
            _MISSING if each.failed is None else f"{100 * each.failed / each.summary.n:.0f} %",
            *(f"{shown(each.best_by_dev[k - 1]):.2f}" if len(each.best_by_dev) >= k else _MISSING for k in sizes),
            *(_component(each.components, stream) for stream in _STREAMS if crossed),
        ]
        for each in found
    ]
    return [f"#### {title}: stability", told, _grid(heads + [each.capitalize() for each in _STREAMS if crossed], rows)]


def _component(components: Components | None, stream: str) -> str:
    variance: float | None = getattr(components, stream, None)
    if components is None or variance is None:
        return _MISSING
    return f"{shown(math.sqrt(variance)):.2f}" + (f" {_BELOW}" if stream in components.clipped else "")


def _ranked_row(row: Row, best: Sequence[float | None]) -> list[str]:
    pairs = zip(row.entries, best, strict=True)
    cells = [_bold(_cell(entry), not row.control and _value(entry) == top) for entry, top in pairs]
    mean = "" if row.mean is None else _bold(f"{shown(row.mean):.2f}", row.rank == 1)
    return ["" if row.rank is None else str(row.rank), _name(row), *cells, mean]


def _best(table: Table, position: int) -> float | None:
    values = [_value(row.entries[position]) for row in table.complete if not row.control]
    found = [value for value in values if value is not None]
    choose = {"up": max, "down": min}.get(table.columns[position].direction)
    return choose(found) if choose is not None and found else None


def _value(entry: Entry | None) -> float | None:
    return None if entry is None or entry.summary is None else shown(entry.summary.mean)


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


def _name(row: Row) -> str:
    return escape(row.strategy) + (f" {_CONTROL}" if row.control else "")


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return _MISSING
    if entry.summary is None:
        return entry.outcome
    spread = "" if entry.summary.std is None else f" ± {shown(entry.summary.std):.2f}"
    return f"{shown(entry.summary.mean):.2f}{spread} ({entry.summary.n})"


def _problem(problem: Problem) -> str:
    seeds = f", {problem.seeds}" if problem.seeds else ""
    where = f"{escape(problem.strategy)} on {escape(problem.task)}{seeds}"
    return f"- {where}: {problem.status}: {escape(problem.reason)} (`{problem.key[:12]}`)"


def _costs(costs: Sequence[CostRow]) -> str:
    rows = [
        [
            escape(cost.strategy),
            f"{cost.fit_s:.1f}",
            f"{cost.encode_s:.1f}",
            _MISSING if cost.trainable_share is None else f"{100 * cost.trainable_share:.2f} %",
            _MISSING if cost.tokens_per_s is None else f"{cost.tokens_per_s:.0f}",
            f"{cost.truncated} of {cost.texts}",
            _MISSING if cost.peak_memory_mb is None else f"{cost.peak_memory_mb:.0f}",
        ]
        for cost in costs
    ]
    heads = ["Strategy", "Fit s", "Encode s", "Trained weights", "Tokens/s", "Truncated texts", "Peak MB"]
    return _grid(heads, rows)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # tabulate would read a name such as 1e5 as a number and print it anew
    return tabulate(rows, headers=heads, tablefmt="github", disable_numparse=True)
