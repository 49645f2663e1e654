"""A cell that takes too long is told as such, costs the others nothing, and goes on from where it was."""

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FirstComponent, Shift, make_cell

from thawbench.contracts import Scores
from thawbench.errors import UserError
from thawbench.strategies.interruption import Interrupted
from thawbench.suite.options import OPTIONS, settings
from thawbench.suite.runner import Runner, trouble
from thawbench.suite.time_limit import OverTime, time_limit


def test_a_block_that_takes_too_long_is_left_and_the_alarm_is_as_it_was() -> None:
    before = signal.getsignal(signal.SIGALRM)

    with pytest.raises(OverTime, match=r"more than 0\.05 s, which --cell-timeout allows"), time_limit(0.05):
        time.sleep(10)

    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_block_in_time_is_left_alone_and_other_signals_are_what_they_were() -> None:
    with time_limit(60):
        found = 1 + 1
    with pytest.raises(Interrupted), time_limit(60):
        raise Interrupted(signal.SIGTERM)

    assert found == 2
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


class Slow(FirstComponent):
    """Takes its time."""

    def evaluate(self, trail: Any, data: Any) -> Scores:
        time.sleep(10)
        return super().evaluate(trail, data)


def test_a_cell_over_time_is_recorded_shown_red_and_run_again_and_the_next_one_runs(tmp_path: Path) -> None:
    slow, quick = make_cell(Slow(name="fake/slow")), make_cell(FirstComponent(name="fake/quick"))
    runner = Runner(tmp_path, (slow, quick), cell_timeout=0.5)

    late, fine = runner.run(slow), runner.run(quick)

    assert (late.record.status, late.record.metrics, fine.record.status) == ("timeout", (), "ok")
    assert "timeout (attempt 1): OverTime: took more than 0.5 s" in trouble(late, {})
    again = Runner(tmp_path, (slow, quick), cell_timeout=0.5).run(slow)
    assert (again.cached, again.record.attempts) == (False, 2)


def test_what_was_fitted_before_time_ran_out_is_not_fitted_again(tmp_path: Path) -> None:
    slow = make_cell(Slow())
    fits = Shift.fits
    for _ in range(2):
        assert Runner(tmp_path, (slow,), cell_timeout=0.5).run(slow).record.status == "timeout"
    assert Shift.fits == fits + 1
    assert Runner(tmp_path, (slow,)).run(replace(slow, task=FirstComponent())).record.status == "ok"
    assert Shift.fits == fits + 1
    assert [path for path in (tmp_path / "adaptations").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("said", ["0", "-3", "soon"])
def test_a_limit_that_cannot_be_is_one_clear_line(said: str) -> None:
    with pytest.raises(UserError, match=f"--cell-timeout {said} is not a whole number above 0"):
        settings({**{option.key: option.default for option in OPTIONS}, "cell_timeout": said})


@pytest.mark.parametrize(
    ("key", "most"), [("threads", 4096), ("steps", 1_000_000_000), ("cell_timeout", 1_000_000_000)]
)
def test_a_number_that_nothing_could_take_is_one_clear_line(key: str, most: int) -> None:
    values = {option.key: option.default for option in OPTIONS}

    assert getattr(settings({**values, key: str(most)}), key) == most
    for said in (str(most + 1), "1" + "0" * 5000):  # of which the second is more than int() reads
        told = f"--{key.replace('_', '-')} {said} is too large; give at most {most}"
        with pytest.raises(UserError, match=told):
            settings({**values, key: said})


def test_an_alarm_can_be_set_to_the_longest_limit() -> None:
    with time_limit(1_000_000_000):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 999_999_000
