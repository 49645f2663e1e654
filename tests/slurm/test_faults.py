"""What a cluster does to a sweep: after each fault nothing is lost, and nothing done twice but what was under way."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.slurm.commands import cancel, run_sweep
from thawbench.slurm.devcluster import Cluster
from thawbench.slurm.folder import SweepFolder
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record
from thawbench.suite.session import open_session

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

CELLS, TASKS, PER_GATE = 80, 4, 5  # as many tasks as the cluster has slots
RAISES, EATS = 30, 79  # as paced.py has it
PATIENCE_S = 600.0


class Sweep:
    """One folder of results, and the gates of its cells."""

    def __init__(self, folder: Path, file: Path, backbone: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.gates = folder / "gates"
        self.gates.mkdir(parents=True)
        self.given = {
            "strategy": [os.fspath(file)],
            "task": ["sts/world"],
            "seeds": f"sample=0,init=0-{CELLS - 1},order=0",
            "backbone": os.fspath(backbone),
            "results": os.fspath(self.results),
            "precision": "float32",
            "threads": "1",
        }
        self.options = {"time": 60, "mem_gb": 1.5, "retries": 1}

    @property
    def asked(self) -> Settings:
        return settings({**{option.key: option.default for option in OPTIONS}, **self.given})

    def go(self, *, wait: bool) -> bool:
        with (self.folder / "said").open("a", encoding="utf-8") as said:
            return run_sweep(self.asked, self.options, wait=wait, console=Console(file=said))

    def start_driver(self) -> subprocess.Popen[bytes]:
        """The command, in a process that can be killed."""
        line = [sys.executable, "-c", "from thawbench.cli import main; main()", "sweep", "--wait"]
        for name, value in {**self.given, **self.options}.items():
            values = value if isinstance(value, list) else [value]
            line += [f"--{name.replace('_', '-')}={each}" for each in values]
        with (self.folder / "driver").open("wb") as said:
            return subprocess.Popen(line, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=said, stderr=said)

    def open_gate(self, number: int) -> None:
        (self.gates / str(number)).touch()

    def records(self) -> dict[int, Record]:
        """By seed."""
        return {record.seeds.init: record for record in RecordStore(self.results).all()}

    def lines(self, mark: str) -> Counter[str]:
        """How often each cell was begun, or ended, in the logs of all tasks."""
        logs = (self.results / "sweep").glob("*/logs/*.log")
        return Counter(
            line.split()[2] for log in logs for line in log.read_text().splitlines() if line.startswith(mark)
        )


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("strategy") / "paced.py"
    shutil.copy(Path(__file__).with_name("paced.py"), file)
    yield file
    strategies.unregister("paced")


@pytest.fixture(scope="module")
def undisturbed(paced: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Record]:
    """The records of one plain run in this process, all gates open."""
    sweep = Sweep(tmp_path_factory.mktemp("undisturbed"), paced, tiny_folder)
    session = open_session(sweep.asked)
    for position in range(len(session.plan.cells)):
        session.run(position)
    return sweep.records()


@pytest.fixture
def sweep(
    on_cluster: Cluster, paced: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Sweep:
    made = Sweep(tmp_path, paced, tiny_folder)
    monkeypatch.setenv("PACED_GATES", os.fspath(made.gates))
    return made


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_records(sweep: Sweep, count: int) -> None:
    wait_until(lambda: len(list(sweep.results.glob("records/??/*.json"))) >= count)


def check(sweep: Sweep, undisturbed: dict[int, Record], failed: dict[int, str], under_way: int) -> None:
    """Every cell has the record of the undisturbed run, or failed so; at most so many were begun again."""
    records = sweep.records()
    assert sorted(records) == list(range(CELLS))
    assert {seed: record.failure.type for seed, record in records.items() if record.failure is not None} == failed
    for seed in records.keys() - failed:
        found, expected = records[seed], undisturbed[seed]
        assert (found.key, found.status, found.metrics) == (expected.key, expected.status, expected.metrics)
    begun, ended = sweep.lines("== begin"), sweep.lines("== end")
    assert set(begun) == {record.key for record in records.values()}
    assert max(ended.values()) == 1
    assert sum(begun.values()) - len(begun) <= under_way


def test_faults_cost_a_sweep_only_what_was_under_way(
    on_cluster: Cluster, sweep: Sweep, undisturbed: dict[int, Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACED_EATS", "yes")
    driver = sweep.start_driver()
    try:
        wait_for_records(sweep, TASKS * PER_GATE)
        assert list(on_cluster.jobs().values()) == ["RUNNING"] * TASKS

        # the controller is away for a while: tasks go on, and the driver waits
        on_cluster.stop_controller()
        sweep.open_gate(1)
        wait_for_records(sweep, TASKS * 2 * PER_GATE)
        on_cluster.start_controller()
        assert driver.poll() is None

        # a job's process is killed, a node is lost with two more, and so is the driver
        where = dict(line.split() for line in on_cluster.run("squeue", "-h", "--array", "--format=%i %N").splitlines())
        on_cluster.kill_job(next(job for job, node in where.items() if node == "node1"))
        on_cluster.kill_node("node2", noticed=True)
    finally:
        driver.kill()
        driver.wait()
    on_cluster.start_node("node2")

    for gate in (2, 3):
        sweep.open_gate(gate)
    assert not sweep.go(wait=True)  # one cell raises, and one eats
    failed = {RAISES: "RuntimeError", EATS: "OutOfMemory"}
    check(sweep, undisturbed, failed, under_way=1 + 2 + 1)  # the killed job's, the lost node's, the eater


def test_a_cancelled_sweep_goes_on_where_it_was_and_two_drivers_send_nothing_twice(
    on_cluster: Cluster, sweep: Sweep, undisturbed: dict[int, Record]
) -> None:
    other = on_cluster.run("sbatch", "--parsable", "--chdir", os.fspath(sweep.folder), "--wrap", "sleep 10000").strip()
    sweep.go(wait=False)
    wait_for_records(sweep, (TASKS - 1) * PER_GATE)  # there is no room for one task
    folder = SweepFolder(sweep.results)
    with folder.lock.held(), pytest.raises(UserError, match="another driver"):
        sweep.go(wait=False)
    sweep.go(wait=False)
    assert len(on_cluster.jobs()) == 1 + TASKS

    cancel(sweep.results, Console(quiet=True))
    assert on_cluster.jobs() == {other: "RUNNING"}
    before = sweep.records()
    assert len(before) == (TASKS - 1) * PER_GATE

    for gate in (1, 2, 3):
        sweep.open_gate(gate)
    assert not sweep.go(wait=True)
    check(sweep, undisturbed, {RAISES: "RuntimeError"}, under_way=3)
    after = sweep.records()
    assert {seed: after[seed] for seed in before} == before
