"""The logs of array tasks: one file for each run of a task, with lines that say where a cell begins and ends."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from thawbench.suite.records import Failure

RUN = "== task"
BEGIN, END = "== begin", "== end"
LEFT = "== left:"
OUT_OF_TIME = "== out of time:"
FAILED_TO_START = "== stopped:"

TAIL_LINES = 30
_TAIL_BYTES = 65536
_OF_LOG = re.compile(r"^last lines of the log (.+):$", re.MULTILINE)


@dataclass(frozen=True)
class RunLog:
    """One run of a task, as its log tells it.

    Attributes:
        begun: the keys of the cells that it began, in order.
        ended: those that it ended.
        last: what it said of its own end, if anything: one of LEFT, OUT_OF_TIME, FAILED_TO_START.
    """

    path: Path
    begun: tuple[str, ...]
    ended: frozenset[str]
    last: str


def last_run(logs: Path, index: int) -> RunLog | None:
    """The latest run of a task that left a log; None if there is none."""
    paths = list(logs.glob(f"{index}.*.log"))
    if not paths:
        return None
    path = max(paths, key=lambda path: path.stat().st_mtime_ns)
    begun: list[str] = []
    ended: set[str] = set()
    last = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(BEGIN):
            begun.append(line.split()[2])
        elif line.startswith(END):
            ended.add(line.split()[2])
        elif line.startswith((LEFT, OUT_OF_TIME, FAILED_TO_START)):
            last = next(mark for mark in (LEFT, OUT_OF_TIME, FAILED_TO_START) if line.startswith(mark))
    return RunLog(path, tuple(begun), frozenset(ended), last)


def section(path: Path, key: str) -> Iterator[str]:
    """The lines of a log that one cell left, with those that mark its begin and its end."""
    inside = False
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(BEGIN):
                inside = line.split()[2] == key
            if inside:
                yield line.rstrip("\n")
            if line.startswith(END):
                inside = False


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def of_last_run(stderr: str) -> str:
    """What the scheduler wrote of a task's last run: each run begins with a line of its own."""
    return stderr.rpartition(f"\n{RUN} ")[2] if f"\n{RUN} " in stderr else stderr


def with_tail(failure: Failure, path: Path, key: str = "") -> Failure:
    """The failure with the last lines of a log behind its traceback: those of one cell, or of the whole."""
    try:
        last = list(section(path, key))[-TAIL_LINES:] if key else tail(path).splitlines()
    except OSError:
        last = []
    return replace(failure, traceback="\n".join([failure.traceback, f"last lines of the log {path}:", *last]))


def log_of(failure: Failure) -> str:
    """The log that a failure's last lines are of; empty if it has none."""
    found = _OF_LOG.search(failure.traceback)
    return found.group(1) if found else ""
