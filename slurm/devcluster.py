"""A real SLURM on this one machine, for tests and for trying out: `python -m thawbench.slurm.devcluster up`.

It takes Debian's packages and no systemd: one munged, one slurmctld and several slurmd on loopback, all of one user and
with all they write in one folder. Two clusters in two folders know nothing of each other.
"""

import argparse
import fcntl
import getpass
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from thawbench.cache import cache_folder
from thawbench.errors import UserError
from thawbench.slurm import devcluster_processes as processes
from thawbench.slurm.devcluster_config import Layout, Shape, free_ports, node_names

COMMAND = "python -m thawbench.slurm.devcluster"
NODES, CPUS, MEMORY_MB = 2, 2, 8000
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo", "scancel")
_PATIENCE_S = 60.0
_POLL_S = 0.1
_READY = ("idle", "mixed", "allocated", "completing")


def unavailable() -> str:
    """Why no cluster can be started here, and the way out; empty if one can."""
    missing = [program for program in _PROGRAMS if _find(program) is None]
    if not missing:
        return ""
    way = "apt-get install --no-install-recommends slurm-wlm munge"
    return f"{', '.join(missing)} not found; on Debian or Ubuntu: {way}"


def default_folder() -> Path:
    """Where a cluster lives if no folder is named."""
    return cache_folder() / "devcluster"


@dataclass(frozen=True)
class Cluster:
    """A cluster that was started, running or not.

    Nothing of this process is changed: what is to talk to the cluster needs `environment`.
    """

    layout: Layout
    shape: Shape

    @property
    def folder(self) -> Path:
        """All that the cluster writes."""
        return self.layout.folder

    @property
    def conf(self) -> Path:
        """slurm.conf."""
        return self.layout.conf

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment of sbatch, squeue, submitit, …."""
        return {"SLURM_CONF": str(self.conf)}

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return node_names(self.shape)

    def run(self, *command: str, timeout_s: float = _PATIENCE_S) -> str:
        """What a command such as `squeue` prints.

        Raises:
            UserError: it fails, or takes too long.
        """
        environment = {**os.environ, **self.environment}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise UserError(f"{command[0]} has not answered for {timeout_s:g} s") from None
        if done.returncode:
            told = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
            raise UserError(f"{command[0]}: {told.splitlines()[-1]}")
        return done.stdout

    def node_states(self) -> dict[str, str]:
        """SLURM's word for each node, such as idle, mixed, down* (`*`: it does not answer)."""
        lines = self.run("sinfo", "--noheader", "--Node", "--format=%N %T").split("\n")
        return dict(sorted(line.split() for line in lines if line))

    def jobs(self) -> dict[str, str]:
        """The state of each job or array task in the queue by its id (`7`, `12_3`); ended ones are left out."""
        lines = self.run("squeue", "--noheader", "--array", "--format=%i %T").split("\n")
        return dict(line.split() for line in lines if line)

    def kill_job(self, job: str) -> None:
        """SIGKILL all that a job or array task has started, as the kernel would do when memory is short."""
        processes.kill(lambda: processes.of_job(self.layout, job))

    def kill_node(self, name: str, *, noticed: bool = False) -> None:
        """Lose a node: SIGKILL its slurmd and all that runs there.

        Args:
            noticed: tell slurmctld at once; by itself it takes 40 to 50 s.
        """
        layout = self.layout
        processes.kill(lambda: processes.of_node(layout, name) | processes.of_steps(layout, name))
        if noticed:
            self.run("scontrol", "update", f"nodename={name}", "state=down", "reason=lost")

    def start_node(self, name: str) -> None:
        """Bring a node back, and wait until it takes jobs. One that runs is left alone."""
        if not processes.of_node(self.layout, name):
            _start(self.layout, "slurmd", "-N", name, "-f", str(self.conf))
        if processes.of_controller(self.layout):
            self._wait_for([name])

    def stop_controller(self) -> None:
        """Stop slurmctld as an admin does: it saves its state; jobs go on, but no command is answered."""
        self._stop(lambda: processes.of_controller(self.layout))

    def start_controller(self) -> None:
        """Start slurmctld, and wait until it answers. One that runs is left alone."""
        if not processes.of_controller(self.layout):
            _start(self.layout, "slurmctld", "-f", str(self.conf))
        _until(self._answers, f"slurmctld does not answer; see {self.layout.controller / 'slurmctld.log'}")

    def clear(self) -> None:
        """Cancel and kill all jobs, and wait until none is left."""
        jobs = {job.partition("_")[0] for job in self.jobs()}
        if jobs:
            self.run("scancel", *jobs)
        processes.kill(lambda: processes.of_steps(self.layout))
        _until(lambda: not self.jobs(), f"jobs {', '.join(sorted(jobs))} stay in the queue after scancel")

    def running(self) -> dict[str, bool]:
        """Which daemons run: munged, slurmctld, and each node's slurmd by the node's name."""
        layout = self.layout
        return {
            "munged": bool(processes.of_munge(layout)),
            "slurmctld": bool(processes.of_controller(layout)),
            **{name: bool(processes.of_node(layout, name)) for name in self.nodes},
        }

    def down(self) -> None:
        """Cancel what runs and stop all daemons. The folder stays, and `up` there goes on counting job ids."""
        layout = self.layout
        if processes.of_controller(layout) and self._answers():
            self.clear()
        self._stop(lambda: processes.of_controller(layout) | processes.of_node(layout))
        processes.kill(lambda: processes.of_steps(layout))
        self._stop(lambda: processes.of_munge(layout))

    def _stop(self, find: Callable[[], set[int]]) -> None:
        processes.send(find(), signal.SIGTERM)
        if not processes.gone(find, within_s=_PATIENCE_S):
            processes.kill(find)

    def _answers(self) -> bool:
        try:
            return "UP" in self.run("scontrol", "ping", timeout_s=5)
        except UserError:
            return False

    def _wait_for(self, names: Sequence[str]) -> None:
        def ready() -> bool:
            states = self.node_states()
            for name in names:
                if states[name].startswith(("drain", "down")) and not states[name].endswith("*"):
                    with suppress(UserError):  # it may have come back by itself since, and cannot be resumed then
                        self.run("scontrol", "update", f"nodename={name}", "state=resume")
            return all(states[name] in _READY for name in names)

        _until(ready, f"{', '.join(names)}: not ready; see {self.folder}/node*/slurmd.log")


