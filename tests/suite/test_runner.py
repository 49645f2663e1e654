"""One cell, one record: whatever happens on the way is told, and nothing is done twice."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes import INFO, FirstComponent, Shift, make_cell

from thawbench.contracts import Adapted, ScoredRow, Scores, Seeds
from thawbench.errors import DegenerateError, NotApplicableError
from thawbench.suite.cells import Adaptation
from thawbench.suite.runner import Runner, trouble


def test_a_cell_leaves_a_record_with_its_score(tmp_path: Path) -> None:
    task = FirstComponent()
    outcome = Runner(tmp_path, (make_cell(task),)).run(make_cell(task))

    assert not outcome.cached
    assert outcome.record.status == "ok"
    assert outcome.record.main is not None
    assert outcome.record.main.value == pytest.approx(0.05)  # four letters and a shift of one
    assert outcome.record.draws == ("init", "sample")
    assert outcome.record.usage.trainable_parameters == 1
    assert outcome.record.usage.total_parameters == 6
    assert outcome.record.environment.packages["torch"]
    assert outcome.record.environment.device == "cpu"


def test_a_recorded_cell_is_neither_fitted_nor_loaded_nor_measured_again(tmp_path: Path) -> None:
    Runner(tmp_path, (make_cell(FirstComponent()),)).run(make_cell(FirstComponent()))
    task = FirstComponent()
    fits = Shift.fits

    outcome = Runner(tmp_path, (make_cell(task),)).run(make_cell(task))

    assert outcome.cached
    assert (task.loaded, task.evaluated, Shift.fits) == (0, 0, fits)


def test_fresh_runs_it_again(tmp_path: Path) -> None:
    Runner(tmp_path, (make_cell(FirstComponent()),)).run(make_cell(FirstComponent()))
    task = FirstComponent()

    assert not Runner(tmp_path, (make_cell(task),), fresh=True).run(make_cell(task)).cached
    assert task.evaluated == 1


def test_tasks_share_the_adaptation_that_they_read(tmp_path: Path) -> None:
    cells = tuple(make_cell(FirstComponent(name=f"fake/{index}")) for index in range(3))
    runner = Runner(tmp_path, cells)

    for cell in cells:
        runner.run(cell)

    assert Shift.fits == 1
    assert runner.store.fitted == 1


def test_a_checkpoint_goes_with_the_last_cell_that_needs_it(tmp_path: Path) -> None:
    cells = tuple(make_cell(FirstComponent(name=f"fake/{index}")) for index in range(2))
    runner = Runner(tmp_path, cells)
    folder = tmp_path / "adaptations" / cells[0].adaptation.key

    runner.run(cells[0])
    kept = folder.is_dir()
    runner.run(cells[1])

    assert kept
    assert not folder.exists()


def test_what_is_measured_beside_is_given_behind_the_trail_and_goes_with_the_last_cell_that_needs_it(
    tmp_path: Path,
) -> None:
    cell, other = make_cell(FirstComponent()), make_cell(FirstComponent(), by=9.0)
    cells = tuple(replace(cell, task=FirstComponent(name=f"fake/{n}"), beside=(other.adaptation,)) for n in range(2))
    runner = Runner(tmp_path, cells)

    first = runner.run(cells[0]).record
    kept = len(list((tmp_path / "adaptations").iterdir()))
    runner.run(cells[1])

    assert first.main is not None
    assert first.main.value == pytest.approx(0.13)  # the last of the trail: four letters and nine
    assert runner.store.fitted == kept == 2
    assert not list((tmp_path / "adaptations").iterdir())


def test_a_checkpoint_that_was_kept_serves_the_next_run(tmp_path: Path) -> None:
    first, second = make_cell(FirstComponent(name="fake/1")), make_cell(FirstComponent(name="fake/2"))
    before = Runner(tmp_path, (first,), keep_checkpoints=True).run(first)
    after = Runner(tmp_path, (second,)).run(second)

    assert Shift.fits == 1
    assert after.record.main == before.record.main
    assert after.record.usage.fit_s == before.record.usage.fit_s


def test_a_damaged_checkpoint_is_fitted_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = make_cell(FirstComponent(name="fake/1")), make_cell(FirstComponent(name="fake/2"))
    before = Runner(tmp_path, (first,), keep_checkpoints=True).run(first)
    (tmp_path / "adaptations" / first.adaptation.key / "state.safetensors").write_bytes(b"half")
    after = Runner(tmp_path, (second,)).run(second)

    assert Shift.fits == 2
    assert after.record.main == before.record.main
    assert "damaged" in caplog.text


def test_what_raises_is_a_failed_record_with_its_traceback_and_is_tried_again(tmp_path: Path) -> None:
    def fail(value: float) -> float:
        raise ZeroDivisionError("of all things")

    broken = make_cell(FirstComponent(answer=fail))
    first = Runner(tmp_path, (broken,)).run(broken)
    second = Runner(tmp_path, (broken,)).run(broken)
    whole = make_cell(FirstComponent())
    third = Runner(tmp_path, (whole,)).run(whole)

    assert first.record.status == second.record.status == "failed"
    assert first.record.failure is not None
    assert first.record.failure.type == "ZeroDivisionError"
    assert "in fail" in first.record.failure.traceback
    assert (first.record.attempts, second.record.attempts) == (1, 2)
    assert (third.record.status, third.record.attempts) == ("ok", 3)
    assert trouble(first, {}) == "failed (attempt 1): ZeroDivisionError: of all things"


def test_a_score_beyond_its_bounds_fails(tmp_path: Path) -> None:
    cell = make_cell(FirstComponent(answer=lambda value: 1.5))
    record = Runner(tmp_path, (cell,)).run(cell).record

    assert record.status == "failed"
    assert record.failure is not None
    assert "outside its bounds" in record.failure.message


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_degenerate_and_no_number(tmp_path: Path, bad: float) -> None:
    cell = make_cell(FirstComponent(answer=lambda value: bad))
    outcome = Runner(tmp_path, (cell,)).run(cell)

    assert outcome.record.status == "degenerate"
    assert "NaN" not in (tmp_path / "records" / cell.key[:2] / f"{cell.key}.json").read_text()
    assert trouble(outcome, {}).startswith("degenerate")
    assert Runner(tmp_path, (cell,)).run(cell).cached


def test_degenerate_vectors_are_told_with_their_reason(tmp_path: Path) -> None:
    def refuse(value: float) -> float:
        raise DegenerateError("3 of 4 vectors are not finite")

    cell = make_cell(FirstComponent(answer=refuse))

    assert Runner(tmp_path, (cell,)).run(cell).record.reason == "3 of 4 vectors are not finite"


def test_what_is_not_applicable_is_recorded_and_not_tried(tmp_path: Path) -> None:
    task = FirstComponent()
    cell = make_cell(task, reason="shift learns from pairs; x has texts")
    first, second = (Runner(tmp_path, (cell,)).run(cell) for _ in range(2))

    assert first.record.status == "not_applicable"
    assert first.record.reason == "shift learns from pairs; x has texts"
    assert task.evaluated == 0
    assert second.cached
    assert trouble(first, {}) == ""


def test_what_turns_out_not_to_apply_is_no_failure(tmp_path: Path) -> None:
    def refuse(value: float) -> float:
        raise NotApplicableError("one class only")

    cell = make_cell(FirstComponent(answer=refuse))
    outcome = Runner(tmp_path, (cell,)).run(cell)

    assert (outcome.record.status, outcome.record.reason) == ("not_applicable", "one class only")
    assert Runner(tmp_path, (cell,)).run(cell).cached


def test_a_low_score_is_red_only_under_a_floor(tmp_path: Path) -> None:
    cell = make_cell(FirstComponent())
    outcome = Runner(tmp_path, (cell,)).run(cell)

    assert trouble(outcome, {}) == ""
    assert trouble(outcome, {"fake/first": 0.05}) == ""
    assert "under the floor of 0.0600" in trouble(outcome, {"fake/first": 0.06})


def test_rows_are_kept_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = FirstComponent()
    rows = (ScoredRow("test:0", 5.0, 0.9), ScoredRow("test:1", 0.0, 0.1))
    monkeypatch.setattr(task, "evaluate", lambda trail, data: Scores({"score": 0.5}, rows=rows))
    record = Runner(tmp_path, (make_cell(task),)).run(make_cell(task)).record

    assert record.rows is not None
    assert pq.read_table(tmp_path / record.rows).to_pydict() == {
        "row": ["test:0", "test:1"],
        "gold": [5.0, 0.0],
        "prediction": [0.9, 0.1],
    }


@pytest.mark.parametrize(("ends", "seen"), [((), [4, 5, 7, 10]), ((1, 3), [4, 5, 10])])
def test_a_task_sees_the_whole_trail_or_what_each_set_of_its_chain_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[int, ...], seen: list[int]
) -> None:
    task = FirstComponent()
    found: list[int] = []

    def look(trail: Sequence[Adapted], data: str) -> Scores:
        found.extend(int(adapted.encode([data])[0, 0]) for adapted in trail)
        return Scores({"score": 0.5})

    monkeypatch.setattr(task, "evaluate", look)
    one = make_cell(task)
    steps = tuple(make_cell(task, by=by).adaptation.steps[0] for by in (1.0, 2.0, 3.0))
    cell = replace(one, adaptation=Adaptation(INFO, steps), ends=ends)
    record = Runner(tmp_path, (cell,)).run(cell).record

    assert found == seen
    assert record.usage.total_parameters == 8  # five of the source, and one of each step, seen or not


def test_two_seeds_are_two_records_and_two_scores(tmp_path: Path) -> None:
    cells = (make_cell(FirstComponent(), Seeds(init=0)), make_cell(FirstComponent(), Seeds(init=1)))
    runner = Runner(tmp_path, cells)
    values = [runner.run(cell).record.main for cell in cells]

    assert [value.value for value in values if value] == pytest.approx([0.05, 0.06])


def test_a_damaged_record_is_named_set_aside_and_run_again(tmp_path: Path) -> None:
    cell = make_cell(FirstComponent())
    Runner(tmp_path, (cell,)).run(cell)
    path = tmp_path / "records" / cell.key[:2] / f"{cell.key}.json"
    path.write_bytes(path.read_bytes()[:200])
    runner = Runner(tmp_path, (cell,))

    assert not runner.run(cell).cached
    assert [aside.name for aside in runner.records.damaged] == [f"{cell.key}.json.damaged-1"]
    assert json.loads(path.read_text())["status"] == "ok"
