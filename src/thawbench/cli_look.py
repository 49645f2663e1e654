"""The commands that look around: `thawbench list`, `doctor`, `world`."""

import enum
from typing import Annotated

import typer
from rich.console import Console

from thawbench.cli_app import app

PANEL = "Look around"


class Kind(enum.StrEnum):
    """What can be listed."""

    strategies = "strategies"
    tasks = "tasks"
    profiles = "profiles"
    trainsets = "trainsets"


@app.command(name="list", rich_help_panel=PANEL)
def list_(kind: Annotated[Kind, typer.Argument(help="what to list")]) -> None:
    """List the strategies, tasks, profiles or train sets that have names here."""
    from thawbench.suite.listing import show

    show(kind.value, Console())


@app.command(rich_help_panel=PANEL)
def doctor() -> None:
    """Tell what this machine offers: versions, device, bfloat16, the Hub, the caches and their size."""
    from thawbench.suite.doctor import show

    show(Console())


@app.command(rich_help_panel=PANEL)
def world(
    rows: Annotated[bool, typer.Option("--show", help="some rows of each part, not only their number")] = False,
    seed: Annotated[int, typer.Option(help="which world; train sets and tasks read that of seed 0")] = 0,
) -> None:
    """Look at the embedded world, which the profile `mini` measures and the backbone `tiny` has read."""
    from thawbench.tasks.world import make_world
    from thawbench.tasks.world.show import show

    Console().print(show(make_world(seed), rows=rows), markup=False, highlight=False, soft_wrap=True)
