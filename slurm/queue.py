"""What runs and what waits: the answers of squeue and sacct, or the processes of this machine."""

import contextlib
import getpass
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thawbench.errors import ThawbenchError

Task = tuple[str, int]
"""A job's name, and the index in its array."""

_OVER = frozenset(
    ["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "REVOKED"]
)
_TIMEOUT_S = 60


class QueueError(ThawbenchError):
    """The scheduler does not answer; nothing may be concluded, and nothing sent."""


@dataclass(frozen=True)
class Job:
    """One array task in the queue, or one that the queue still remembers.

    Attributes:
        id: as the scheduler spells it, such as 123_4.
        reason: why it waits.
        seconds: that it has run.
    """

    id: str
    name: str
    index: int
    state: str
    node: str = ""
    reason: str = ""
    seconds: float = 0.0

    @property
    def over(self) -> bool:
        """Whether it has ended for good: a lost or preempted task that is to run again is PENDING."""
        return self.state in _OVER

    @property
    def held(self) -> bool:
        """Whether it waits for someone to release it, which nobody will."""
        return self.state == "PENDING" and ("held" in self.reason or self.reason in ("JobHeldAdmin", "JobHeldUser"))


def parse_squeue(answer: str) -> list[Job]:
    """Jobs out of `squeue --array --noheader --format='%i|%T|%M|%N|%r|%j'`; other people's lines do no harm."""
    jobs = []
    for line in answer.splitlines():
        parts = line.strip().split("|", 5)
        if len(parts) == 6:
            job, state, elapsed, node, reason, name = parts
            index = job.partition("_")[2]
            if index and not index.isdecimal():
                continue
            jobs.append(Job(job, name, int(index or 0), state, node, reason, _seconds(elapsed)))
    return jobs


def parse_sacct(answer: str) -> dict[str, set[str]]:
    """States by id out of `sacct --noheader --parsable2 --format=JobID,State`; those of a job's steps are its own.

    But not that a step was cancelled: SLURM does so itself when the job's batch script has died.
    """
    states: dict[str, set[str]] = {}
    for line in answer.splitlines():
        job, bar, state = line.strip().partition("|")
        job, dot, _ = job.partition(".")
        if bar and state and not (dot and state.startswith("CANCELLED")):
            states.setdefault(job, set()).add(state)
    return states


class SlurmQueue:
    """SLURM, through its commands."""

    def jobs(self) -> list[Job]:
        """This user's jobs, with those that ended lately.

        Raises:
            QueueError: squeue failed.
        """
        command = ["squeue", f"--user={getpass.getuser()}", "--states=all", "--array", "--noheader"]
        return parse_squeue(_run([*command, "--format=%i|%T|%M|%N|%r|%j"]))

    def states(self, ids: Iterable[str]) -> dict[str, set[str]]:
        """What the accounts say of these ids; nothing where none are kept."""
        listed = ",".join(ids)
        if not listed:
            return {}
        with contextlib.suppress(QueueError):
            answer = _run(["sacct", "--noheader", "--parsable2", f"--jobs={listed}", "--format=JobID,State"])
            return parse_sacct(answer)
        return {}

    def cancel(self, names: Iterable[str]) -> None:
        """Cancel jobs by name.

        Raises:
            QueueError: scancel failed.
        """
        for name in names:
            _run(["scancel", f"--user={getpass.getuser()}", f"--name={name}"])

    def cancel_ids(self, ids: Iterable[str]) -> None:
        """Cancel jobs by id.

        Raises:
            QueueError: scancel failed.
        """
        for job in ids:
            _run(["scancel", job])

    def release(self, job: str) -> None:
        """Release a held job.

        Raises:
            QueueError: scontrol failed.
        """
        _run(["scontrol", "release", job])

    def most_tasks(self) -> int:
        """The longest array that may be submitted.

        Raises:
            QueueError: scontrol failed.
        """
        found = re.search(r"MaxArraySize\s*=\s*(\d+)", _run(["scontrol", "show", "config"]))
        return int(found.group(1)) if found else 1001

    def cpus(self, partition: str) -> int:
        """The processors of a partition, or of the whole cluster; 0 if that is not known."""
        command = ["sinfo", "--noheader", "--format=%C", *([f"--partition={partition}"] if partition else [])]
        with contextlib.suppress(QueueError, ValueError):
            return sum(int(line.split("/")[3]) for line in _run(command).split())
        return 0


class LocalQueue:
    """Processes of this machine, known by the folder that stands in their command line."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)

    def jobs(self) -> list[Job]:
        """The tasks whose processes live, the driver that started them or not."""
        found = {}
        for pid, name, index in self._processes():
            found[name, index] = Job(str(pid), name, index, "RUNNING", os.uname().nodename)
        return list(found.values())

    def states(self, ids: Iterable[str]) -> dict[str, set[str]]:
        """Nothing: nobody keeps accounts here."""
        return {}

    def cancel(self, names: Iterable[str]) -> None:
        """Ask the processes of these jobs to leave."""
        wanted = set(names)
        for pid, name, _ in self._processes():
            if name in wanted:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)

    def _processes(self) -> Iterator[tuple[int, str, int]]:
        """Process, job's name and index; a task may have several processes."""
        of_task = re.compile(re.escape(self._folder) + r"/([^/]+)/jobs/(\d+)(?:\s|\0|'|$)")
        for pid, line in _processes():
            match = of_task.search(line)
            if match and pid != os.getpid():
                yield pid, match.group(1), int(match.group(2))


def _processes() -> list[tuple[int, str]]:
    """Process ids and command lines."""
    proc = Path("/proc")
    if not (proc / "self").exists():
        answer = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True).stdout
        split = (line.strip().partition(" ") for line in answer.splitlines())
        return [(int(pid), line) for pid, _, line in split if pid.isdecimal()]
    found = []
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(entry.name), line))
    return found


def _seconds(elapsed: str) -> float:
    """[days-][hours:]minutes:seconds."""
    days, dash, rest = elapsed.rpartition("-")
    seconds = 0
    for part in rest.split(":"):
        if not part.isdecimal():
            return 0.0
        seconds = 60 * seconds + int(part)
    return float(seconds + (86400 * int(days) if dash and days.isdecimal() else 0))


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise QueueError(f"{command[0]} does not answer: {error}") from None
    if done.returncode != 0:
        told = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise QueueError(f"{command[0]} does not answer: {told}")
    return done.stdout
