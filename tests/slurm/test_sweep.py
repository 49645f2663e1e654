"""A sweep from the command to the records: what is sent, what is not sent again, what follows from how tasks end."""

import dataclasses
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.slurm import submit
from thawbench.slurm import sweep as module
from thawbench.slurm.commands import cancel, retry, run_sweep, show_logs
from thawbench.slurm.devcluster import Cluster as DevCluster
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.ledger import Sent
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.queue import Job, QueueError, Task
from thawbench.slurm.status import show as show_status
from thawbench.slurm.status import standing
from thawbench.slurm.sweep import Driver
from thawbench.slurm.tasklog import BEGIN, log_of
from thawbench.slurm.tasks import TaskFile
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.suite.session import open_session, plan_of

MOODY = '''
from dataclasses import dataclass
from pathlib import Path

from thawbench.registry import strategies
from thawbench.strategies.base import BaseStrategy, Learned


@strategies.register("moody")
class Moody(BaseStrategy):
    """Doubles vectors; raises for one seed as long as a file lies beside it."""

    draws = frozenset({"init"})

    def learn(self, start, data, *, seeds, budget, adapt):
        print("in a mood", seeds.init)
        if seeds.init == 1 and Path(MOOD).exists():
            raise RuntimeError("not today")
        return Learned()

    def transform(self, vectors, state):
        return vectors * 2
'''


@pytest.fixture
def moody(tmp_path: Path) -> Iterator[Path]:
    """The file of a strategy that fails for init seed 1 while `mood` lies beside it."""
    (tmp_path / "mood").touch()
    file = tmp_path / "moody.py"
    file.write_text(MOODY.replace("MOOD)", repr(str(tmp_path / "mood")) + ")"))
    yield file
    strategies.unregister("moody")


def asked(folder: Path, backbone: Path, *names: str, **values: Any) -> Settings:
    given = {
        "strategy": names or ("frozen", "random_vectors", "majority"),
        "task": ("sts/world", "fewshot/world/meals@20"),
        "seeds": "2",
        "backbone": os.fspath(backbone),
        "precision": "float32",
        "threads": "1",
        "results": folder / "results",
    }
    return settings({**{option.key: option.default for option in OPTIONS}, **given, **values})


def run(wanted: Settings, cluster: str = "debug", **given: Any) -> tuple[bool, str]:
    """Whether all went well, and what was said."""
    said = io.StringIO()
    good = run_sweep(wanted, {"cluster": cluster, **given}, wait=True, console=Console(file=said, width=200))
    return good, said.getvalue()


def records(wanted: Settings) -> dict[str, Record]:
    return {record.key: record for record in RecordStore(wanted.results, read_only=True).all()}


def undisturbed(wanted: Settings, folder: Path) -> dict[str, Record]:
    session = open_session(settings({**vars(wanted), "results": folder}))
    found = [session.run(position).record for position in range(len(session.plan.cells))]
    return {record.key: record for record in found}


def test_a_sweep_leaves_the_records_that_a_run_leaves(tmp_path: Path, tiny_folder: Path) -> None:
    wanted = asked(tmp_path, tiny_folder)

    good, said = run(wanted)

    expected = undisturbed(wanted, tmp_path / "plain")
    found = records(wanted)
    assert good
    assert found.keys() == expected.keys()
    for key, record in expected.items():
        assert (found[key].status, found[key].metrics) == (record.status, record.metrics)
    assert f"{len(expected)} cells: {len(expected)} done, 0 failed, 0 to go" in said


