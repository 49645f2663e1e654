"""A board as GitHub-flavoured Markdown. No time stamp: the same records give the same bytes."""

import re
from collections.abc import Sequence

from tabulate import tabulate

from thawbench import __version__
from thawbench.leaderboard.board import Board, Problem, Section
from thawbench.leaderboard.board_grids import (
    agreements_grid,
    costs_grid,
    overall_grid,
    partial_grid,
    relevance_grid,
)
from thawbench.leaderboard.coverage import coverage_note
from thawbench.leaderboard.grid import CONTROL, MISSING, Cell, Grid, score
from thawbench.leaderboard.overall import Overall
from thawbench.leaderboard.relevance import Relevance
from thawbench.leaderboard.stability import Stability
from thawbench.leaderboard.table_grids import (
    BELOW,
    against_best_grid,
    complete_grid,
    incomplete_grid,
    over_tasks_grid,
    references_grid,
    stability_grid,
)
from thawbench.leaderboard.tables import Table
from thawbench.leaderboard.turned_labels import TurnedLabels

_WORDS = {"up": "higher is better", "down": "lower is better", None: "not ranked"}
_COST = (
    "Seconds are those of a cold cache, and of the fastest of several seeds, as other work on the machine can only add "
    "to it: the mean over what was fitted, and over tasks. They compare on one kind of machine alone. Memory is the "
    "greatest peak of any cell."
)


def render_markdown(board: Board) -> str:
    """The whole page."""
    records = f"Thawbench {__version__}, {board.records} {'record' if board.records == 1 else 'records'}."
    legend = (
        "Scores are times 100: mean ± sample standard deviation over seeds (number of seeds). "
        f"{CONTROL} marks a control: a yardstick, not ranked. {MISSING} has no record. "
        "**Bold** is the best of its column that is no control, its row ranked or not, and what has three seeds in "
        "common with it and cannot be told apart from it by them: where all have such seeds, who is best in truth is "
        "among the bold in 95 of 100 columns. The records behind each number: column `records` of this board as CSV, "
        "`keys` in JSON (`thawbench leaderboard --out board.csv`)."
    )
    groups = (
        "**Group**: rows that share a letter cannot be told apart by their seeds. Strategies are paired by task and "
        "sample seed, at least three of them, tasks of one train set averaged; paired t tests, Holm over all pairs of "
        "a table: where differences are normal, at most 5 % of tables tell apart what is the same. This speaks of "
        f"more seeds on these test rows, not of other test rows. {coverage_note()}"
    )
    against = (
        "**Against the best**: the first row against each other, by these pairs: the mean difference and its own 95 % "
        "interval, pairs lost (a tie counts half), p after Holm, and the least true difference that this many seeds "
        "would show with a probability of 80 %. Differences are over the seeds that both ran, and means over all that "
        "a row has, so that the two may differ where one of them lacks a seed. Where no seed moves either of two, "
        "nothing is tested, and any difference tells them apart."
    )
    over = (
        "**Over tasks**, each weighing the same. IQM: the mean of the middle half of the scores, its 95 % interval by "
        "bootstrap over seeds. Ranks are among these rows; Borda counts the rows beaten, task by task, a tie half. "
        "Failed: runs no better than the best constant answer."
    )
    tables = [table for section in board.sections for table in section.tables]
    parts = [f"{records} {legend}"]
    parts += [groups, against] if any(table.comparisons for table in tables) else []
    parts += [over] if any(over_tasks_grid(table).rows for table in tables) else []
    parts += [part for section in board.sections for part in _section(section)]
    parts += _relevance(board.relevance) if board.relevance else []
    return "\n\n".join(["# Leaderboard", *parts]) + "\n"


def render_grid(lines: Grid) -> str:
    """One table."""
    heads = [escape(head) for head in lines.heads]
    # tabulate would read a name such as 1e5 as a number and print it anew
    return str(
        tabulate([[_cell(cell) for cell in row] for row in lines.rows], heads, tablefmt="github", disable_numparse=True)
    )


