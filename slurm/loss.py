"""The record of a cell whose process was gone before it could write one."""

from dataclasses import replace
from pathlib import Path

from thawbench.slurm import tasklog
from thawbench.slurm.ledger import Blame
from thawbench.slurm.verdict import Verdict
from thawbench.suite.cells import Cell
from thawbench.suite.records import Failure, Record
from thawbench.suite.runner import environment, now, record_of

_TYPES: dict[Verdict, tuple[str, str]] = {
    "crash": ("Crash", "its process died"),
    "memory": ("OutOfMemory", "its process was killed for memory"),
    "time": ("OutOfTime", "it took longer than its task may"),
}


def loss_of(cell: Cell, before: Record | None, blame: Blame, why: str, threads: int) -> Record:
    """`failed`, or `timeout`, with the last lines of its log.

    Args:
        before: the record that this one replaces.
        why: there is no other try.
        threads: that it ran with; the rest of its environment is that of this process.
    """
    name, told = _TYPES[blame.last]
    return record_of(
        cell,
        "timeout" if blame.last == "time" else "failed",
        replace(environment(cell), threads=threads),
        now(),
        attempts=blame.tries + (before.attempts if before else 0),
        failure=tasklog.with_tail(Failure(name, f"{told}, {why}", ""), Path(blame.log), cell.key),
    )
