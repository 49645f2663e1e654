"""`thawbench list`: names, with a line on each."""

import inspect

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thawbench.registry import strategies
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.suite.profile import known_profiles, load_profile
from thawbench.tasks.catalog import known_tasks
from thawbench.tasks.trainsets import known_trainsets


def show(kind: str, console: Console) -> None:
    """Print every name of one kind: strategies, tasks, profiles or trainsets."""
    if kind == "strategies":
        rows = [_strategy_row(name) for name in strategies.names()]
        rows += [[name, "", "", "", f"in a row: {row}"] for name, row in NAMED_ROWS.items()]
        _print(console, ("strategy", "learns from", "gives", "draws", "what it is"), rows)
    elif kind == "profiles":
        found = [load_profile(name) for name in known_profiles()]
        rows = [[each.name, str(len(each.strategies)), str(len(each.tasks)), each.description] for each in found]
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
    table = Table(*header, header_style="bold", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