def escape(text: str) -> str:
    """A text as one line that Markdown shows as it is, inside a table too."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    line = re.sub(r"([\\`*<|\[~]|&(?=#?\w+;))", r"\\\1", line)
    line = re.sub(r"^(>|(?:[-+]|#+|\d+(?=[.)]))(?=[.)]? ))", _not_a_marker, line)  # of a quotation, a list, a heading
    # inside a word underscores are only themselves, at its edges a run of them may be an emphasis
    return re.sub(r"(?<![^\W_])_+|_+(?![^\W_])", lambda run: r"\_" * len(run[0]), line)


def _not_a_marker(marker: re.Match[str]) -> str:
    return f"{marker[0]}\\" if marker[0].isdigit() else f"\\{marker[0]}"


def _cell(cell: Cell) -> str:
    return f"**{escape(cell.text)}**" if cell.bold else escape(cell.text)


def _section(section: Section) -> list[str]:
    details = ", ".join(f"{name} {value}" for name, value in section.details)
    parts = [f"## {escape(section.backbone)}", f"Weights `{section.weights}`; {escape(details)}."]
    if section.overall:
        parts += _overall(section.overall)
    for table in section.tables:
        parts += _table(table)
    if section.turned:
        parts += ["### Worse than chance", "\n".join(map(_turned, section.turned))]
    if section.problems:
        parts += ["### Without a score", "\n".join(_problem(problem) for problem in section.problems)]
    if section.costs:
        parts += ["### Cost", _COST, render_grid(costs_grid(section.costs))]
    return parts


def _overall(overall: Overall) -> list[str]:
    told = (
        "Mean rank over families, each weighing the same: in each the mean over its tasks of the rank among the "
        "strategies that stand here, ties sharing the middle of theirs, with the letters of the family's own table."
    )
    if not overall.standings:
        told += " Fewer than two strategies are complete in all of them."
    if overall.absent:
        told += f" Not ranked here yet: {', '.join(overall.absent)}."
    parts = ["### Overall", told]
    if overall.standings:
        parts.append(render_grid(overall_grid(overall)))
    if overall.partial:
        parts += ["Not ranked:", render_grid(partial_grid(overall))]
    return parts


def _table(table: Table) -> list[str]:
    metrics = ", ".join(sorted({escape(column.metric) for column in table.columns if column.metric})) or "no score yet"
    title = escape(table.title)
    parts = [f"### {title}", f"Metric: {metrics}; {_WORDS[table.direction]}."]
    if table.complete:
        parts.append(render_grid(complete_grid(table)))
    if table.left_out:
        tasks = ", ".join(map(escape, table.left_out))
        parts.append(f"Order, mean and group are by the other tasks: nobody ran three seeds or more of {tasks}.")
    if table.incomplete:
        parts += ["Incomplete, so not ranked:", render_grid(incomplete_grid(table))]
    if table.references:
        parts += ["Published by others, not measured here and not ranked:", render_grid(references_grid(table))]
    against = against_best_grid(table)
    if against.rows:
        parts += [f"#### {title}: against the best", render_grid(against)]
    over = over_tasks_grid(table)
    if over.rows:
        parts += [f"#### {title}: over tasks", render_grid(over)]
    return parts + (_stability(title, table.stability) if table.stability else [])


def _relevance(relevance: Relevance) -> list[str]:
    told = (
        "Does what orders pairs as people do also find what is relevant? Means over the tasks of `ir` and of `sts`, of "
        "every strategy that is complete in both, and the rank correlation of the two, times 100: 100 if both order "
        "the strategies alike, -100 if the best at one is the worst at the other. Controls do not count in it."
    )
    grids = [render_grid(relevance_grid(relevance)), render_grid(agreements_grid(relevance))]
    return ["## Relevance against similarity", told, *grids]


def _stability(title: str, found: Sequence[Stability]) -> list[str]:
    crossed = [each.components for each in found if each.components]
    told = (
        "Over seeds, wherever there are two or more; the 95 % interval is of the mean. Failed: runs whose score is no "
        "better than the best constant answer. Best of k: the test score to expect of that of k runs which is best on "
        "dev."
    )
    if crossed:
        told += (
            " By stream: the standard deviation that is due to seeds of this stream alone, and rest to streams only "
            "together, from crossed seeds, whose runs are not independent and have no interval."
        )
    if any(components.clipped for components in crossed):
        told += f" {BELOW} marks a variance whose unbiased estimate is below 0; it is set to 0."
    return [f"#### {title}: stability", told, render_grid(stability_grid(found))]


def _turned(found: TurnedLabels) -> str:
    return (
        f"- {escape(found.task)}: all {found.strategies} strategies have a Matthews correlation between "
        f"{score(found.least)} and {score(found.most)}, where chance has 0. This copy of the test set may name its "
        "labels the other way round: read some of its rows before these scores are used."
    )


def _problem(problem: Problem) -> str:
    seeds = f", {problem.seeds}" if problem.seeds else ""
    where = f"{escape(problem.strategy)} on {escape(problem.task)}{seeds}"
    return f"- {where}: {problem.status}: {escape(problem.reason)} (`{problem.key[:12]}`)"
