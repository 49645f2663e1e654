"""A driver on a made-up cluster: what is sent, what is not sent again, what follows from how tasks end."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sweeping import asked, records, run

from thawbench.errors import UserError
from thawbench.slurm import sweep as module
from thawbench.slurm.ledger import Sent
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.queue import Job, QueueError, Task
from thawbench.slurm.sweep import Driver
from thawbench.slurm.tasklog import BEGIN, log_of
from thawbench.slurm.tasks import TaskFile
from thawbench.suite.options import Settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.runner import Runner
from thawbench.suite.session import open_session, plan_of


class Cluster:
    """A cluster whose tasks do what a test says; it is also its own queue."""

    most_tasks = 3
    slots = 2

    def __init__(self) -> None:
        self.queue = self
        self.tasks: dict[Task, Job] = {}
        self.sent: list[Sent] = []
        self.accounts: dict[str, set[str]] = {}
        self.released: list[str] = []

    def start(self, sent: Sent, paths: Sequence[Path], environment: dict[str, str]) -> str:
        self.sent.append(sent)
        number = str(100 + len(self.sent))
        for index in range(len(paths)):
            name = f"{number}_{index}" if len(paths) > 1 else number
            self.tasks[sent.name, index] = Job(name, sent.name, index, "RUNNING")
        return number

    def jobs(self) -> dict[Task, Job]:
        return dict(self.tasks)

    def states(self, ids: Any) -> dict[str, set[str]]:
        return {each: self.accounts[each] for each in ids if each in self.accounts}

    def cancel(self, names: Sequence[str]) -> None:
        for task in [task for task in self.tasks if task[0] in names]:
            del self.tasks[task]

    def cancel_ids(self, ids: Sequence[str]) -> None:
        self._change(ids, "CANCELLED", "")

    def hold(self, ids: Sequence[str]) -> None:
        """As after a launch that failed."""
        self._change(ids, "PENDING", "launch failed requeued held")

    def release(self, job: str) -> None:
        self.released.append(job)
        self._change([job], "RUNNING", "")

    def _change(self, ids: Sequence[str], state: str, reason: str) -> None:
        for task, job in self.tasks.items():
            if job.id in ids:
                self.tasks[task] = dataclasses.replace(job, state=state, reason=reason)


class Bench:
    """A driver on that cluster, over 6 cells of a random baseline."""

    def __init__(self, wanted: Settings, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wanted, self.cluster = wanted, cluster
        monkeypatch.setattr(module, "backend", lambda options, folder: cluster)
        monkeypatch.setattr(module, "SlurmQueue", lambda: cluster)
        self.driver = self.again()

    def again(self) -> Driver:
        """A new run of the command."""
        self.driver = Driver(self.wanted, SweepOptions(retries=1, mem_gb=2, time=10))
        self.driver.open()
        return self.driver

    def task(self, place: int = -1) -> tuple[Task, TaskFile]:
        task = list(self.cluster.tasks)[place]
        return task, self.driver.folder.task(*task)

    def end(self, task: Task, *begun: str, stderr: str = "", states: tuple[str, ...] = ()) -> None:
        """End a task after it has begun these cells, without a record."""
        job = self.cluster.tasks.pop(task)
        logs = self.driver.folder.logs(task[0])
        logs.mkdir(exist_ok=True)
        if begun:
            (logs / f"{task[1]}.{job.id}-0.log").write_text("".join(f"{BEGIN} {key} x\n" for key in begun))
        jobs = self.driver.folder.array(task[0]) / "jobs"
        jobs.mkdir(exist_ok=True)
        if stderr:
            (jobs / f"{job.id}_0_log.err").write_text(stderr)
        self.cluster.accounts[job.id] = set(states)
        self.driver.settle()

    def sent_last(self) -> dict[str, tuple[float, int, int]]:
        """Of each cell that waits or runs now: memory, time, and how many share its task."""
        found = {}
        for (name, index), _ in self.cluster.tasks.items():
            sent, cells = self.driver.ledger.sent[name], self.driver.folder.task(name, index).cells
            found.update({cell.key: (sent.mem_gb, sent.time, len(cells)) for cell in cells})
        return found


@pytest.fixture
def bench(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    wanted = asked(tmp_path, tiny_folder, "random_vectors", task=("sts/world",), seeds="6")
    made = Bench(wanted, Cluster(), monkeypatch)
    assert made.driver.send() == 1
    return made


def test_what_is_under_way_is_not_sent_by_another_driver(bench: Bench) -> None:
    bench.again()

    assert bench.driver.send() == 0
    assert len(bench.cluster.sent) == 1


@pytest.mark.parametrize(
    ("stderr", "states", "expected"),
    [
        ("", ("FAILED",), (2.0, 10, 1)),
        ("exceeded memory limit", ("FAILED",), (4.0, 10, 1)),
        ("", ("TIMEOUT",), (2.0, 20, 1)),
    ],
    ids=["crash", "memory", "time"],
)
def test_the_cell_that_ran_when_its_task_died_runs_alone_and_gets_what_it_lacked(
    bench: Bench, stderr: str, states: tuple[str, ...], expected: tuple[float, int, int]
) -> None:
    task, told = bench.task()
    keys = [cell.key for cell in told.cells]
    bench.end(task, keys[0], keys[1], stderr=stderr, states=states)
    bench.driver.send()

    found = bench.sent_last()

    assert found.pop(keys[1]) == expected
    assert found == {key: (2.0, 10, 5) for key in keys if key != keys[1]}


@pytest.mark.parametrize(("states", "status"), [(("FAILED",), "failed"), (("TIMEOUT",), "timeout")])
def test_a_cell_that_uses_up_its_tries_gets_a_record_with_the_log(
    bench: Bench, states: tuple[str, ...], status: str
) -> None:
    task, told = bench.task()
    key = told.cells[2].key
    bench.end(task, key, states=states)
    bench.driver.send()
    (alone,) = (task for task in bench.cluster.tasks if len(bench.driver.folder.task(*task).cells) == 1)
    bench.end(alone, key, states=states)

    record = RecordStore(bench.wanted.results).read(key)

    assert record is not None
    assert (record.status, record.attempts) == (status, 2)
    assert record.failure is not None
    assert record.failure.type == {"failed": "Crash", "timeout": "OutOfTime"}[status]
    assert log_of(record.failure).endswith(f"{alone[1]}.103-0.log")
    assert bench.driver.places[key] not in bench.driver.todo
    assert bench.driver.send() == 0
    bench.again()
    assert bench.driver.send() == 0
    assert key not in bench.sent_last()


def test_a_node_that_fails_costs_no_try(bench: Bench) -> None:
    task, told = bench.task()
    for _ in range(4):
        task, told = bench.task()
        bench.end(task, told.cells[0].key, states=("NODE_FAIL",))
        bench.driver.send()

    assert set(bench.sent_last().values()) == {(2.0, 10, 6)}
    assert bench.driver.ledger.blame == {}


def test_what_was_cancelled_waits_for_the_next_command(bench: Bench) -> None:
    task, told = bench.task()
    bench.end(task, told.cells[0].key, states=("CANCELLED by 0",))

    assert bench.driver.send() == 0
    assert len(bench.driver.cancelled) == 6

    bench.again()
    assert bench.driver.send() == 1


def test_a_task_that_is_held_twice_is_sent_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Slurm", Cluster)
    ids = [job.id for job in bench.cluster.tasks.values()]
    for _ in range(2):
        bench.cluster.hold(ids)
        bench.driver.settle()
    bench.driver.settle()

    assert bench.cluster.released == ids
    assert not bench.driver.cancelled
    assert bench.driver.send() == 1
    assert len(bench.cluster.sent) == 2


def test_what_was_cancelled_before_a_command_is_sent_by_it(bench: Bench) -> None:
    task, _ = bench.task()
    bench.cluster.accounts[bench.cluster.tasks.pop(task).id] = {"CANCELLED by 0"}

    bench.again()

    assert bench.driver.send() == 1
    assert len(bench.sent_last()) == 6


def test_a_cell_that_would_need_more_than_the_cluster_has_gets_a_record(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, told = bench.task()
    key = told.cells[0].key
    bench.end(task, key, states=("OUT_OF_MEMORY",))
    start = bench.cluster.start

    def refuse(sent: Sent, paths: Sequence[Path], environment: dict[str, str]) -> str:
        if sent.mem_gb > 2:
            raise QueueError("sbatch: error: Requested node configuration is not available")
        return start(sent, paths, environment)

    monkeypatch.setattr(bench.cluster, "start", refuse)
    bench.driver.send()

    record = records(bench.wanted)[key]
    assert record.failure is not None
    assert record.failure.message.startswith("its process was killed for memory, and more is not to be had: sbatch")
    assert len(bench.sent_last()) == 5
    assert key not in {cell.key for cells in bench.driver.flying.values() for cell in cells}


def test_checkpoints_that_no_cell_needs_are_dropped_at_the_end(bench: Bench) -> None:
    adaptations = bench.wanted.results / "adaptations"
    keys = [cell.adaptation.key for cell in bench.driver.cells]
    for key in [*keys, "f" * 64]:
        (adaptations / key).mkdir(parents=True)
    open_session(bench.wanted).run(2)

    bench.driver.tidy()

    assert {path.name for path in adaptations.iterdir()} == {*keys, "f" * 64} - {keys[2]}


def test_tasks_that_cannot_begin_are_not_sent_for_ever(bench: Bench) -> None:
    for _ in range(2):
        task, _ = bench.task()
        bench.end(task, stderr="python: command not found")
        bench.driver.send()

    assert bench.driver.over
    assert len(bench.cluster.sent) == 2
    assert {Path(log).name for log in bench.driver.stuck.values()} == {"102_0_log.err"}
    assert records(bench.wanted) == {}


def test_an_array_that_sbatch_never_made_is_sent_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    task, told = bench.task()
    bench.end(task, told.cells[0].key, states=("NODE_FAIL",))

    def refuse(*given: Any) -> str:
        raise QueueError("sbatch: Unable to contact slurm controller")

    monkeypatch.setattr(bench.cluster, "start", refuse)
    with pytest.raises(QueueError):
        bench.driver.send()
    monkeypatch.undo()

    bench.driver.settle()

    assert bench.driver.send() == 1
    assert len(bench.sent_last()) == 6


def test_a_job_of_the_same_number_and_another_name_is_not_ours(bench: Bench) -> None:
    task, _ = bench.task()
    job = bench.cluster.tasks.pop(task)
    bench.cluster.tasks["another", 0] = Job(job.id, "another", 0, "RUNNING")

    bench.driver.settle()

    assert len(bench.driver.todo) == 6


def test_a_job_of_our_name_and_another_number_is_not_ours(bench: Bench) -> None:
    task, _ = bench.task()
    bench.cluster.tasks[task] = Job("999", *task, "RUNNING")

    bench.driver.settle()

    assert len(bench.driver.todo) == 6


def test_arrays_are_no_longer_than_the_cluster_takes(bench: Bench) -> None:
    bench.cluster.tasks.clear()
    bench.driver.seconds = [50.0] * 6
    bench.cluster.slots = 6
    bench.driver.settle()

    assert bench.driver.send() == 6
    assert [sent.tasks for sent in bench.cluster.sent[1:]] == [3, 3]


def test_what_has_become_not_applicable_is_recorded_and_not_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = bench.driver.cells[0]
    store = RecordStore(bench.wanted.results)
    store.write(Runner(bench.wanted.results, (cell,)).run(cell).record)
    plan = plan_of(bench.driver.asked)
    barred = dataclasses.replace(plan.cells[0], reason="it holds test rows")
    monkeypatch.setattr(module, "plan_of", lambda asked: dataclasses.replace(plan, cells=(barred, *plan.cells[1:])))
    bench.again()
    found = store.read(cell.key)
    assert found is not None
    assert (found.status, found.reason) == ("not_applicable", "it holds test rows")
    assert bench.driver.todo == set()


def test_a_second_driver_is_refused(bench: Bench) -> None:
    with bench.driver.folder.lock.held(), pytest.raises(UserError, match="another driver works on"):
        run(bench.wanted)
