"""What a plan is expected to take: worked by hand from a few records, and nothing counted twice."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import INFO, PAIRS, FirstComponent, Shift, ShiftConfig, make_cell
from rich.console import Console

from thawbench.contracts import Budget, Seeds
from thawbench.suite.cells import Adaptation, Cell
from thawbench.suite.estimate import Basis, Costs, Estimate, basis_told, estimate, lasts, steps_of, total
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record, Usage
from thawbench.suite.runner import Runner


def recorded(cell: Cell, folder: Path, **usage: float) -> Record:
    """The cell's own record, as if it had taken these seconds."""
    return replace(Runner(folder, (cell,)).run(cell).record, usage=Usage(**usage))  # type: ignore[arg-type]


def on(train: str, *, by: float = 1.0, task: str = "fake/first", seed: int = 0, budget: Budget | None = None) -> Cell:
    """`shift` on so many pairs."""
    cell = make_cell(FirstComponent(name=task), Seeds(seed, seed, seed), by=by)
    step = replace(cell.adaptation.steps[0], train=replace(PAIRS, name=train), budget=budget or Budget())
    return replace(cell, adaptation=Adaptation(INFO, (step,)))


def costs(records: Iterable[Record]) -> Costs:
    return Costs(records, INFO.weights_hash, INFO.device)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Any train set has the rows of `pairs`."""
    from fakes import load_pairs

    monkeypatch.setattr("thawbench.suite.store.load_trainset", lambda name, seed: load_pairs("pairs", seed))
    return tmp_path


def test_the_same_fit_and_task_are_expected_to_take_what_they_took_in_the_mean(folder: Path) -> None:
    known = costs(
        [
            recorded(on("pairs@100", seed=0), folder, fit_s=10.0, wall_s=13.0),
            recorded(on("pairs@100", seed=1), folder, fit_s=20.0, wall_s=27.0),
            recorded(on("pairs@100", seed=2, task="fake/other"), folder, fit_s=30.0, wall_s=1.0),  # fitted before
        ]
    )
    cell = on("pairs@100", seed=3)

    assert (known.fit(cell.adaptation.steps[0]).value, known.measurement(cell).value) == (20.0, 5.0)
    assert known.fit(cell.adaptation.steps[0]).basis is known.measurement(cell).basis is Basis.MEASURED
    assert known.measurement(on("pairs@100", task="fake/other")).value == 1.0


def test_a_fit_that_was_there_is_not_taken_off_a_measurement_that_took_longer(folder: Path) -> None:
    took = {"fit_s": 10.0, "encode_s": 12.0, "evaluate_s": 1.0}
    walls = (23.0, 13.0, 13.0)  # one fit serves three cells
    known = costs(recorded(on("pairs@100", seed=at), folder, wall_s=wall, **took) for at, wall in enumerate(walls))
    assert known.measurement(on("pairs@100", seed=3)).value == 13.0


@pytest.mark.parametrize(
    ("train", "by", "seconds"),
    [
        ("pairs@1000", 1.0, 10.0 * 625 / 62.5),
        ("pairs@20", 1.0, 10.0 * 60 / 62.5),
        ("pairs@200~labels-0.2", 7.0, 10.0 * 125 / 62.5),
    ],
)
def test_of_other_sets_and_other_configurations_a_fit_is_scaled_by_its_length(
    folder: Path, train: str, by: float, seconds: float
) -> None:
    known = costs([recorded(on("pairs@100"), folder, fit_s=10.0, wall_s=13.0)])
    found = known.fit(on(train, by=by).adaptation.steps[0])

    assert found.value == pytest.approx(seconds)
    assert found.basis is Basis.SCALED


def test_the_configuration_itself_goes_before_others_of_the_same_strategy(folder: Path) -> None:
    known = costs(
        [
            recorded(on("pairs@100", by=2.0), folder, fit_s=10.0, wall_s=13.0),
            recorded(on("pairs@100", by=9.0), folder, fit_s=90.0, wall_s=93.0),
        ]
    )

    assert known.fit(on("pairs@200", by=2.0).adaptation.steps[0]).value == pytest.approx(20.0)


def test_a_budget_of_steps_is_the_length(folder: Path) -> None:
    known = costs([recorded(on("pairs@100", budget=Budget(steps=50)), folder, fit_s=10.0, wall_s=13.0)])
    asked = [
        on("pairs@100", budget=budget) for budget in (Budget(steps=50), Budget(steps=5), Budget(), Budget(epochs=2))
    ]

    assert [known.fit(cell.adaptation.steps[0]).value for cell in asked] == pytest.approx([10.0, 1.0, 12.5, 2.5])


def test_a_task_that_others_measured_is_expected_to_take_what_it_took_them(folder: Path) -> None:
    known = costs([recorded(replace(on("pairs@100"), strategy="another"), folder, fit_s=10.0, wall_s=13.0)])

    assert known.measurement(on("pairs@100")) == replace(known.measurement(on("pairs@9")), value=3.0)
    assert known.measurement(on("pairs@100")).basis is Basis.SCALED


def test_what_nothing_is_known_of_is_guessed_and_told(folder: Path) -> None:
    cell = on("pairs@1000")
    ordered = replace(cell.adaptation.steps[0], streams=frozenset({"order"}))
    known = costs([])

    assert known.fit(ordered) == replace(known.fit(ordered), value=1.5 * 625, basis=Basis.GUESSED)
    assert known.fit(cell.adaptation.steps[0]).value == 10.0  # rows that are not run through in steps
    assert known.measurement(cell).basis is Basis.GUESSED


@pytest.mark.parametrize("change", ["backbone", "device", "status"])
def test_records_of_another_backbone_or_device_or_of_what_failed_say_nothing(folder: Path, change: str) -> None:
    record = recorded(on("pairs@100"), folder, fit_s=10.0, wall_s=13.0)
    if change == "device":
        record = replace(record, environment=replace(record.environment, device="cuda: NVIDIA H200"))
    if change == "status":
        record = replace(record, status="not_applicable", reason="why", metrics=())
    known = Costs([record], "other" if change == "backbone" else INFO.weights_hash, INFO.device)

    assert known.fit(on("pairs@100").adaptation.steps[0]).basis is Basis.GUESSED


def test_a_device_is_known_by_its_kind_as_a_plan_is_made_where_it_is_not(folder: Path) -> None:
    record = recorded(on("pairs@100"), folder, fit_s=10.0, wall_s=13.0)
    record = replace(record, environment=replace(record.environment, device="cuda: NVIDIA H200"))
    known = Costs([record], INFO.weights_hash, "cuda")

    assert known.fit(on("pairs@100").adaptation.steps[0]).basis is Basis.MEASURED


def test_a_fit_counts_once_where_it_is_first_needed_and_cells_that_are_done_or_do_not_apply_take_nothing(
    folder: Path,
) -> None:
    known = costs([recorded(on("pairs@100"), folder, fit_s=10.0, wall_s=13.0)])
    alone = on("pairs@50", task="fake/alone")
    cells = [
        on("pairs@100"),
        replace(on("pairs@100", task="fake/first"), beside=(alone.adaptation,), strategy="other"),
        replace(alone, strategy="other"),
        on("pairs@100", seed=1),
        replace(on("pairs@100", seed=2), reason="why"),
    ]
    found = estimate(cells, {cells[3].key}, known)

    assert list(found) == [("shift", "fake"), ("other", "fake")]
    first, other = found.values()
    assert (first.cells, first.done, first.fits, first.fit_s, first.measure_s) == (3, 2, 1, 10.0, 3.0)
    assert (other.cells, other.done, other.fits) == (2, 0, 1)
    assert other.fit_s == pytest.approx(10.0 * 60 / 62.5)
    whole = total(found.values())
    assert whole.seconds == sum(whole.by_basis.values()) == first.seconds + other.seconds
    assert whole.share(Basis.MEASURED) == pytest.approx(13.0 / whole.seconds)
    assert basis_told(whole).startswith(f"{100 * 13.0 / whole.seconds:.0f} % by what the same took before, ")


def test_a_row_of_several_steps_shares_its_seconds_out(folder: Path) -> None:
    cell = on("pairs@100")
    two = Adaptation(INFO, (*cell.adaptation.steps, *on("pairs@100", by=2.0).adaptation.steps))
    known = costs([recorded(replace(cell, adaptation=two), folder, fit_s=30.0, wall_s=31.0)])
    (part,) = estimate([replace(cell, adaptation=two, task=FirstComponent(name="fake/new"))], (), known).values()

    assert (part.fits, part.fit_s) == (2, 30.0)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, "0 s"), (119.0, "119 s"), (130.0, "2.2 min"), (7200.0, "2.0 h"), (90_000.0, "25 h"), (1.9e6, "22 d")],
)
def test_times_are_told_as_people_say_them(seconds: float, told: str) -> None:
    assert lasts(seconds) == told


def test_the_length_of_a_fit_has_a_least_and_a_set_without_n_counts_as_ten_thousand_rows() -> None:
    assert [steps_of(name, {}) for name in ("sst2@20", "sst2@1000", "nli")] == [60, 625, 6250]


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        ({"epochs": 4, "batch_size": 50}, 80),
        ({"epochs": 1, "batch_size": 100}, 60),
        ({"epochs": None, "batch_size": 100}, 100),
        ({"steps": 200, "batch_size": 32}, 200),
        ({"epochs": 1, "steps": 500, "batch_size": 10}, 100),
        ({"epochs": 10, "max_steps": 400, "batch_size": 16}, 400),
    ],
)
def test_the_length_of_a_fit_goes_by_its_configuration(config: dict[str, Any], steps: float) -> None:
    assert steps_of("sst2@1000", config) == steps
    assert steps_of("sst2@1000", config, steps=20) == 20
    assert steps_of("sst2@1000", {**config, "batch_size": 10}, epochs=1) == 100


def test_a_plan_of_a_profile_is_shown_with_its_time(
    folder: Path, tiny_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from thawbench.suite.live import show_plan
    from thawbench.suite.options import OPTIONS, settings

    values: dict[str, Any] = {option.key: option.default for option in OPTIONS}
    values |= {"task": ["fewshot/world/meals@20", "layers/world/meals@20"], "strategy": ["frozen", "majority"]}
    asked = settings({**values, "backbone": str(tiny_folder), "results": str(folder / "none")})
    show_plan(asked, Console(width=140))
    told = capsys.readouterr().out

    assert "4 cells: 1 done or not applicable, 3 to run; " in told
    assert "about 60 s one after another on cpu: 0 s of fitting and 60 s of measuring" in told
    assert "0 % by what the same took before, 0 % scaled from other sets or strategies, 100 % guessed" in told
    assert not (folder / "none").exists()


def test_an_estimate_of_nothing_has_no_shares() -> None:
    assert Estimate().share(Basis.GUESSED) == 0.0


def test_shift_costs_are_those_of_a_store(folder: Path) -> None:
    """What a run leaves is what an estimate reads."""
    cell = on("pairs@100")
    Runner(folder, (cell,)).run(cell)
    known = costs(RecordStore(folder, read_only=True).all())

    assert known.fit(cell.adaptation.steps[0]).basis is Basis.MEASURED
    assert isinstance(cell.adaptation.steps[0].strategy, Shift)
    assert cell.adaptation.steps[0].strategy.config == ShiftConfig(1.0)
