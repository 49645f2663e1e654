"""What runs in an array task: its cells, one after another, each leaving its record.

A task may be killed at any moment and started again, here or elsewhere: it runs what has no record yet.
"""

import contextlib
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import submitit

import thawbench
from thawbench.contracts import Budget
from thawbench.errors import UserError
from thawbench.slurm.glance import Glances
from thawbench.slurm.tasklog import BEGIN, END, FAILED_TO_START, LEFT, OUT_OF_TIME, RUN, with_tail
from thawbench.slurm.tasks import TaskFile
from thawbench.strategies.interruption import Interrupted

if TYPE_CHECKING:
    from thawbench.suite.cells import Cell
    from thawbench.suite.plan import Request

_EARLY_S = 65.0
"""SLURM may send its warning up to a minute early."""


def work(path: str) -> None:
    """Run the task that a file describes; this is the function that submitit is given, with this path."""
    task = TaskFile.read(Path(path))
    with _log_of(task):
        _Worker(task).go()


class _Worker:
    def __init__(self, task: TaskFile) -> None:
        self.task = task
        self.started = time.monotonic()
        self.finished = 0
        self.in_training = True  # until our own handler says otherwise
        self.cell: Cell | None = None
        self.kept: set[str] = set()

    def go(self) -> None:
        signals = (signal.SIGUSR2, signal.SIGTERM)
        before = {signum: signal.signal(signum, self._leave) for signum in signals}
        try:
            self._run()
        except Interrupted as left:
            for signum in signals:
                signal.signal(signum, signal.SIG_IGN)  # we are leaving
            self._obey(left)
        except Exception:
            print(f"{FAILED_TO_START}\n{traceback.format_exc()}", flush=True)
            if not self.task.snapshot:
                raise  # in the driver's own process, whose user wants to look into it
            sys.exit(1)
        finally:
            for signum, handler in before.items():
                signal.signal(signum, handler)

    def _leave(self, signum: int, frame: FrameType | None) -> None:
        """Outside of training there is nothing to save: leave at once."""
        self.in_training = False
        raise Interrupted(signum)

    def _run(self) -> None:
        # here, so that a warning that comes while torch is imported finds someone who listens
        from thawbench.suite.plan import CellName, find_cells
        from thawbench.suite.runner import Runner
        from thawbench.suite.session import prepare

        task = self.task
        _check_code(task.snapshot)
        prepare(task.threads)
        results = Path(task.results)
        glances = Glances(results)
        wanted = [cell for cell in task.cells if not cell.answered(glances.get(cell.key))]
        cells = find_cells(_request(task), [CellName(cell.strategy, cell.task, cell.seeds) for cell in wanted])
        for cell, named in zip(cells, wanted, strict=True):
            if cell.key != named.key:
                raise UserError(
                    f"{cell.label} is another cell here than where it was submitted: its data, its weights or a "
                    "version differ; make this machine see the same files"
                )
        runner = Runner(results, cells, keep_checkpoints=task.keep_checkpoints)
        for cell, named in zip(cells, wanted, strict=True):
            self.cell, self.kept = cell, self._kept_of(cell)
            print(f"{BEGIN} {cell.key} {cell.label}", flush=True)
            clock = time.monotonic()
            outcome = runner.run(cell)
            record = outcome.record
            if record.failure is not None and not outcome.cached:
                failure = with_tail(record.failure, _log_path(task), named.key)
                runner.records.write(replace(record, failure=failure))
            print(f"{END} {cell.key} {record.status} {time.monotonic() - clock:.3f} s", flush=True)
            self.finished += 1

    def _obey(self, left: Interrupted) -> None:
        """Go on in a new run of this task, unless nothing would come of it."""
        print(f"{LEFT} {left}; {self.finished} cells done", flush=True)
        if left.signum != signal.SIGUSR2:
            sys.exit(128 + left.signum)  # whoever sent this decides what comes next
        task = self.task
        out_of_time = time.monotonic() - self.started >= task.time_s - task.signal_delay_s - _EARLY_S
        fitted = self.cell is not None and bool(self._kept_of(self.cell) - self.kept)
        if out_of_time and not (self.finished or self.in_training or fitted):
            print(f"{OUT_OF_TIME} {task.time_s} s were too little for one cell", flush=True)
            sys.exit(1)
        try:
            submitit.JobEnvironment()._requeue(1)
        except Exception as error:  # no scontrol here, or it does not answer: the driver submits what is left
            print(f"not requeued: {error}", flush=True)
        sys.exit(1)

    def _kept_of(self, cell: "Cell") -> set[str]:
        """What the next run will find of the cell's adaptations: those that are fitted, and each save of a training."""
        folder = Path(self.task.results) / "adaptations"
        keys = {adaptation.key for adaptation in cell.needed}
        saves = [save for key in keys for save in (folder / f".{key}.training").glob("*.safetensors")]
        kept = {key for key in keys if (folder / key).is_dir()}
        with contextlib.suppress(FileNotFoundError):  # another run of the same fit has just ended
            kept |= {f"{save} of {save.stat().st_mtime_ns}" for save in saves}
        return kept


def _request(task: TaskFile) -> "Request":
    from thawbench.suite.plan import Request

    return Request(
        strategies=task.strategy_files,
        profile=task.profile,
        backbone=task.backbone,
        precision=task.precision,
        device=task.device,
        sets=task.sets,
        budget=Budget(steps=task.steps),
    )


def _check_code(snapshot: str) -> None:
    runs = Path(thawbench.__file__).resolve().parent
    if snapshot and runs != (Path(snapshot) / "thawbench").resolve():
        raise UserError(f"the code in {runs} would run, and not what was submitted, which lies in {snapshot}")


def _run_name() -> str:
    """Tells one run of a task from another: the job, and how often it was restarted."""
    restart = os.environ.get("SLURM_RESTART_COUNT", "0")
    job = os.environ.get("SLURM_JOB_ID") or f"{socket.gethostname()}-{os.getpid()}"
    return f"{job}-{restart}"


def _log_path(task: TaskFile) -> Path:
    return Path(task.logs) / f"{task.index}.{_run_name()}.log"


@contextmanager
def _log_of(task: TaskFile) -> Iterator[None]:
    """Whatever this process prints goes to a file of this run; in the driver's own process (debug) it stays here."""
    path = _log_path(task)
    path.parent.mkdir(parents=True, exist_ok=True)
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    head = f"{RUN} {task.index} run {_run_name()} node {node} at {time.strftime('%Y-%m-%dT%H:%M:%S%z')}"
    if not task.snapshot:
        path.write_text(head + "\n")
        yield
        return
    print(head, file=sys.stderr, flush=True)  # SLURM's own words on this run follow in that file
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    kept = [os.dup(1), os.dup(2)]
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    try:
        print(head, flush=True)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, old in zip((1, 2), kept, strict=True):
            os.dup2(old, stream)
            os.close(old)
