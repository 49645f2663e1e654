"""The record of a cell whose process was gone before it could write one."""

import datetime
from dataclasses import replace
from pathlib import Path

from thawbench.slurm import tasklog
from thawbench.slurm.ledger import Blame
from thawbench.slurm.verdict import Verdict
from thawbench.suite.cells import Cell
from thawbench.suite.records import Failure, Record
from thawbench.suite.runner import environment

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
    return Record(
        key=cell.key,
        status="timeout" if blame.last == "time" else "failed",
        strategy=cell.strategy,
        task=cell.task_name,
        family=cell.task.family,
        backbone=cell.adaptation.backbone.name,
        control=cell.control,
        cell=cell.identity(),
        seeds=cell.seeds,
        draws=tuple(sorted(cell.streams)),
        environment=replace(environment(cell), threads=threads),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        attempts=blame.tries + (before.attempts if before else 0),
        failure=tasklog.with_tail(Failure(name, f"{told}, {why}", ""), Path(blame.log), cell.key),
    )
