"""How a sweep stands, out of the plan, the records, the ledger and the queue; nothing here needs torch."""

import contextlib
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table

from thawbench.errors import UserError
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.glance import Glances
from thawbench.slurm.queue import Job, LocalQueue, QueueError, SlurmQueue, Task
from thawbench.slurm.tasklog import log_of
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

DONE = ("ok", "degenerate", "not_applicable")
STATES = (*DONE, "failed", "timeout", "running", "waiting", "to send")
_SHOWN = 10


@dataclass
class Standing:
    """How many cells are in which state, and what is under way.

    Attributes:
        cells: by state.
        strategies, families: the same by strategy, and by family of tasks.
        jobs: tasks that wait or run.
        seconds_left: expected work of the cells without a record, as of one slot, by how far those with one were off.
        failed: keys, some of them.
    """

    cells: Counter[str] = field(default_factory=Counter)
    strategies: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    families: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    jobs: list[Job] = field(default_factory=list)
    seconds_left: float = 0.0
    began: float | None = None
    failed: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def running(self) -> list[Job]:
        """Tasks that run now."""
        return [job for job in self.jobs if job.state == "RUNNING"]

    def count(self, state: str, strategy: str, family: str) -> None:
        """Count a cell."""
        self.cells[state] += 1
        self.strategies[strategy][state] += 1
        self.families[family][state] += 1


def standing(folder: SweepFolder) -> Standing:
    """How the sweeps of a folder of results stand: what was planned last, and all records."""
    found = Standing()
    ledger = folder.ledger()
    jobs, found.trouble = _jobs(folder, {sent.cluster for sent in ledger.sent.values()})
    found.began = ledger.began
    found.jobs = [job for task, job in jobs.items() if task[0] in ledger.sent]
    under_way: dict[str, str] = {}
    for task, job in jobs.items():
        if task[0] in ledger.sent:
            state = "running" if job.state == "RUNNING" else "waiting"
            with contextlib.suppress(UserError):
                under_way.update((cell.key, state) for cell in folder.task(*task).cells)
    took: dict[str, float] = {}
    for record in Glances(folder.results).all():
        took[record.key] = record.wall_s
        if record.failed and record.key in under_way:
            found.count(under_way[record.key], record.strategy, record.family)
            continue
        found.count(record.status, record.strategy, record.family)
        if record.failed and len(found.failed) < _SHOWN:
            found.failed.append(record.key)
    expected = spent = 0.0
    for cell in folder.read_plan():
        if cell.key in took:
            expected, spent = expected + cell.seconds, spent + took[cell.key]
        else:
            found.count(under_way.get(cell.key, "to send"), cell.strategy, cell.family)
            found.seconds_left += cell.seconds
    if expected and spent:  # a guess that was twice too long so far is taken to be so for the rest
        found.seconds_left *= spent / expected
    return found


def _jobs(folder: SweepFolder, clusters: set[str]) -> tuple[dict[Task, Job], str]:
    """What is under way by the queues of these clusters; and why that is not known, if it is not."""
    jobs: list[Job] = []
    trouble = ""
    if "slurm" in clusters:
        try:
            jobs += SlurmQueue().jobs()
        except QueueError as error:
            trouble = str(error)
    if "local" in clusters:
        jobs += LocalQueue(folder.path).jobs()
    return {(job.name, job.index): job for job in jobs if not job.over}, trouble


def view(found: Standing, results: Path) -> RenderableType:
    """The standing, to be shown."""
    shown: list[RenderableType] = []
    present = [state for state in STATES if found.cells[state]]
    for title, groups in (("strategy", found.strategies), ("family", found.families)):
        table = Table(header_style="bold", box=None, pad_edge=False)
        table.add_column(title, overflow="fold")
        for state in present:
            table.add_column(state.replace("_", " "), justify="right")
        for name, counts in sorted(groups.items()):
            table.add_row(name, *(str(counts[state] or "") for state in present))
        if title == "strategy":
            table.add_section()
            table.add_row("all", *(str(found.cells[state]) for state in present), style="bold")
        shown += [table, ""]
    shown.append(summary_line(found))
    if found.trouble:
        shown.append(f"what is under way is not known: {found.trouble}")
    return Group(*shown, *failure_lines(found, results))


def summary_line(found: Standing) -> str:
    """Cells, jobs, nodes, elapsed, rest: one line."""
    total = found.cells.total()
    done = sum(found.cells[state] for state in DONE)
    bad = found.cells["failed"] + found.cells["timeout"]
    waiting = len(found.jobs) - len(found.running)
    nodes = {job.node for job in found.running if job.node}
    parts = [f"{total} cells: {done} done, {bad} failed, {total - done - bad} to go"]
    if found.jobs:
        parts.append(f"{len(found.running)} tasks run on {len(nodes)} nodes, {waiting} wait")
    if found.began is not None:
        parts.append(f"{spell(time.time() - found.began)} since the first was sent")
    if found.running and found.seconds_left:
        parts.append(f"about {spell(found.seconds_left / len(found.running))} left")
    return "; ".join(parts)


def failure_lines(found: Standing, results: Path) -> list[str]:
    """What failed, one line each for the first few: why, and where the log is."""
    records = RecordStore(results, read_only=True)
    lines = [told for key in found.failed if (told := _failure_line(records.read(key)))]
    left = found.cells["failed"] + found.cells["timeout"] - len(lines)
    if left > 0:
        lines.append(f"… and {left} more failed")
    return [*lines, "thawbench retry sends what failed again"] if lines else []


def _failure_line(record: Record | None) -> str:
    if record is None or record.failure is None:
        return ""
    log = log_of(record.failure)
    first = " ".join(record.failure.message.split())
    told = f"{record.status} {record.key[:12]} {record.strategy} {record.task}: {record.failure.type}: {first:.160}"
    return f"{told}; log: {log}" if log else told


def show(results: Path, console: Console) -> None:
    """Print how the sweeps of a folder stand.

    Raises:
        UserError: there is no such folder.
    """
    if not results.is_dir():
        raise UserError(f"there is no folder {results}; give the one of the sweep with --results")
    folder = SweepFolder(results)
    console.print(view(standing(folder), folder.results), highlight=False, soft_wrap=True, markup=False)


def spell(seconds: float) -> str:
    """A time for people: 45 s, 12 min, 3.4 h."""
    if seconds < 120:
        return f"{max(0, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
