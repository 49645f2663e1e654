"""Handing tasks to a cluster through submitit: SLURM, processes of this machine, or this process itself.

submitit pickles a function by its name and the path of a task file, and nothing else.
"""

import contextlib
import os
import shlex
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError

from thawbench.errors import UserError
from thawbench.slurm.folder import LOGS
from thawbench.slurm.ledger import Sent
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.queue import Job, LocalQueue, QueueError, SlurmQueue, Task
from thawbench.slurm.worker import work

_MANY = 1000


class Slurm:
    """Arrays of a SLURM cluster.

    Raises:
        UserError: this machine has no SLURM, or it does not answer.
    """

    def __init__(self, options: SweepOptions, folder: Path) -> None:
        missing = [name for name in ("sbatch", "srun", "squeue", "scancel", "scontrol") if shutil.which(name) is None]
        if missing:
            raise UserError(
                f"--cluster slurm needs SLURM's commands on the path, and there is no {' or '.join(missing)}: "
                "run it on a login node, or take --cluster local for processes of this machine"
            )
        self.options = options
        self.queue = SlurmQueue()
        try:
            self.most_tasks = self.queue.most_tasks()
        except QueueError as error:
            raise UserError(f"--cluster slurm needs a SLURM that answers: {error}") from None
        cpus = self.queue.cpus(options.partition)
        self.slots = options.array_parallelism or max(1, cpus // max(1, options.cpus))

    def start(self, sent: Sent, paths: Sequence[Path], environment: dict[str, str]) -> str:
        """Submit an array; its id.

        Raises:
            QueueError: sbatch failed; whether the array was made all the same, the queue will show.
        """
        options = self.options
        executor = submitit.SlurmExecutor(folder=paths[0].parent / LOGS)
        executor.update_parameters(
            job_name=sent.name,
            time=sent.time,
            mem=f"{round(sent.mem_gb * 1024)}M",
            cpus_per_task=options.cpus,
            gpus_per_node=options.gpus or None,
            partition=options.partition or None,
            account=options.account or None,
            qos=options.qos or None,
            wckey=None,
            signal_delay_s=options.signal_delay_s,
            setup=[*options.setup, *(f"export {name}={shlex.quote(text)}" for name, text in environment.items())],
            additional_parameters={"requeue": True},
            array_parallelism=options.array_parallelism or len(paths),
        )
        try:
            with _clean_environment():
                jobs = executor.map_array(work, [str(path) for path in paths])
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            raise QueueError(" ".join(str(error).split())) from None
        return str(jobs[0].job_id).partition("_")[0]

    def jobs(self) -> dict[Task, Job]:
        """What waits and runs, and what the scheduler remembers of what did.

        Raises:
            QueueError: it does not answer.
        """
        return {(job.name, job.index): job for job in self.queue.jobs()}


class Local:
    """Processes of this machine, as many at once as it has slots; those that wait are started by `jobs`."""

    most_tasks = _MANY

    def __init__(self, options: SweepOptions, folder: Path) -> None:
        self.options = options
        self.queue = LocalQueue(folder)
        self.slots = options.array_parallelism or max(1, _cpus() // max(1, options.cpus))
        self._waiting: deque[tuple[Task, Sent, Path, dict[str, str]]] = deque()
        self._started: list[submitit.Job[None]] = []

    def start(self, sent: Sent, paths: Sequence[Path], environment: dict[str, str]) -> str:
        """Put the tasks in line."""
        self._waiting.extend(((sent.name, index), sent, path, environment) for index, path in enumerate(paths))
        return sent.name

    def jobs(self) -> dict[Task, Job]:
        """What waits and runs, after those are started for which there is room."""
        for job in self._started:
            job.done()  # reaps a process that has ended
        running = {(job.name, job.index): job for job in self.queue.jobs()}
        while self._waiting and len(running) < self.slots:
            (name, index), sent, path, environment = self._waiting.popleft()
            executor = submitit.LocalExecutor(folder=path.parent / LOGS / str(index))
            executor.update_parameters(
                timeout_min=sent.time,
                signal_delay_s=self.options.signal_delay_s,
                gpus_per_node=self.options.gpus,
                setup=list(self.options.setup),
            )
            with _clean_environment(), _with(environment):
                self._started.append(executor.submit(work, str(path)))
            running[name, index] = Job(str(self._started[-1].job_id), name, index, "RUNNING", os.uname().nodename)
        waiting = {task: Job("", *task, "PENDING") for task, _, _, _ in self._waiting}
        return running | waiting

    def forget(self) -> None:
        """Start none of those that wait."""
        self._waiting.clear()


class Debug:
    """The driver's own process: each task runs when it is submitted, its output in sight and breakpoints at hand."""

    most_tasks = _MANY
    slots = 1

    def __init__(self, options: SweepOptions, folder: Path) -> None:
        self.queue = LocalQueue(folder)

    def start(self, sent: Sent, paths: Sequence[Path], environment: dict[str, str]) -> str:
        """Run the tasks, one after another."""
        executor = submitit.DebugExecutor(folder=paths[0].parent / LOGS)
        for path in paths:
            error = executor.submit(work, str(path)).exception()  # not `result`, which leaves files open
            if error is not None:
                raise error
        return sent.name

    def jobs(self) -> dict[Task, Job]:
        """Nothing runs between two calls."""
        return {}


Backend = Slurm | Local | Debug


def backend(options: SweepOptions, folder: Path) -> Backend:
    """What the options name.

    Raises:
        UserError: it cannot be had here; the text says what it needs.
    """
    kinds: dict[str, type[Slurm] | type[Local] | type[Debug]] = {"slurm": Slurm, "local": Local, "debug": Debug}
    return kinds[options.cluster](options, folder)


def job_environment(snapshot: Path, threads: int, cpus: int) -> dict[str, str]:
    """The variables that a task is started with, beside the driver's own."""
    count = str(threads)
    path = os.pathsep.join(filter(None, [os.fspath(snapshot), os.environ.get("PYTHONPATH", "")]))
    return {
        "PYTHONPATH": path,
        "PYTHONSAFEPATH": "1",  # else a folder `thawbench` where the driver was started would come first
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "SRUN_CPUS_PER_TASK": str(cpus),  # SLURM 22.05 and later: srun does not take it from sbatch,
    }


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _clean_environment() -> Iterator[None]:
    """Without what a job that we may be in left in the environment; where SLURM's configuration lies stays."""
    configuration = os.environ.get("SLURM_CONF")
    with submitit.helpers.clean_env():
        if configuration is not None:
            os.environ["SLURM_CONF"] = configuration
        yield


@contextlib.contextmanager
def _with(environment: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
