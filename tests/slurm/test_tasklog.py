"""What a task's log tells of its cells and of its end."""

import os
from pathlib import Path

from thawbench.slurm.tasklog import BEGIN, END, LEFT, last_run, log_of, of_last_run, section, tail, with_tail
from thawbench.suite.records import Failure

FIRST = (
    f"== task 3 run 7-0\n{BEGIN} a frozen x\nhello\n{END} a ok 1 s\n{BEGIN} b frozen y\nworld\n{LEFT} asked to leave\n"
)


def logs(folder: Path, **texts: str) -> Path:
    for place, (name, text) in enumerate(texts.items()):
        path = folder / f"3.{name}.log"
        path.write_text(text)
        os.utime(path, (1000 + place, 1000 + place))
    return folder


def test_a_run_tells_which_cells_it_began_and_ended_and_how_it_ended_itself(tmp_path: Path) -> None:
    found = last_run(logs(tmp_path, first=FIRST), 3)

    assert found is not None
    assert (found.begun, found.ended, found.last) == (("a", "b"), frozenset({"a"}), LEFT)
    assert last_run(tmp_path, 4) is None


def test_the_latest_run_counts(tmp_path: Path) -> None:
    found = last_run(logs(tmp_path, first=FIRST, second=f"{BEGIN} b frozen y\n"), 3)

    assert found is not None
    assert (found.begun, found.last, found.path.name) == (("b",), "", "3.second.log")


def test_a_section_is_what_one_cell_wrote(tmp_path: Path) -> None:
    path = logs(tmp_path, first=FIRST) / "3.first.log"

    assert list(section(path, "a")) == [f"{BEGIN} a frozen x", "hello", f"{END} a ok 1 s"]
    assert list(section(path, "b")) == [f"{BEGIN} b frozen y", "world", f"{LEFT} asked to leave"]
    assert list(section(path, "c")) == []


def test_a_failure_carries_the_last_lines_of_its_log_and_where_that_is(tmp_path: Path) -> None:
    path = logs(tmp_path, first=FIRST) / "3.first.log"
    told = with_tail(Failure("ValueError", "no", "Traceback"), path, "a")

    assert told.traceback.splitlines() == ["Traceback", f"last lines of the log {path}:", *section(path, "a")]
    assert log_of(told) == str(path)
    assert log_of(Failure("ValueError", "no", "Traceback")) == ""


def test_only_the_last_run_of_a_task_is_judged_by_what_the_scheduler_wrote() -> None:
    assert of_last_run("a\n== task 0 run 1-0\nDUE TO TIME LIMIT\n== task 0 run 1-1\nKilled") == "0 run 1-1\nKilled"
    assert of_last_run("python: not found") == "python: not found"


def test_a_tail_is_short_whatever_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"\xff" * 200_000 + b"\n" + b"\n".join(b"%d" % number for number in range(100)))

    assert tail(path, 3) == "97\n98\n99"
    assert tail(tmp_path / "none") == ""
