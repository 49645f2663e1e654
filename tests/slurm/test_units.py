"""What shares a fit stands in one unit, and nothing else does."""

from dataclasses import replace
from typing import ClassVar

from fakes import INFO, PAIRS, FirstComponent, Shift, ShiftConfig, make_cell

from thawbench.contracts import Budget, Seeds
from thawbench.slurm.units import units_of
from thawbench.strategies.base import BaseStrategy
from thawbench.suite.cells import Adaptation, Cell, Step


class Free(BaseStrategy):
    """Looks at no data."""

    name = "free"


class Asker(BaseStrategy):
    """Asks for fits of `shift`."""

    name = "asker"
    asks_for: ClassVar[tuple[str, ...]] = ("shift",)


def free_step() -> Step:
    return Step(Free(), "1", None, Seeds(), frozenset(), Budget())


def before(step: Step, cell: Cell) -> Cell:
    return replace(cell, adaptation=Adaptation(INFO, (step, *cell.adaptation.steps)))


def places(cells: list[Cell]) -> list[tuple[int, ...]]:
    return [unit.places for unit in units_of(cells, [1.0] * len(cells), range(len(cells)))]


def test_tasks_that_measure_one_adaptation_are_one_unit_whose_seconds_add_up() -> None:
    cells = [make_cell(FirstComponent(name=f"fake/{index}")) for index in range(3)]

    (unit,) = units_of(cells, [1.0, 2.0, 4.0], range(3))

    assert unit.places == (0, 1, 2)
    assert unit.seconds == 7.0


def test_only_the_places_asked_for_are_in_units() -> None:
    cells = [make_cell(FirstComponent(name=f"fake/{index}")) for index in range(3)]

    (unit,) = units_of(cells, [1.0, 2.0, 4.0], [0, 2])

    assert (unit.places, unit.seconds) == ((0, 2), 5.0)


def test_other_seeds_are_another_unit() -> None:
    cells = [make_cell(FirstComponent(), Seeds(init=seed)) for seed in (0, 1, 0)]

    assert places(cells) == [(0, 2), (1,)]


def test_what_was_trained_on_the_way_is_shared() -> None:
    first = make_cell(FirstComponent())
    longer = replace(
        first,
        adaptation=Adaptation(
            INFO, (*first.adaptation.steps, replace(first.adaptation.steps[0], seeds=Seeds(9, 9, 9)))
        ),
    )

    assert places([first, longer]) == [(0, 1)]


def test_a_step_that_looks_at_no_data_ties_nothing_together() -> None:
    alone = make_cell(FirstComponent())
    only_free = [
        replace(make_cell(FirstComponent(name=f"fake/{index}")), adaptation=Adaptation(INFO, (free_step(),)))
        for index in range(2)
    ]
    behind = [before(free_step(), make_cell(FirstComponent(), by=by)) for by in (1.0, 2.0)]

    assert places([*only_free, *behind, alone]) == [(0,), (1,), (2,), (3,), (4,)]


def test_a_strategy_stands_with_the_fits_that_it_asks_for_and_runs_before_them() -> None:
    def asker(seeds: Seeds) -> Cell:
        step = Step(Asker(), "1", PAIRS, seeds, frozenset({"sample", "init"}), Budget())
        return replace(make_cell(FirstComponent()), adaptation=Adaptation(INFO, (step,)))

    cells = [make_cell(FirstComponent(), Seeds(sample, 0, 0)) for sample in (0, 1)]
    cells += [asker(Seeds(sample, 5, 0)) for sample in (0, 1)]

    assert places(cells) == [(2, 0), (3, 1)]


def test_the_fake_strategy_is_as_these_tests_take_it() -> None:
    assert Shift(ShiftConfig(1.0)).consumes & PAIRS.signals
