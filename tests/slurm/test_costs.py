"""What a cell will take, by what cells like it took."""

from dataclasses import replace

from fakes import FirstComponent, make_cell

from thawbench.slurm.costs import Costs
from thawbench.slurm.glance import Glance
from thawbench.suite.cells import Adaptation


def took(seconds: float, task: str = "fake/first", strategy: str = "shift", status: str = "ok") -> Glance:
    return Glance("k", status, strategy, task, "fake", "fake", 1, "", seconds)


def test_the_mean_over_seeds_of_the_same_strategy_and_task_counts_most() -> None:
    records = [took(1.0), took(3.0), took(50.0, task="fake/other"), took(90.0, strategy="another")]

    assert Costs(records).seconds(make_cell(FirstComponent())) == 2.0


def test_next_comes_the_family_then_the_strategy() -> None:
    records = [took(4.0, task="fake/other"), replace(took(10.0, task="else/x"), family="else")]

    assert Costs(records).seconds(make_cell(FirstComponent())) == 4.0
    assert Costs(records[1:]).seconds(make_cell(FirstComponent())) == 10.0


def test_what_failed_or_ran_on_another_backbone_says_nothing() -> None:
    cell = make_cell(FirstComponent())
    guess = Costs([]).seconds(cell)

    assert Costs([took(9.0, status="failed"), replace(took(9.0), backbone="other")]).seconds(cell) == guess


def test_without_records_a_strategy_that_trains_by_steps_is_guessed_to_take_longer() -> None:
    cell = make_cell(FirstComponent())
    (step,) = cell.adaptation.steps
    trained = replace(step, streams=frozenset({"order"}))

    slow = replace(cell, adaptation=Adaptation(cell.adaptation.backbone, (trained,)))

    assert Costs([]).seconds(slow) > 2 * Costs([]).seconds(cell) > 0


def test_what_does_not_apply_takes_next_to_nothing() -> None:
    assert Costs([took(9.0)]).seconds(make_cell(FirstComponent(), reason="it has no vectors")) < 0.1
