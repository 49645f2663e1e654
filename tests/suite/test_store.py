"""What a fit asks for on its way comes out of the store, and goes when nothing needs it any more."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import FirstComponent, Shift, ShiftConfig, make_cell

from thawbench.contracts import Seeds, TrainSet
from thawbench.strategies.base import Learned
from thawbench.suite.cells import Cell
from thawbench.suite.runner import Runner


class MeanOfTwo(Shift):
    """Shifts by the mean of what two fits of `shift` do."""

    name = "mean_of_two"

    def learn(self, start: Any, data: TrainSet, *, seeds: Seeds, budget: Any, adapt: Any) -> Learned:
        made = [adapt(Shift(ShiftConfig(2.0)), replace(seeds, init=init)) for init in (0, 4)]
        return Learned({"by": np.mean([member.state.tensors["by"] for member in made], axis=0)})


def mean_cell() -> Cell:
    cell = make_cell(FirstComponent(name="fake/mean"))
    (step,) = cell.adaptation.steps
    return replace(cell, adaptation=replace(cell.adaptation, steps=(replace(step, strategy=MeanOfTwo(ShiftConfig())),)))


def folders(results: Path) -> set[str]:
    return {path.name for path in (results / "adaptations").iterdir()}


def test_members_go_with_what_asked_for_them(tmp_path: Path) -> None:
    cell = mean_cell()
    runner = Runner(tmp_path, (cell,))
    record = runner.run(cell).record

    assert record.main is not None
    assert record.main.value == pytest.approx((4 + 2 + 2) / 100)  # four letters; 2 + 0 and 2 + 4 on the mean
    assert runner.store.fitted == 3
    assert folders(tmp_path) == set()


def test_a_member_that_is_planned_for_itself_is_fitted_once_and_stays_until_it_was_measured(tmp_path: Path) -> None:
    mean, alone = mean_cell(), make_cell(FirstComponent(name="fake/alone"), by=2.0)
    runner = Runner(tmp_path, (mean, alone))
    runner.run(mean)
    between = folders(tmp_path)
    runner.run(alone)

    assert between == {alone.adaptation.key}
    assert runner.store.fitted == 3
    assert folders(tmp_path) == set()


def test_members_are_kept_where_checkpoints_are(tmp_path: Path) -> None:
    cell = mean_cell()
    Runner(tmp_path, (cell,), keep_checkpoints=True).run(cell)
    assert len(folders(tmp_path)) == 3


class Restless(Shift):
    """Counts its fits in its config."""

    name = "restless"

    def learn(self, start: Any, data: TrainSet, *, seeds: Seeds, budget: Any, adapt: Any) -> Learned:
        object.__setattr__(self.config, "by", self.config.by + 1)
        return super().learn(start, data, seeds=seeds, budget=budget, adapt=adapt)


def test_a_fit_that_changes_its_config_is_a_failed_record_and_the_next_cell_runs(tmp_path: Path) -> None:
    cell, after = make_cell(FirstComponent(name="fake/first")), make_cell(FirstComponent(name="fake/next"), by=2.0)
    (step,) = cell.adaptation.steps
    restless = replace(step, strategy=Restless(ShiftConfig()))
    cell = replace(cell, adaptation=replace(cell.adaptation, steps=(restless,)))
    runner = Runner(tmp_path, (cell, after))
    record = runner.run(cell).record

    assert record.status == "failed"
    assert record.key == cell.key
    assert record.failure is not None
    assert record.failure.message.startswith("restless changed its config while it was fitted")
    assert restless.strategy.config == ShiftConfig()
    assert runner.run(after).record.status == "ok"
