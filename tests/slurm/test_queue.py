"""What squeue and sacct answer, and which processes are ours."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thawbench.slurm import queue
from thawbench.slurm.queue import Job, LocalQueue, QueueError, SlurmQueue, parse_sacct, parse_squeue

ANSWER = """\
12_0|RUNNING|1:05|node1|None|thawbench-a
12_1|PENDING|0:00||Priority|thawbench-a
13|COMPLETED|2-01:00:01|node2|None|thawbench-b
14_[2-5]|PENDING|0:00||Resources|thawbench-c
15_3|PENDING|0:00||launch failed requeued held|thawbench-d|with a bar
slurm_load_jobs error: nonsense
"""


def test_squeue_is_read_field_by_field() -> None:
    running, waiting, done, held = parse_squeue(ANSWER)

    assert running == Job("12_0", "thawbench-a", 0, "RUNNING", "node1", "None", 65.0)
    assert (waiting.index, waiting.over, waiting.held) == (1, False, False)
    assert (done.index, done.over, done.seconds) == (0, True, 2 * 86400 + 3601)
    assert (held.name, held.held) == ("thawbench-d|with a bar", True)


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING", "REQUEUED", "PREEMPTED", "SUSPENDED"])
def test_what_may_run_again_is_not_over(state: str) -> None:
    assert not Job("1", "a", 0, state).over


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_what_has_ended_is_over(state: str) -> None:
    assert Job("1", "a", 0, state).over


def test_the_states_of_a_job_are_those_of_its_steps_too() -> None:
    answer = (
        "7_0|FAILED\n7_0.batch|FAILED\n7_0.0|OUT_OF_MEMORY\n8|CANCELLED by 0\n8.0|FAILED\n"
        "9|FAILED\n9.batch|FAILED\n9.0|CANCELLED\n\nSlurm accounting is disabled\n"
    )

    assert parse_sacct(answer) == {
        "7_0": {"FAILED", "OUT_OF_MEMORY"},
        "8": {"CANCELLED by 0", "FAILED"},
        "9": {"FAILED"},  # its step was cancelled as its script had died
    }


def command(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_squeue_that_fails_is_told_from_an_empty_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    command(tmp_path, "squeue", "exit 0")
    assert SlurmQueue().jobs() == []

    command(tmp_path, "squeue", "echo 'Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(QueueError, match="squeue does not answer: Unable to contact slurm controller"):
        SlurmQueue().jobs()


def test_a_squeue_that_hangs_or_is_not_there_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_TIMEOUT_S", 0.1)
    command(tmp_path, "squeue", "exec sleep 5")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(QueueError, match="timed out"):
        SlurmQueue().jobs()

    monkeypatch.setenv("PATH", "")
    with pytest.raises(QueueError, match="No such file"):
        SlurmQueue().jobs()


def test_without_accounts_nothing_is_known_of_what_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    command(tmp_path, "sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")

    assert SlurmQueue().states(["1_0"]) == {}


def test_limits_are_read_from_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    command(tmp_path, "scontrol", "echo 'MaxArraySize            = 501'; echo 'MaxJobCount = 9'")
    command(tmp_path, "sinfo", "printf '1/3/0/4\\n0/8/0/8\\n'")

    assert SlurmQueue().most_tasks() == 501
    assert SlurmQueue().cpus("") == 12


def test_local_tasks_are_found_by_their_folder_and_asked_to_leave(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    line = [sys.executable, "-c", "import time; time.sleep(60)", f"{folder}/thawbench-x/jobs/3"]
    other = [sys.executable, "-c", "import time; time.sleep(60)", f"{folder}/thawbench-y/jobs/0"]
    with subprocess.Popen(line) as ours, subprocess.Popen(other) as theirs:
        try:
            local = LocalQueue(folder)
            deadline = time.monotonic() + 30
            while len(local.jobs()) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert {(job.name, job.index, job.id) for job in local.jobs()} == {
                ("thawbench-x", 3, str(ours.pid)),
                ("thawbench-y", 0, str(theirs.pid)),
            }
            assert LocalQueue(tmp_path / "another").jobs() == []

            local.cancel(["thawbench-x"])

            assert ours.wait(30) == -15
            assert theirs.poll() is None
        finally:
            ours.kill()
            theirs.kill()
