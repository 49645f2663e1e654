"""The processes of a development cluster, found in /proc: a pid file may be stale, and its pid another's by now."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thawbench.errors import UserError
from thawbench.slurm.devcluster_config import Layout


@dataclass(frozen=True)
class Process:
    """One process, as far as /proc tells.

    Attributes:
        name: of its program, or what it calls itself; at most 15 characters.
        folder: that it works in.
        environment: what it was started with, and not what it set later.
    """

    pid: int
    name: str
    folder: Path
    arguments: frozenset[str]
    environment: frozenset[str]

    @property
    def node(self) -> str:
        """Of what runs for a job, the node's name."""
        prefix = "SLURMD_NODENAME="
        return next((entry.removeprefix(prefix) for entry in self.environment if entry.startswith(prefix)), "")


def of_munge(layout: Layout) -> set[int]:
    """munged. It works in the root folder; its socket tells whose it is."""
    mark = f"--socket={layout.socket}"
    return {each.pid for each in _processes() if each.name == "munged" and mark in each.arguments}


def of_controller(layout: Layout) -> set[int]:
    """slurmctld."""
    return {each.pid for each in _processes() if each.name == "slurmctld" and each.folder == layout.controller}


def of_node(layout: Layout, node: str | None = None) -> set[int]:
    """The slurmd of a node, or of all."""
    return {each.pid for each in _processes() if each.name == "slurmd" and _belongs(each, layout, node)}


def of_steps(layout: Layout, node: str | None = None) -> set[int]:
    """What runs for jobs on a node, or on all: each step's shepherd (slurmstepd) and what it has started."""
    return {
        each.pid
        for each in _processes()
        if (each.name == "slurmstepd" and _belongs(each, layout, node))
        # a user's shell may have SLURM_CONF, but no node
        or (_knows(each, layout) and (each.node == node if node else each.node))
    }


def of_job(layout: Layout, job: str) -> set[int]:
    """What the script of a job, or of an array's task (`12_3`), has started, itself included."""
    array, separator, task = job.partition("_")
    wanted = {f"SLURM_ARRAY_JOB_ID={array}", f"SLURM_ARRAY_TASK_ID={task}"} if separator else {f"SLURM_JOB_ID={job}"}
    return {each.pid for each in _processes() if _knows(each, layout) and wanted <= each.environment}


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes. One that has just ended is no fault."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def gone(find: Callable[[], set[int]], *, within_s: float) -> bool:
    """Wait until `find` finds nothing; whether that came in time."""
    deadline = time.monotonic() + within_s
    while find():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def kill(find: Callable[[], set[int]], *, within_s: float = 10.0) -> None:
    """SIGKILL what `find` finds until it finds nothing more: what is killed may just have started another.

    All are stopped before the first is killed, so that no script sees its command die and goes on.

    Raises:
        UserError: something does not end.
    """
    deadline = time.monotonic() + within_s
    while left := find():
        if time.monotonic() > deadline:
            raise UserError(f"processes {sorted(left)} do not end, not even by SIGKILL")
        send(left, signal.SIGSTOP)
        send(left, signal.SIGKILL)
        time.sleep(0.02)


def _belongs(each: Process, layout: Layout, node: str | None) -> bool:
    return each.folder == layout.node(node) if node else each.folder.parent == layout.folder


def _knows(each: Process, layout: Layout) -> bool:
    return f"SLURM_CONF={layout.conf}" in each.environment


def _processes() -> Iterator[Process]:
    # a zombie has no folder, and counts as gone
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            yield Process(
                pid=int(entry.name),
                name=(entry / "comm").read_text(errors="replace").strip(),
                folder=Path(os.readlink(entry / "cwd").removesuffix(" (deleted)")),
                arguments=_strings(entry / "cmdline"),
                environment=_strings(entry / "environ"),
            )
        except OSError:  # it has just ended, or is another user's
            continue


def _strings(path: Path) -> frozenset[str]:
    return frozenset(path.read_bytes().decode(errors="replace").split("\0"))
