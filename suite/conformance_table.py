"""`thawbench check`: every check of the conformance kit over one strategy, as a table."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thawbench.errors import UserError
from thawbench.names import strategy_file
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.suite.conformance import Subject, load_start, run_check
from thawbench.suite.conformance_checks import CHECKS
from thawbench.suite.plan import chosen_strategies
from thawbench.suite.session import prepare

_COLOURS = {"passed": "green", "failed": "bold red", "not applicable": "dim"}


def show(strategy: str, backbone: str, console: Console) -> bool:
    """Check and print; True if nothing failed.

    Raises:
        UserError: no such strategy or backbone, a wrong option, or more than one strategy.
    """
    prepare(None)
    chosen = chosen_strategies([strategy])
    _, steps = strategy_file(NAMED_ROWS.get(strategy, strategy))  # a plus in the path of a file joins none
    if len(chosen) != 1 or "+" in steps:
        raise UserError(f"check takes one strategy, and {strategy!r} names several")
    subject = Subject(chosen[0], load_start(backbone))
    table = Table("check", "outcome", "why", title=f"{escape(strategy)} on {escape(backbone)}", title_justify="left")
    verdicts = []
    with console.status("") as status:
        for check in CHECKS:
            status.update(check.__name__.replace("_", " "))
            verdict = run_check(check, subject)
            verdicts.append(verdict)
            table.add_row(verdict.check, f"[{_COLOURS[verdict.outcome]}]{verdict.outcome}[/]", escape(verdict.why))
    console.print(table)
    failed = sum(verdict.outcome == "failed" for verdict in verdicts)
    passed = sum(verdict.outcome == "passed" for verdict in verdicts)
    console.print(f"{passed} passed, {failed} failed, {len(verdicts) - passed - failed} not applicable")
    return not failed
