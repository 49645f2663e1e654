"""`thawbench list`: names, with a line on each."""

import inspect
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thawbench.registry import strategies
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.suite.profile import known_profiles, load_profile
from thawbench.tasks.catalog import known_tasks
from thawbench.tasks.trainsets import known_trainsets

_WIDE = 120
"""Columns of a screen on which every fact can have a column of its own."""


def show(kind: str, console: Console) -> None:
    """Print every name of one kind: strategies, tasks, profiles or trainsets."""
    if kind == "strategies":
        rows = [_strategy_row(name) for name in strategies.names()]
        rows += [[name, "", "", "", f"in a row: {row}"] for name, row in NAMED_ROWS.items()]
        _print(console, ("strategy", "learns from", "gives", "draws", "what it is"), rows)
    elif kind == "profiles":
        from thawbench.suite.plan import chosen_strategies  # takes seconds, which other lists need not wait for

        found = [load_profile(name) for name in known_profiles()]
        counts = [len(chosen_strategies(each.strategies)) for each in found]  # of names and globs
        rows = [
            [each.name, str(count), str(len(each.tasks)), each.description]
            for each, count in zip(found, counts, strict=True)
        ]
        _print(console, ("profile", "strategies", "tasks", "what it is"), rows)
    else:
        for name in known_tasks() if kind == "tasks" else known_trainsets():
            console.print(name, highlight=False)
        if kind == "tasks":
            console.print("any MTEB task by its name: sts/NAME, ir/NAME, classify/NAME", style="dim")
        else:
            console.print("@n after a name takes the first n rows of the sample seed's order", style="dim")


def _strategy_row(name: str) -> list[str]:
    kind = strategies.get(name)
    told = (inspect.getdoc(kind) or "").partition("\n")[0]
    return [
        name,
        ", ".join(sorted(signal.value for signal in kind.consumes)) or "nothing",
        ", ".join(sorted(what.value for what in kind.provides)),
        ", ".join(sorted(kind.draws)) or "nothing",
        ("control: " if kind.control else "") + told,
    ]


def _print(console: Console, header: tuple[str, ...], rows: list[list[str]]) -> None:
    """A column each; on a narrow screen the facts stand under what it is, which else would get a few words a line."""
    escaped = [list(map(escape, row)) for row in rows]
    if console.width < _WIDE:
        escaped = [[name, f"{told}{_under(header[1:-1], facts)}"] for name, *facts, told in escaped]
        header = (header[0], header[-1])
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in header:
        table.add_column(column, no_wrap=column == header[0])
    for row in escaped:
        table.add_row(*row)
    console.print(table)


def _under(names: Sequence[str], facts: Sequence[str]) -> str:
    """A line of its own, such as `learns from labels; gives vectors`; empty if there are no facts."""
    known = [f"{name} {fact}" for name, fact in zip(names, facts, strict=True) if fact]
    return f"\n[dim]{'; '.join(known)}[/dim]" if known else ""
