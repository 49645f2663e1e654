"""The commands of a cluster: `thawbench sweep`, `status`, `logs`, `retry`, `cancel`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from thawbench.cli_app import app, takes_options
from thawbench.suite.options import settings

PANEL = "On a cluster"
_Results = Annotated[Path, typer.Option(help="the folder of the sweep's records")]


@app.command(rich_help_panel=PANEL)
@takes_options("fresh", "cell-timeout")
def sweep(
    values: dict[str, Any],
    cluster: Annotated[
        str | None, typer.Option(help="slurm, local (processes here), debug (this process) [slurm]")
    ] = None,
    partition: Annotated[str | None, typer.Option(help="where jobs go to [the cluster's]")] = None,
    account: Annotated[str | None, typer.Option(help="who is charged [the cluster's]")] = None,
    qos: Annotated[str | None, typer.Option(help="the quality of service [the cluster's]")] = None,
    time: Annotated[
        int | None, typer.Option(help="minutes of a task, which then saves itself and goes on [60]")
    ] = None,
    mem_gb: Annotated[float | None, typer.Option(help="memory of a task in GiB [4]")] = None,
    cpus: Annotated[int | None, typer.Option(help="processors of a task [as many as threads, or 1]")] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of a task [0]")] = None,
    array_parallelism: Annotated[int | None, typer.Option(help="tasks at once [as many as there is room for]")] = None,
    setup: Annotated[
        list[str] | None, typer.Option(help="a shell line before each task: `module load`; repeatable")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(help="tries more after a crash, out of memory, out of time [2]")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="follow until all is done; local and debug always do")] = False,
) -> None:
    """Send the matrix, or a part of it, to a SLURM cluster; the same command again sends what is missing.

    It takes what `run` takes, but for `--fresh` and `--cell-timeout`. What the cluster is asked for may also stand in
    the table `[slurm]` of a file `thawbench.toml` where the command is given, with the options' names as keys. Records
    come into the results folder as cells end; `thawbench status`, `logs`, `retry` and `cancel` look after them. Exit
    code 1 if a cell failed.

    `thawbench sweep --profile served --seeds 5 --partition cpu --time 120 --threads 4`

    `thawbench sweep --cluster local --threads 1 --strategy 'frozen*'`
    """
    from thawbench.slurm.commands import run_sweep

    asked: dict[str, Any] = {"cluster": cluster, "partition": partition, "account": account, "qos": qos, "time": time}
    asked |= {"mem_gb": mem_gb, "cpus": cpus, "gpus": gpus, "array_parallelism": array_parallelism}
    asked |= {"setup": setup, "retries": retries}
    if not run_sweep(settings(values), asked, wait=wait, console=Console()):
        raise typer.Exit(1)


@app.command(rich_help_panel=PANEL)
def status(results: _Results = Path("results")) -> None:
    """Tell how a sweep stands: cells by state, strategy and family; jobs, elapsed, what is left; what failed."""
    from thawbench.slurm.status import show

    show(results, Console())


@app.command(rich_help_panel=PANEL)
def logs(
    cell: Annotated[
        str, typer.Argument(help="the first digits of its key, or a part of its label: 'frozen sts/STS12'")
    ],
    results: _Results = Path("results"),
) -> None:
    """Print what a cell of a sweep wrote while it ran, on every try."""
    from thawbench.slurm.commands import show_logs

    show_logs(results, cell, Console())


@app.command(rich_help_panel=PANEL)
def retry(
    results: _Results = Path("results"),
    wait: Annotated[bool, typer.Option("--wait", help="follow until all is done")] = False,
) -> None:
    """Send the failed cells of the last sweep again, with its options; what counted against them is forgotten."""
    from thawbench.slurm.commands import retry

    if not retry(results, wait=wait, console=Console()):
        raise typer.Exit(1)


@app.command(rich_help_panel=PANEL)
def cancel(results: _Results = Path("results")) -> None:
    """Cancel the jobs of the sweeps of this folder, and no others; the sweep's command goes on from there."""
    from thawbench.slurm.commands import cancel

    cancel(results, Console())
