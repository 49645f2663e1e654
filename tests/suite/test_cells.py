"""A key names all that can change a score, and nothing else."""

import dataclasses
from typing import Any

import pytest
from fakes import INFO, PAIRS, FirstComponent, Shift, ShiftConfig, make_cell

from thawbench.contracts import Budget, Seeds, Stream
from thawbench.suite.cells import Adaptation, Step
from thawbench.suite.records import key_of


def step(**changes: object) -> Step:
    values: dict[str, object] = {
        "strategy": Shift(ShiftConfig()),
        "version": "1",
        "train": PAIRS,
        "seeds": Seeds(),
        "streams": frozenset({"init"}),
        "budget": Budget(),
    }
    return Step(**{**values, **changes})  # type: ignore[arg-type]


def test_the_key_is_the_same_for_the_same_parts() -> None:
    assert Adaptation(INFO, (step(),)).key == Adaptation(INFO, (step(),)).key


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": Shift(ShiftConfig(2.0))},
        {"version": "2"},
        {"train": dataclasses.replace(PAIRS, fingerprint="q" * 64)},
        {"train": dataclasses.replace(PAIRS, version=2)},
        {"train": None},
        {"seeds": Seeds(init=1)},
        {"budget": Budget(epochs=3)},
    ],
    ids=["config", "version", "fingerprint", "train version", "no train", "seed", "budget"],
)
def test_whatever_changes_a_score_changes_the_key(changes: dict[str, object]) -> None:
    assert Adaptation(INFO, (step(**changes),)).key != Adaptation(INFO, (step(),)).key


@pytest.mark.parametrize("field", ["weights_hash", "tokenizer_hash", "config_hash", "pooling", "layer", "precision"])
def test_the_backbone_is_part_of_the_key(field: str) -> None:
    values: dict[str, Any] = {field: "cls" if field == "pooling" else 0 if field == "layer" else "other"}
    other = dataclasses.replace(INFO, **values)

    assert Adaptation(other, (step(),)).key != Adaptation(INFO, (step(),)).key


@pytest.mark.parametrize("field", ["name", "folder", "device"])
def test_where_the_weights_lie_and_run_is_not(field: str) -> None:
    values: dict[str, Any] = {field: "elsewhere"}
    other = dataclasses.replace(INFO, **values)

    assert Adaptation(other, (step(),)).key == Adaptation(INFO, (step(),)).key


@pytest.mark.parametrize("streams", [(), ("sample",), ("order", "init", "sample")])
def test_a_key_that_is_spelled_in_parts_is_that_of_the_whole(streams: tuple[Stream, ...]) -> None:
    steps = (step(streams=frozenset(streams)), step(version='"seeds":{', budget=Budget(steps=7), streams=frozenset()))
    first = dataclasses.replace(make_cell(FirstComponent()), adaptation=Adaptation(INFO, steps))
    cell = first.with_seeds(Seeds(1, 23, 4))

    for each in (first, cell, cell.with_seeds(Seeds(5, 5, 5))):
        assert each.key == key_of(each.identity())
        assert each.adaptation.key == key_of(each.adaptation.identity())
    assert [cell.seeds, *(step.seeds for step in cell.adaptation.steps)] == [Seeds(1, 23, 4)] * 3
    assert (cell.key != first.key) == bool(streams)
    assert Adaptation(INFO, ()).key == key_of(Adaptation(INFO, ()).identity())


def test_seeds_that_nothing_draws_on_are_not() -> None:
    assert step(seeds=Seeds(order=4)).identity() == step().identity()


def test_a_cell_goes_by_its_task_too() -> None:
    plain, renamed = FirstComponent(), FirstComponent(rows="g" * 64)

    assert make_cell(plain).key != make_cell(renamed).key
    assert make_cell(plain).key != make_cell(FirstComponent(version=2)).key
    assert make_cell(plain).key != make_cell(FirstComponent(revision="r2")).key


def test_every_prefix_is_an_adaptation() -> None:
    two = Adaptation(INFO, (step(), step(version="2")))

    assert [len(prefix.steps) for prefix in two.prefixes()] == [1, 2]
    assert two.prefixes()[0].key == Adaptation(INFO, (step(),)).key
    assert two.prefixes()[-1].key == two.key


class AllSoFar(Shift):
    """Fitted on all sets so far."""

    name = "all_so_far"
    whole_chain = True


A, B, C = (dataclasses.replace(PAIRS, name=name, fingerprint=name * 64) for name in "abc")


def names(adaptation: Adaptation) -> list[str]:
    return [info.name for info in adaptation.fitted_on]


def test_a_step_begins_after_the_one_before_and_is_fitted_on_its_own_set() -> None:
    chain = Adaptation(INFO, tuple(step(train=train) for train in (A, B, None)))

    assert [prefix.begin for prefix in chain.prefixes()] == [0, 1, 2]
    assert [names(prefix) for prefix in chain.prefixes()] == [["a"], ["b"], []]


def test_a_step_of_a_whole_chain_begins_where_the_first_like_it_did_and_is_fitted_on_the_sets_of_all() -> None:
    steps = (
        step(train=A),
        *(step(strategy=AllSoFar(ShiftConfig()), train=train) for train in (A, B, C)),
        step(strategy=AllSoFar(ShiftConfig(2.0)), train=B),
    )
    found = Adaptation(INFO, steps).prefixes()

    assert [prefix.begin for prefix in found] == [0, 1, 1, 1, 4]
    assert [names(prefix) for prefix in found] == [["a"], ["a"], ["a", "b"], ["a", "b", "c"], ["b"]]
    assert len({prefix.key for prefix in found}) == 5


def test_a_set_that_a_chain_has_twice_is_read_once() -> None:
    steps = tuple(step(strategy=AllSoFar(ShiftConfig()), train=train) for train in (A, B, A))

    assert names(Adaptation(INFO, steps)) == ["b", "a"]


def test_where_the_sets_of_a_chain_end_is_no_part_of_the_key() -> None:
    cell = make_cell(FirstComponent())

    assert dataclasses.replace(cell, ends=(1,)).key == cell.key


def test_the_label_shows_the_seeds_that_matter() -> None:
    task = FirstComponent()

    assert make_cell(task, Seeds(2, 2, 2)).label == "shift fake/first seed=2"
    assert make_cell(task, Seeds(1, 2, 7)).label == "shift fake/first sample=1,init=2"
