"""A sweep from the command to the records."""

import dataclasses
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from sweeping import asked, records, run, undisturbed

from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.slurm import submit
from thawbench.slurm.commands import cancel, retry, show_logs
from thawbench.slurm.devcluster import Cluster as DevCluster
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.ledger import Sent
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.status import show as show_status
from thawbench.slurm.status import standing
from thawbench.slurm.sweep import Driver
from thawbench.slurm.tasklog import log_of

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