def up(folder: Path, *, nodes: int = NODES, cpus: int = CPUS, memory_mb: int = MEMORY_MB) -> Cluster:
    """Start a cluster, or what is missing of one, and wait until every node takes jobs.

    Args:
        folder: its home; made if need be. What is there of a former cluster is taken up.
        nodes, cpus, memory_mb: how many nodes, and the size of each.

    Raises:
        UserError: packages are missing, another shape runs here, or a daemon does not start.
    """
    if reason := unavailable():
        raise UserError(reason)
    layout = Layout(folder.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(layout):
        cluster = Cluster(layout, _shape(layout, nodes, cpus, memory_mb))
        if not processes.of_munge(layout):
            _start_munge(layout)
        cluster.start_controller()
        for name in cluster.nodes:
            if not processes.of_node(layout, name):
                _start(layout, "slurmd", "-N", name, "-f", str(cluster.conf))
        cluster._wait_for(cluster.nodes)
    return cluster


def find(folder: Path) -> Cluster | None:
    """The cluster of a folder, running or not; None if there never was one."""
    layout = Layout(folder.resolve())
    shape = layout.read_shape()
    return None if shape is None else Cluster(layout, shape)


def _shape(layout: Layout, nodes: int, cpus: int, memory_mb: int) -> Shape:
    before = layout.read_shape()
    if before is not None and any(Cluster(layout, before).running().values()):
        if (before.nodes, before.cpus, before.memory_mb) != (nodes, cpus, memory_mb):
            way = f"{COMMAND} down --folder {layout.folder}"
            raise UserError(f"in {layout.folder} runs a cluster of {_sizes(before)}; stop it first: {way}")
        return before
    shape = Shape(nodes, cpus, memory_mb, free_ports(layout.folder, 1 + nodes))
    layout.write(shape, getpass.getuser())
    return shape


def _sizes(shape: Shape) -> str:
    return f"{shape.nodes} nodes with {shape.cpus} CPUs and {shape.memory_mb} MB each"


def _start_munge(layout: Layout) -> None:
    key = layout.munge / "key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
    files = {"socket": layout.socket, "key-file": key}
    files |= {f"{name}-file": layout.munge / name for name in ("pid", "log", "seed")}
    # by force: it would have every parent of the folder closed to others' writing, and the socket's open to all
    _start(layout, "munged", "--force", *(f"--{option}={path}" for option, path in files.items()))


def _start(layout: Layout, program: str, *arguments: str) -> None:
    """Start a daemon, which puts itself into the background."""
    path = _find(program)
    assert path is not None  # up has looked
    told = layout.folder / f"{program}.out"
    environment = {"PATH": _search_path(), "SLURM_CONF": str(layout.conf)}
    with told.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            [path, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=_PATIENCE_S
        )
    if done.returncode:
        lines = told.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise UserError(f"{program} does not start: {lines[-1] if lines else f'exit status {done.returncode}'}")


def _until(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise UserError(f"{otherwise} (waited {_PATIENCE_S:g} s)")
        time.sleep(_POLL_S)


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """One `up` at a time in a folder; a second one waits and finds all done."""
    with (layout.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _find(program: str) -> str | None:
    return shutil.which(program, path=_search_path())


def _search_path() -> str:
    # daemons lie where only root looks
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _status(cluster: Cluster) -> int:
    running = cluster.running()
    print(f"folder       {cluster.folder}")
    print(f"SLURM_CONF   {cluster.conf}")
    print(f"shape        {_sizes(cluster.shape)}; port {cluster.shape.port}")
    for name, runs in running.items():
        print(f"{name:12} {'runs' if runs else 'stopped'}")
    if not running["slurmctld"]:
        return 3
    print("nodes        " + ", ".join(f"{name} {state}" for name, state in cluster.node_states().items()))
    print(f"jobs         {len(cluster.jobs())}")
    return 0 if all(running.values()) else 3


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's first lines."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("action", choices=("up", "down", "status"), help="status exits with 3 unless all runs")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="its home [%(default)s]")
    parser.add_argument("--nodes", type=int, default=NODES, help="how many nodes [%(default)s]")
    parser.add_argument("--cpus", type=int, default=CPUS, help="of each node; may exceed the machine's [%(default)s]")
    parser.add_argument("--memory-mb", type=int, default=MEMORY_MB, help="of each node [%(default)s]")
    asked = parser.parse_args(arguments)
    if asked.action == "up":
        begin = time.monotonic()
        cluster = up(asked.folder, nodes=asked.nodes, cpus=asked.cpus, memory_mb=asked.memory_mb)
        print(f"{_sizes(cluster.shape)}; ready after {time.monotonic() - begin:.1f} s. To use it:")
        print(f"export SLURM_CONF={cluster.conf}")
        return 0
    there = find(asked.folder)
    if there is None:
        print(f"no cluster in {asked.folder}")
        return 0 if asked.action == "down" else 3
    if asked.action == "status":
        return _status(there)
    there.down()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"{COMMAND}: {error}")
