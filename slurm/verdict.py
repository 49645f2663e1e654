"""Why a task ended, and what follows from that for those of its cells that have no record.

done        all of them have one
lost        it never ran                               its cells are sent again, nothing is counted
cancelled   someone cancelled it                       its cells wait for the next `sweep`
node        its node failed, or it was preempted       sent again, nothing is counted
left        it saved itself when its time was up       sent again, nothing is counted
stopped     it could not begin, or could not write     sent again, a few times; no cell is to blame
crash       its process died                           the cell that ran is sent alone, and counts a try
memory      the same, out of memory                    likewise, with twice the memory
time        the same, out of time                      likewise, with twice the time
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from thawbench.slurm.tasklog import FAILED_TO_START, LEFT, OUT_OF_TIME, RunLog

Verdict = Literal["done", "lost", "cancelled", "node", "left", "stopped", "crash", "memory", "time"]

COUNTED: tuple[Verdict, ...] = ("crash", "memory", "time")
"""Those that blame one cell."""

_MEMORY = re.compile(r"exceeded memory limit|oom[-_ ]?kill|out of memory|out_of_memory", re.IGNORECASE)
_NODE = re.compile(r"DUE TO (NODE FAILURE|PREEMPTION|JOB REQUEUE)")
_TIME = re.compile(r"DUE TO TIME LIMIT")
_CANCELLED = re.compile(r"\*\*\* JOB \S+ ON \S+ CANCELLED AT \S+ \*\*\*")
"""Of a job, not of a step: SLURM itself cancels the step of a job whose batch script has died."""


@dataclass(frozen=True)
class Evidence:
    """What is known of a task that is no longer in the queue.

    Attributes:
        states: what the scheduler says of the job and its steps; empty where it keeps no accounts.
        stderr: what the scheduler wrote of the last run, outside of the task's own log.
        log: the task's own log of its last run; None if there is none.
    """

    states: Collection[str]
    stderr: str
    log: RunLog | None


def judge(evidence: Evidence) -> Verdict:
    """Why a task ended, given that not all of its cells have records."""
    states = {state.split()[0].rstrip("+") for state in evidence.states if state.strip()}
    last = "" if evidence.log is None else evidence.log.last
    if "OUT_OF_MEMORY" in states or _MEMORY.search(evidence.stderr):
        return "memory"
    if last == OUT_OF_TIME or states & {"TIMEOUT", "DEADLINE"} or _TIME.search(evidence.stderr):
        return "time" if last != LEFT else "left"
    if "CANCELLED" in states or _CANCELLED.search(evidence.stderr):
        return "cancelled"
    if states & {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"} or _NODE.search(evidence.stderr):
        return "node"
    if last == LEFT:
        return "left"
    if last == FAILED_TO_START:
        return "stopped"
    if evidence.log is None:
        return "stopped" if evidence.stderr or states else "lost"
    return "crash" if evidence.log.begun else "stopped"


def suspect(undone: Collection[str], log: RunLog | None) -> str:
    """The cell that ran when its task ended: the last one begun, if it has no record; empty if none did."""
    if log is None or not log.begun:
        return ""
    last = log.begun[-1]
    return last if last in undone and last not in log.ended else ""
