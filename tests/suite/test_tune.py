"""Tuning: chosen by dev alone, fair in its number of trials and steps, and found again when it is run again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import INFO, PAIRS, FirstComponent, Shift, ShiftConfig
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import Adapt, Budget, Seeds, TraceRow, TrainSet
from thawbench.errors import NotApplicableError, UserError
from thawbench.names import TaskName
from thawbench.registry import strategies
from thawbench.strategies.base import Learned
from thawbench.strategies.tuned import read_choices, tuned
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record
from thawbench.suite.tune import Search, Trial, search, table
from thawbench.suite.tuned_file import write_search

TASKS = ("fewshot/one", "fewshot/two")


@dataclass(frozen=True)
class LureConfig(ShiftConfig):
    steps: int = 60
    rate: float | None = None


class Lure(Shift):
    """The greater `by`, the better on test, and the worse on dev."""

    name = "lure"
    Config = LureConfig
    config: LureConfig

    def learn(self, start: Any, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        Shift.fits += 1
        if self.config.by == 13:
            raise NotApplicableError("unlucky")
        if self.config.by == 7:
            raise RuntimeError("a text of the user's, in /some/folder")
        dev = 1 / self.config.by + seeds.sample / 1000
        trace = tuple(TraceRow(step, 0.5, 0.1, {"all": 1.0}) for step in range(self.config.steps))
        return Learned({"by": np.array([self.config.by], dtype=np.float32)}, trace=trace, dev_score=dev)


@pytest.fixture(autouse=True)
def _planner(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def resolve(name: TaskName) -> FirstComponent:
        return FirstComponent(name=f"{name.family}/{name.body}", family=name.family)

    monkeypatch.setattr("thawbench.suite.plan.resolve_task", resolve)
    monkeypatch.setattr("thawbench.suite.plan.trainset_info", {"pairs": PAIRS}.__getitem__)
    monkeypatch.setattr("thawbench.suite.plan.resolve_backbone", lambda spec, precision, device: INFO)
    strategies.register("lure")(Lure)
    yield
    strategies.unregister("lure")


def asked(folder: Path, **changes: Any) -> Settings:
    values = {option.key: option.default for option in OPTIONS}
    return settings({**values, "task": TASKS, "seeds": "sample=100-101", "results": folder, **changes})


def find(folder: Path, values: str = "1,2,4", **changes: Any) -> tuple[Search, tuple[Record, ...]]:
    return search("lure", "by", values.split(","), asked(folder, **changes))


def test_the_choice_is_by_mean_dev_score_though_test_says_the_reverse(tmp_path: Path) -> None:
    found, records = find(tmp_path)
    tests = {record.strategy: record.main.value for record in records if record.main}
    assert max(tests, key=lambda name: tests[name] or 0) == "lure:by=4"
    assert found.chosen == 1.0
    assert found.mean(2.0) == pytest.approx(1 / 2 + 0.1005)  # samples 100 and 101
    assert len(found.trials) == 3 * 2 * 2
    assert found.parameters == 5


def test_no_choice_changes_with_the_test_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = find(tmp_path / "a")
    monkeypatch.setattr(FirstComponent, "evaluate", lambda self, trail, data: pytest.fail("a test score was read"))
    store = RecordStore(tmp_path / "a" / "tune")
    for record in store.all():  # the best on test becomes the worst, and the worst the best
        turned = tuple(replace(metric, value=1 - (metric.value or 0)) for metric in record.metrics if metric.main)
        store.write(replace(record, metrics=turned))
    after, records = find(tmp_path / "a")
    assert {record.main.value > 0.9 for record in records if record.main and record.main.value} == {True}
    assert after == before


def test_a_second_search_runs_nothing_again_and_a_wider_one_only_what_is_new(tmp_path: Path) -> None:
    first, _ = find(tmp_path, "1,2")
    fits = Shift.fits
    again, _ = find(tmp_path, "1,2")
    assert (again, Shift.fits) == (first, fits)
    find(tmp_path, "1,2,4")
    assert Shift.fits == fits * 3 // 2


def test_ties_go_to_the_value_that_was_given_first() -> None:
    trials = tuple(Trial(value, "t", "", "ok", 0.5, 60, str(value)) for value in (3, 1, 2))
    assert Search("s", "1", "f", (3, 1, 2), "", "b", "w", 1, trials).chosen == 3


@pytest.mark.parametrize(
    ("values", "changes", "told"),
    [
        ("1", {}, "gives 1; a fair search has 2 to 4"),
        ("1,2,3,4,5", {}, "gives 5; a fair search has 2 to 4"),
        ("1,1.0", {}, "must all be different"),
        ("1,x", {}, "by=x is not a number"),
        ("1,2", {"seeds": "2"}, "draws samples that boards are made of; tune on samples from 100"),
        ("1,13", {}, r"lure:by=13 cannot be tuned on fewshot/one: unlucky"),
    ],
)
def test_what_would_not_be_fair_is_refused(tmp_path: Path, values: str, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        find(tmp_path, values, **changes)


def test_another_number_of_trials_is_refused_before_the_first_fit(tmp_path: Path) -> None:
    found, records = find(tmp_path)
    write_search(replace(found, strategy="before"), records, tmp_path / "out")
    fits = Shift.fits
    with pytest.raises(UserError, match="lure was given 8 trials and before had 12 on this backbone"):
        search("lure", "by", ["8", "9"], asked(tmp_path / "new"), out=tmp_path / "out")
    assert Shift.fits == fits


def test_a_row_an_option_and_an_unknown_field_are_refused(tmp_path: Path) -> None:
    for name, told in (("lure:by=1", "plain name"), ("lure+lure", "plain name"), ("lrue", "did you mean lure")):
        with pytest.raises(UserError, match=told):
            search(name, "by", ["1", "2"], asked(tmp_path))
    with pytest.raises(UserError, match="unknown option of strategy lure 'bye'; did you mean by"):
        search("lure", "bye", ["1", "2"], asked(tmp_path))
    for field in ("train", "by=1,rate"):
        with pytest.raises(UserError, match="unknown option of strategy lure"):
            search("lure", field, ["pairs", "2"], asked(tmp_path))
    with pytest.raises(UserError, match="none of them `none`"):
        search("lure", "rate", ["none", "2"], asked(tmp_path))


def test_a_fit_of_fewer_than_60_steps_is_refused_with_what_it_took(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"lure:steps=59 fewshot/one .* took 59 steps, and a fair trial at least 60"):
        search("lure", "steps", ["60", "59"], asked(tmp_path))
    assert {trial.steps for trial in find(tmp_path)[0].trials} == {60}


def test_a_value_that_fails_somewhere_is_shown_and_never_chosen(tmp_path: Path) -> None:
    found, records = find(tmp_path, "7,4")
    assert found.chosen == 4.0
    assert table(found) == (
        ["by", *TASKS, "mean", "steps", ""],
        [
            ["7.0", "failed", "failed", "–", "–", ""],
            ["4.0", "35.05 ± 0.07 (2)", "35.05 ± 0.07 (2)", "35.05", "60", "chosen"],
        ],
    )
    write_search(found, records, tmp_path / "out")
    assert "/some/folder" not in (tmp_path / "out" / "lure.json").read_text()
    with pytest.raises(UserError, match="no value of lure's by has a dev score"):
        _ = replace(found, values=(7.0,)).chosen


def test_what_is_written_says_what_decided_and_strategies_read_it(tmp_path: Path) -> None:
    found, records = find(tmp_path)
    path = write_search(found, records, tmp_path / "out")
    (choice,) = read_choices("lure", tmp_path / "out")
    assert (choice["field"], choice["value"], choice["values"]) == ("by", 1.0, [1.0, 2.0, 4.0])
    assert (choice["tasks"], choice["seeds"], choice["parameters"]) == (list(TASKS), "sample=100-101", 5)
    trials: Any = choice["trials"]
    assert [trial["dev_score"] for trial in trials] == [record.dev_score for record in records]
    written = [Record.from_json(each) for each in json.loads((path.with_suffix(".json")).read_text())]
    assert {record.key for record in written} == {trial["key"] for trial in trials}
    assert tuned("lure", 5, tmp_path / "out") == {"by": 1.0}
    before = path.read_bytes()
    write_search(*find(tmp_path), tmp_path / "out")
    assert path.read_bytes() == before


def test_choices_of_other_backbones_stay_with_their_records(tmp_path: Path) -> None:
    found, records = find(tmp_path, "1,2")
    out = tmp_path / "out"
    write_search(found, records, out)
    other, others = find(tmp_path, "2,4")
    write_search(replace(other, weights="v" * 64, parameters=1000), others, out)
    assert [choice["value"] for choice in read_choices("lure", out)] == [1.0, 2.0]
    assert len(json.loads((out / "lure.json").read_text())) == 3 * 2 * 2
    assert tuned("lure", 1000, out) == {"by": 2.0}


def test_every_strategy_gets_the_same_number_of_trials(tmp_path: Path) -> None:
    found, records = find(tmp_path)
    write_search(replace(found, strategy="before"), records, tmp_path / "out")
    with pytest.raises(UserError, match=r"lure was given 8 trials and before had 12 on this backbone"):
        write_search(*find(tmp_path, "1,2"), tmp_path / "out")
    assert write_search(found, records, tmp_path / "out").name == "lure.toml"


def test_the_command_prints_dev_scores_and_writes_the_choice(tmp_path: Path) -> None:
    options = ["--field=by", "--values=1,2", *(f"--task={task}" for task in TASKS)]
    done = CliRunner().invoke(app, ["tune", "lure", *options, f"--results={tmp_path}", f"--out={tmp_path / 'out'}"])
    assert done.exit_code == 0, done.output
    assert "lure takes by = 1.0" in done.output
    assert read_choices("lure", tmp_path / "out")[0]["value"] == 1.0
    assert list((tmp_path / "tune" / "records").glob("??/*.json"))
    assert not (tmp_path / "records").exists()
