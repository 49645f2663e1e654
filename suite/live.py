"""The command line's face of the suite: progress while it runs, tables when it is done."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from thawbench.strategies.tuned import FOLDER
from thawbench.suite.estimate import Basis, Costs, Estimate, basis_told, estimate, lasts, total
from thawbench.suite.options import Settings
from thawbench.suite.record_store import RecordStore
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
        TextColumn("{task.description}", markup=False),
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
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for told in troubles:  # another's words, in which brackets are no markup
        console.print(f"[red]red[/red] {escape(told)}", highlight=False, soft_wrap=True)
    return not troubles


def show_plan(settings: Settings, console: Console) -> None:
    """Print what a run would do and how long it would take, by strategy and by family of tasks. Nothing is written."""
    plan = plan_of(settings)
    records = RecordStore(settings.results, read_only=True)
    recorded = {record.key: record for record in records.all()}
    costs = Costs(recorded.values(), plan.backbone.weights_hash, plan.backbone.device)
    known = ((cell, recorded.get(cell.key)) for cell in plan.cells)
    done = {cell.key for cell, record in known if record is not None and settled(record, cell)}
    found = estimate(plan.cells, done, costs)
    for place, kind in enumerate(("strategy", "family")):
        rows = [
            [name, *_columns(total(part for group, part in found.items() if group[place] == name))]
            for name in dict.fromkeys(group[place] for group in found)
        ]
        header = [kind, "cells", "to run", "fits", "fitting", "measuring", "known"]  # names need the room
        console.print(_table(header, rows))
        console.print()
    whole = total(found.values())
    shared = sum(not cell.reason for cell in plan.cells)
    console.print(
        f"{whole.cells} cells: {whole.done} done or not applicable, {whole.cells - whole.done} to run; "
        f"{plan.adaptations} adaptations serve {shared} cells; "
        f"backbone {plan.backbone.name} in {plan.backbone.precision}",
        f"about {lasts(whole.seconds)} one after another on {plan.backbone.device}: {lasts(whole.fit_s)} of fitting "
        f"and {lasts(whole.measure_s)} of measuring; {basis_told(whole)}"
        if whole.seconds
        else "nothing to run",
        sep="\n",
        highlight=False,
        soft_wrap=True,
    )


def _columns(part: Estimate) -> list[str]:
    counts = [part.cells, part.cells - part.done, part.fits]
    known = f"{100 * part.share(Basis.MEASURED):.0f} %" if part.seconds else ""
    return [*map(str, counts), lasts(part.fit_s), lasts(part.measure_s), known]


def show_search(
    strategy: str, field: str, values: Sequence[str], settings: Settings, out: Path | None, console: Console
) -> None:
    """Run a search, print the dev scores and the value chosen by them, and write it down."""
    folder = out or FOLDER
    with console.status("planning …") as status:
        found, records = search(strategy, field, values, settings, status.update, folder)
    header, rows = search_table(found)
    console.print(_table(header, rows))
    path = write_search(found, records, folder)
    console.print(
        f"dev scores times 100, mean ± std over seeds; {found.strategy} takes {field} = {found.chosen} for backbones "
        f"of the size of {found.backbone}: {path}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _table(header: list[str], rows: list[list[str]]) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position < 1 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
