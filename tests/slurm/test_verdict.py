"""Why a task ended, from what SLURM says, what it wrote, and what the task itself logged."""

from pathlib import Path

import pytest

from thawbench.slurm.tasklog import FAILED_TO_START, LEFT, OUT_OF_TIME, RunLog
from thawbench.slurm.verdict import Evidence, Verdict, judge, suspect


def log(*begun: str, ended: tuple[str, ...] = (), last: str = "") -> RunLog:
    return RunLog(Path("log"), begun, frozenset(ended), last)


ONE = log("a")
# stderr lines as SLURM 22.05 writes them
MEMORY = "slurmstepd: error: StepId=141.0 exceeded memory limit (521158656 > 268435456), being killed"
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed."
TIME = "slurmstepd: error: *** STEP 9.0 ON node1 CANCELLED AT 2026-11-28T12:00:00 DUE TO TIME LIMIT ***"
NODE = (
    "slurmstepd: error: *** JOB 9 ON node1 CANCELLED AT 2026-11-28T12:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***"
)
PREEMPTED = "slurmstepd: error: *** JOB 9 ON node1 CANCELLED AT 2026-11-28T12:00:00 DUE TO PREEMPTION ***"
CANCELLED = "slurmstepd: error: *** JOB 9 ON node1 CANCELLED AT 2026-11-28T12:00:00 ***"
STEP_ENDED = "slurmstepd: error: *** STEP 9.0 ON node1 CANCELLED AT 2026-11-28T12:00:00 ***"


@pytest.mark.parametrize(
    ("states", "stderr", "run", "verdict"),
    [
        # what the accounts say
        ({"OUT_OF_MEMORY"}, "", ONE, "memory"),
        ({"TIMEOUT"}, "", ONE, "time"),
        ({"CANCELLED by 0"}, "", ONE, "cancelled"),
        ({"CANCELLED+"}, "", ONE, "cancelled"),
        ({"NODE_FAIL"}, "", ONE, "node"),
        ({"PREEMPTED"}, "", ONE, "node"),
        ({"FAILED"}, "", ONE, "crash"),
        # without accounts, what is written
        (set(), MEMORY, ONE, "memory"),
        ({"FAILED"}, OOM, ONE, "memory"),
        (set(), TIME, ONE, "time"),
        (set(), NODE, ONE, "node"),
        (set(), PREEMPTED, ONE, "node"),
        (set(), CANCELLED, ONE, "cancelled"),
        # a job of which everything was killed at once: its step may outlive the script, and SLURM ends it
        ({"FAILED"}, STEP_ENDED, ONE, "crash"),
        (set(), STEP_ENDED, ONE, "crash"),
        (set(), "srun: error: node1: task 0: Killed", ONE, "crash"),
        # what the task itself said
        (set(), "", log("a", last=LEFT), "left"),
        ({"FAILED"}, "", log("a", last=LEFT), "left"),
        ({"TIMEOUT"}, TIME, log("a", last=LEFT), "left"),
        (set(), "", log("a", last=OUT_OF_TIME), "time"),
        ({"FAILED"}, "", log(last=FAILED_TO_START), "stopped"),
        # it never came to a cell
        (set(), "", None, "lost"),
        (set(), "python: not found", None, "stopped"),
        ({"FAILED"}, "", None, "stopped"),
        ({"CANCELLED by 0"}, "", None, "cancelled"),
        ({"FAILED"}, "Killed", log(), "stopped"),
    ],
)
def test_the_verdict_follows_the_evidence(states: set[str], stderr: str, run: RunLog | None, verdict: Verdict) -> None:
    assert judge(Evidence(states, stderr, run)) == verdict


def test_the_suspect_is_the_cell_that_was_begun_and_left_no_record() -> None:
    assert suspect(["b", "c"], log("a", "b", ended=("a",))) == "b"
    assert suspect(["c"], log("a", "b", ended=("a", "b"))) == ""  # between two cells
    assert suspect(["a"], log()) == ""
    assert suspect(["a"], None) == ""
