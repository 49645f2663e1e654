"""The command line's face of the suite: progress while it runs, tables when it is done."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from thawbench.strategies.tuned import FOLDER
from thawbench.suite.options import Settings
from thawbench.suite.records import RecordStore
from thawbench.suite.runner import Outcome, settled
from thawbench.suite.session import open_session, plan_of
from thawbench.suite.summary import damage, summary
from thawbench.suite.tune import search
from thawbench.suite.tune import table as search_table
from thawbench.suite.tuned_file import write_search


def run_live(settings: Settings, console: Console) -> bool:
    """Run the plan with a progress bar, print the scores; whether no cell is red."""
    with console.status("planning …"):
        session = open_session(settings)
    outcomes: list[Outcome] = []
    troubles: list[str] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(session.plan.cells))
        for position, cell in enumerate(session.plan.cells):
            progress.update(bar, description=cell.label)
            outcome = session.run(position)
            outcomes.append(outcome)
            told = session.trouble(outcome)
            if told:
                troubles.append(f"{cell.label}: {told}")
            progress.advance(bar)
    runner = session.runner
    for line in [*summary(outcomes, runner.results, runner.store.fitted), *damage(runner.records)]:
        console.print(line, highlight=False, soft_wrap=True)
    for told in troubles:
        console.print(f"[red]red[/red] {told}", highlight=False, soft_wrap=True)
    return not troubles


def show_plan(settings: Settings, console: Console) -> None:
    """Print what a run would do, by strategy and family of tasks. Nothing is written."""
    plan = plan_of(settings)
    records = RecordStore(settings.results, read_only=True)
    all_cells: Counter[tuple[str, str]] = Counter()
    done: Counter[tuple[str, str]] = Counter()
    adaptations: dict[tuple[str, str], set[str]] = {}
    for cell in plan.cells:
        group = (cell.strategy, cell.task.family)
        record = records.read(cell.key)
        all_cells[group] += 1
        done[group] += bool(cell.reason) or (record is not None and settled(record, cell))
        if not cell.reason:
            adaptations.setdefault(group, set()).add(cell.adaptation.key)
    header = ["strategy", "family", "cells", "done", "to run", "adaptations"]
    rows = [
        [*group, str(count), str(done[group]), str(count - done[group]), str(len(adaptations.get(group, ())))]
        for group, count in all_cells.items()
    ]
    console.print(_table(header, rows))
    total, finished = sum(all_cells.values()), sum(done.values())
    shared = sum(not cell.reason for cell in plan.cells)
    backbone = f"{plan.backbone.name} in {plan.backbone.precision}"
    console.print(
        f"{total} cells: {finished} done or not applicable, {total - finished} to run; "
        f"{plan.adaptations} adaptations serve {shared} cells; backbone {backbone}",
        highlight=False,
        soft_wrap=True,
    )


def show_search(
    strategy: str, field: str, values: Sequence[str], settings: Settings, out: Path | None, console: Console
) -> None:
    """Run a search, print the dev scores and the value chosen by them, and write it down."""
    with console.status("planning …") as status:
        found, records = search(strategy, field, values, settings, status.update)
    header, rows = search_table(found)
    console.print(_table(header, rows))
    path = write_search(found, records, out or FOLDER)
    console.print(
        f"dev scores times 100, mean ± std over seeds; {found.strategy} takes {field} = {found.chosen} for backbones "
        f"of the size of {found.backbone}: {path}",
        highlight=False,
        soft_wrap=True,
    )


def _table(header: list[str], rows: list[list[str]]) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position < 1 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
