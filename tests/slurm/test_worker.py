"""A task that is told to leave: what it has done stays, and it is started again only where something comes of it."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import submitit

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.slurm.tasklog import BEGIN, END, LEFT, OUT_OF_TIME
from thawbench.slurm.tasks import TaskFile, WantedCell
from thawbench.slurm.worker import work
from thawbench.suite.options import OPTIONS, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record
from thawbench.suite.session import plan_of

LEAVER = '''
import os
import signal
from pathlib import Path

import torch

from thawbench.registry import strategies
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.checkpoint import next_checkpoint
from thawbench.strategies.interruption import leave_if_asked, listening


@strategies.register("leaver")
class Leaver(BaseStrategy):
    """For init seed 1 it is sent the signal that a file beside it names, once; in training, after it, or not."""

    draws = frozenset({"init"})

    def learn(self, start, data, *, seeds, budget, adapt):
        sent = Path(HERE) / "signal"
        if seeds.init == 1 and sent.exists():
            name, training = sent.read_text().split()
            sent.unlink()
            if training == "over":
                next_checkpoint().save("this", {}, {"weight": torch.zeros(1)})
            if training != "yes":
                os.kill(os.getpid(), getattr(signal, name))
            with listening():
                if training == "yes":
                    os.kill(os.getpid(), getattr(signal, name))
                leave_if_asked()
        return Learned()

    def transform(self, vectors, state):
        return vectors * 2
'''


class Requeued(list[str]):
    """What stands for the job's environment: it notes that it was asked to be started again."""

    def _requeue(self, countdown: int) -> None:
        self.append("requeued")


@pytest.fixture
def requeued(monkeypatch: pytest.MonkeyPatch) -> Requeued:
    found = Requeued()
    monkeypatch.setattr(submitit, "JobEnvironment", lambda: found)
    return found


@pytest.fixture
def task(tmp_path: Path, tiny_folder: Path) -> Iterator[Path]:
    """The file of a task with three cells, of which the second gets a signal."""
    file = tmp_path / "leaver.py"
    file.write_text(LEAVER.replace("HERE)", repr(str(tmp_path)) + ")"))
    values = {
        "strategy": [str(file)],
        "task": ["sts/world"],
        "seeds": "sample=0,init=0-2",
        "backbone": os.fspath(tiny_folder),
        "precision": "float32",
        "results": tmp_path / "results",
    }
    asked = settings({**{option.key: option.default for option in OPTIONS}, **values})
    path = tmp_path / "0.json"
    TaskFile(
        results=str(asked.results),
        snapshot="",
        logs=str(tmp_path / "logs"),
        index=0,
        strategy_files=asked.strategy,
        sets=(),
        profile=asked.profile,
        backbone=asked.backbone,
        precision="float32",
        device="cpu",
        threads=1,
        steps=None,
        keep_checkpoints=False,
        time_s=3600,
        signal_delay_s=60,
        cells=tuple(
            WantedCell(cell.key, cell.strategy, cell.task_name, cell.seeds, 0) for cell in plan_of(asked).cells
        ),
    ).write(path)
    yield path
    strategies.unregister("leaver")


def records(task: Path) -> dict[int, Record]:
    return {record.seeds.init: record for record in RecordStore(task.parent / "results").all()}


def change(task: Path, **values: object) -> None:
    task.write_text(json.dumps({**json.loads(task.read_text()), **values}))


@pytest.mark.parametrize("training", ["yes", "no"])
def test_a_warning_has_the_task_started_again_and_it_goes_on_where_it_was(
    task: Path, requeued: Requeued, training: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (task.parent / "signal").write_text(f"SIGUSR2 {training}")

    with pytest.raises(SystemExit):
        work(str(task))

    assert requeued == ["requeued"]
    assert records(task).keys() == {0}
    first = records(task)[0]
    said = capsys.readouterr().out
    assert (said.count(BEGIN), said.count(END), said.count(LEFT)) == (2, 1, 1)

    work(str(task))

    said = capsys.readouterr().out
    assert (said.count(BEGIN), said.count(END)) == (2, 2)
    assert {seed: record.status for seed, record in records(task).items()} == {0: "ok", 1: "ok", 2: "ok"}
    assert records(task)[0] == first


@pytest.mark.parametrize(
    ("training", "done", "again"),
    [("no", 0, []), ("no", 1, ["requeued"]), ("yes", 0, ["requeued"]), ("over", 0, ["requeued"])],
)
def test_out_of_time_it_is_started_again_only_if_it_came_forward(
    task: Path, requeued: Requeued, training: str, done: int, again: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (task.parent / "signal").write_text(f"SIGUSR2 {training}")
    cells = json.loads(task.read_text())["cells"]
    change(task, time_s=60, cells=cells[1 - done :])  # over as soon as it begins: a warning may come a minute early

    with pytest.raises(SystemExit):
        work(str(task))

    assert requeued == again
    assert (OUT_OF_TIME in capsys.readouterr().out) == (not again)


def test_who_ends_the_job_decides_what_comes_next(task: Path, requeued: Requeued) -> None:
    (task.parent / "signal").write_text("SIGTERM no")

    with pytest.raises(SystemExit) as left:
        work(str(task))

    assert left.value.code == 128 + signal.SIGTERM
    assert requeued == []


def test_the_handlers_of_before_are_put_back(task: Path) -> None:
    before = signal.getsignal(signal.SIGUSR2)

    work(str(task))

    assert signal.getsignal(signal.SIGUSR2) is before


def test_a_failure_that_was_recorded_since_the_submit_is_the_answer(task: Path) -> None:
    work(str(task))
    store = RecordStore(task.parent / "results")
    wanted = TaskFile.read(task).cells[0]
    record = store.read(wanted.key)
    assert record is not None
    from thawbench.suite.records import Failure

    store.write(replace(record, status="failed", failure=Failure("E", "m", "t"), metrics=()))

    work(str(task))
    kept = store.read(wanted.key)
    assert kept is not None
    assert kept.status == "failed"

    change(task, cells=[{**cell, "attempts": 1} for cell in json.loads(task.read_text())["cells"]])
    work(str(task))
    mended = store.read(wanted.key)
    assert mended is not None
    assert (mended.status, mended.attempts) == ("ok", 2)


def test_a_cell_that_is_another_here_is_refused(task: Path) -> None:
    cells = json.loads(task.read_text())["cells"]
    change(task, cells=[{**cells[0], "key": "0" * 64}])

    with pytest.raises(UserError, match="is another cell here than where it was submitted"):
        work(str(task))


def test_other_code_than_what_was_submitted_is_refused(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(task, snapshot=str(tmp_path))

    with pytest.raises(SystemExit):
        work(str(task))

    assert len(list((tmp_path / "logs").iterdir())) == 1  # what is printed goes there, but here pytest catches it first
    assert "would run, and not what was submitted" in capsys.readouterr().out


def test_a_task_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the task file .*none\.json cannot be read"):
        work(str(tmp_path / "none.json"))


def test_a_wanted_cell_keeps_its_seeds_on_its_way_through_the_file(task: Path) -> None:
    assert [cell.seeds for cell in TaskFile.read(task).cells] == [Seeds(0, seed, 0) for seed in range(3)]