def test_the_same_command_again_sends_what_is_missing_and_no_more(tmp_path: Path, tiny_folder: Path) -> None:
    wanted = asked(tmp_path, tiny_folder)
    run(wanted)
    before = {path: path.stat().st_mtime_ns for path in wanted.results.glob("records/??/*.json")}
    ledger = SweepFolder(wanted.results).ledger()

    assert run(wanted)[0]
    assert SweepFolder(wanted.results).ledger().sent == ledger.sent

    lost = min(before)
    lost.unlink()
    assert run(wanted)[0]

    (again,) = SweepFolder(wanted.results).ledger().sent.keys() - ledger.sent.keys()
    assert [cell.key for cell in SweepFolder(wanted.results).task(again, 0).cells] == [lost.stem]
    after = {path: path.stat().st_mtime_ns for path in wanted.results.glob("records/??/*.json")}
    assert after.keys() == before.keys()
    assert {path for path in after if after[path] != before[path]} == {lost}


def test_a_cell_that_raises_is_a_failed_record_and_the_others_go_on(
    tmp_path: Path, tiny_folder: Path, moody: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = asked(tmp_path, tiny_folder, str(moody), task=("sts/world",), seeds="3")

    good, said = run(wanted)

    assert not good
    assert {record.seeds.init: record.status for record in records(wanted).values()} == {0: "ok", 1: "failed", 2: "ok"}
    (failed,) = (record for record in records(wanted).values() if record.failure)
    assert failed.failure is not None
    assert failed.failure.type == "RuntimeError"
    assert "raise RuntimeError" in failed.failure.traceback
    log = log_of(failed.failure)
    assert Path(log).is_file()
    assert f"moody sts/world: RuntimeError: not today; log: {log}" in said
    assert not run(wanted)[0]
    assert records(wanted)[failed.key].attempts == 1

    (tmp_path / "mood").unlink()
    assert retry(wanted.results, wait=True, console=Console(file=io.StringIO()))

    mended = records(wanted)[failed.key]
    assert (mended.status, mended.attempts) == ("ok", 2)
    assert [record.attempts for record in records(wanted).values() if record.key != failed.key] == [1, 1]


def test_a_strategy_file_that_a_profile_names_is_taken_along(tmp_path: Path, tiny_folder: Path, moody: Path) -> None:
    (tmp_path / "mood").unlink()
    profile = tmp_path / "mine.toml"
    profile.write_text(
        f'description = "x"\nbackbone = "tiny"\nstrategies = ["{moody}"]\ntasks = ["sts/world"]\n', encoding="utf-8"
    )
    wanted = dataclasses.replace(asked(tmp_path, tiny_folder, task=("sts/world",)), strategy=(), profile=str(profile))
    good, said = run(wanted)
    assert (good, {record.strategy for record in records(wanted).values()}) == (True, {"moody"}), said


def test_another_plan_s_failure_in_the_folder_is_told_and_is_none_of_this_one(
    tmp_path: Path, tiny_folder: Path, moody: Path
) -> None:
    assert not run(asked(tmp_path, tiny_folder, str(moody), task=("sts/world",)))[0]
    good, said = run(asked(tmp_path, tiny_folder, "majority", task=("fewshot/world/meals@20",)))
    assert good
    assert "1 failed" in said


def test_a_cancelled_sweep_of_this_machine_starts_none_of_what_waits(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = asked(tmp_path, tiny_folder, "random_vectors", task=("sts/world",), seeds="3")
    driver = Driver(wanted, SweepOptions(cluster="local", array_parallelism=1, retries=1))
    driver.open()
    monkeypatch.setattr("submitit.LocalExecutor", None)  # nothing may be started
    sent = Sent("x", "local", 2, 1.0, 5, 0.0)
    assert isinstance(driver.backend, submit.Local)
    driver.backend.start(sent, [tmp_path / "0", tmp_path / "1"], {})
    driver.folder.cancelled.touch()
    driver.settle()
    assert driver.backend.jobs() == {}


def test_without_slurm_one_line_says_what_it_needs(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = "--cluster slurm needs SLURM's commands on the path, and there is no sbatch or .* take --cluster local"
    with pytest.raises(UserError, match=message) as caught:
        run(asked(tmp_path, tiny_folder), "slurm")
    assert "\n" not in str(caught.value)


def test_when_squeue_fails_nothing_is_sent(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = {
        "squeue": "echo no controller >&2; exit 1",
        "sbatch": f"touch {tmp_path}/sent",
        "srun": "exit 1",
        "scancel": "exit 1",
        "scontrol": "echo MaxArraySize = 1001",
        "sinfo": "echo 0/4/0/4",
    }
    for name, text in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    with pytest.raises(UserError, match="nothing more can be sent now: squeue does not answer: no controller"):
        run(asked(tmp_path, tiny_folder), "slurm")
    assert not (tmp_path / "sent").exists()


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


def test_status_logs_and_cancel_speak_of_what_is_there(
    tmp_path: Path, tiny_folder: Path, moody: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = asked(tmp_path, tiny_folder, str(moody), "majority", seeds="2")
    run(wanted)
    said = io.StringIO()
    console = Console(file=said, width=160)

    show_status(wanted.results, console)
    found = standing(SweepFolder(wanted.results))

    assert (found.cells["ok"], found.cells["failed"]) == (4, 2)
    assert found.strategies["moody"] == {"ok": 2, "failed": 2}
    assert found.families["sts"] == {"ok": 1, "failed": 1, "not_applicable": 2}
    assert "moody sts/world: RuntimeError: not today" in said.getvalue()
    assert "thawbench retry sends what failed again" in said.getvalue()

    with pytest.raises(UserError, match="has not begun in any task"):  # in this process, it speaks here and into no log
        show_logs(wanted.results, "moody sts/world seed=1", console)
    with pytest.raises(UserError, match="'moody' does not name one cell"):
        show_logs(wanted.results, "moody", console)
    cancel(wanted.results, console)
    assert "cancelled; 8 cells" in said.getvalue()
    with pytest.raises(UserError, match="no sweep was ever sent from"):
        cancel(tmp_path / "elsewhere", console)


@pytest.mark.slow
def test_processes_of_this_machine_run_the_snapshot_and_leave_the_same_records(
    tmp_path: Path, tiny_folder: Path, moody: Path
) -> None:
    (tmp_path / "mood").unlink()
    wanted = asked(tmp_path, tiny_folder, str(moody), "random_vectors")

    good, _ = run(wanted, "local", array_parallelism=1)

    expected = undisturbed(wanted, tmp_path / "plain")
    found = records(wanted)
    assert good
    assert {key: record.metrics for key, record in found.items()} == {
        key: record.metrics for key, record in expected.items()
    }
    (snapshot,) = (wanted.results / "sweep" / "snapshots").iterdir()
    told = json.loads((snapshot / "thawbench" / "snapshot.json").read_text())
    assert {record.environment.packages["thawbench"].partition("+")[2] for record in found.values()} == {told["sha256"]}
    said = io.StringIO()
    show_logs(wanted.results, "moody sts/world seed=1", Console(file=said, width=200))
    assert "in a mood 1" in said.getvalue()


@pytest.mark.slurm
@pytest.mark.slow
def test_two_nodes_leave_the_records_of_one_run(on_cluster: DevCluster, tmp_path: Path, tiny_folder: Path) -> None:
    wanted = asked(tmp_path, tiny_folder, seeds="10")

    good, said = run(wanted, "slurm", mem_gb=1.5, time=10)

    expected = undisturbed(wanted, tmp_path / "plain")
    found = records(wanted)
    assert good, said
    assert {key: (record.status, record.metrics) for key, record in found.items()} == {
        key: (record.status, record.metrics) for key, record in expected.items()
    }
    folder = SweepFolder(wanted.results)
    heads = [path.read_text().splitlines()[0] for path in folder.path.glob("*/logs/*.log")]
    assert {head.split(" node ")[1].split()[0] for head in heads} <= set(on_cluster.nodes)
    assert not folder.ledger().open_tasks()
    assert run(wanted, "slurm")[0]
    assert len(folder.ledger().sent) == 1
