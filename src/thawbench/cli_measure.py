"""The commands that measure: `thawbench run`, `plan`, `tune`, `check`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from thawbench.cli_app import app, takes_options
from thawbench.suite.options import settings

PANEL = "Measure"
_LEFT_OUT_OF_PLAN = ("threads", "fresh", "cell-timeout", "keep-checkpoints")


@app.command(rich_help_panel=PANEL)
@takes_options()
def run(values: dict[str, Any]) -> None:
    """Run the matrix, or a part of it; what is recorded already is not run again.

    The same as `pytest suite/` with the same options, with progress instead of tests. Some ways to begin:

    `thawbench run --strategy frozen --strategy frozen_ebm --task 'sts/*' --seeds 3`

    `thawbench run --strategy my_idea.py --task ir/SciFact:train=nli`

    `thawbench run --strategy frozen --backbone org/encoder@revision:pooling=cls`
    """
    from thawbench.suite.live import run_live

    if not run_live(settings(values), Console(stderr=False)):
        raise typer.Exit(1)


@app.command(rich_help_panel=PANEL)
@takes_options(*_LEFT_OUT_OF_PLAN)
def plan(values: dict[str, Any]) -> None:
    """Show what `run` would do: the cells, how many are done, which adaptations they share.

    It takes what `run` takes but for what changes no cell: `--threads`, `--fresh`, `--cell-timeout`,
    `--keep-checkpoints`.
    """
    from thawbench.suite.live import show_plan

    show_plan(settings(values), Console())


@app.command(rich_help_panel=PANEL)
@takes_options("strategy", "fresh", "cell-timeout", "keep-checkpoints")
def tune(
    values: dict[str, Any],
    strategy: Annotated[str, typer.Argument(help="one strategy by its plain name, or a file my_idea.py")],
    field: Annotated[str, typer.Option(help="the field of its configuration to choose")],
    among: Annotated[
        str,
        typer.Option(
            "--values",
            help="2 to 4 values, with commas between them; of equals the first is chosen: begin with its own",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="the folder to write the choice to [strategies/tuned]")] = None,
) -> None:
    """Choose a strategy's default for one field by dev scores; test scores are not looked at.

    Without `--task`, on two sets of the embedded world, 100 rows each; without `--seeds`, on samples 100 to 102, as
    boards are made of samples below 100: four values are 24 trials then, as many as all that was tuned here has had.
    Records go to the folder `tune` in the results, and are found again there.

    `thawbench tune frozen_ebm --field lr --values 1e-3,3e-3,1e-2,3e-2`
    """
    from thawbench.suite.live import show_search

    show_search(strategy, field, among.split(","), settings(values), out, Console())


@app.command(rich_help_panel=PANEL)
def check(
    strategy: Annotated[str, typer.Argument(help="a strategy such as frozen_ebm:norm=l2, or a file my_idea.py")],
    backbone: Annotated[str, typer.Option(help="what it is tried on")] = "tiny",
) -> None:
    """Check that a strategy keeps what every strategy promises: seeds, bytes, order, odd texts, the train rows alone.

    Exit code 1 if it fails a check.
    """
    from thawbench.suite.conformance_table import show

    if not show(strategy, backbone, Console()):
        raise typer.Exit(1)
