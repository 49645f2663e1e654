"""The stored scores of built-ins: what counts as a change, what is measured again, and that some still come out."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FirstComponent, make_cell

from thawbench.suite.cells import Cell
from thawbench.suite.pinned_scores import COMMAND, FILE, TASKS, Pin, named, outdated, read_pins, shares, write_pins
from thawbench.suite.strategy_page import built_in

CHEAP_S = 13.0
"""What was fitted as fast is measured again here; all of it by `python -m thawbench.suite.pinned_scores --check`."""


def pin(cell: Cell, score: str = "0.5") -> Pin:
    return Pin(*named(cell), "score", score, "1.0", "2", "8")


def test_scores_are_the_same_to_a_millionth_and_a_status_only_as_itself() -> None:
    one = pin(make_cell(FirstComponent()))
    assert not one.differs(replace(one, score="0.5000009"))
    assert one.differs(replace(one, score="0.500002"))
    assert one.differs(replace(one, score="degenerate"))
    assert not replace(one, score="degenerate").differs(replace(one, score="degenerate"))


def test_only_what_is_missing_or_has_another_key_is_measured_again() -> None:
    same, changed, missing, elsewhere = (make_cell(FirstComponent(name=f"fake/{name}")) for name in "abcd")
    stored = [
        pin(same),
        replace(pin(changed), cell="0" * 16),
        replace(pin(elsewhere), cell="0" * 16, backbone="another tiny"),  # its key says nothing here
    ]
    assert outdated([same, changed, missing, elsewhere], stored) == [changed, missing]


def test_rows_are_written_by_name_and_read_as_they_were(tmp_path: Path) -> None:
    rows = [pin(make_cell(FirstComponent(name=f"fake/{name}"))) for name in "ba"]
    write_pins(rows, tmp_path / "pins.csv")

    assert read_pins(tmp_path / "pins.csv") == rows[::-1]
    assert read_pins(tmp_path / "none.csv") == []
    assert os.listdir(tmp_path) == ["pins.csv"]
    assert shares(rows) == {"shift": 0.25}


def test_every_built_in_has_a_stored_score() -> None:
    missing = set(built_in()) - {row.strategy for row in read_pins()}
    assert not missing, f"run `{COMMAND} {' '.join(sorted(missing))}`"
    assert {row.task for row in read_pins()} <= set(TASKS)


@pytest.mark.slow
def test_what_is_cheap_still_gives_the_stored_score() -> None:
    """In a process of its own, on one thread: the number of threads changes trained bits."""
    cheap = sorted({row.strategy for row in read_pins() if float(row.fit_s) <= CHEAP_S})
    command = [sys.executable, *COMMAND.split()[1:], *cheap, "--check", "--seconds", str(CHEAP_S)]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if found.returncode == 3:
        pytest.skip(f"`tiny` has other weights here than those that {FILE.name} was measured with")
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(cheap) > 5
