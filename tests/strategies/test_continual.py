"""What all strategies hold to that know of earlier train sets: their limits, what they leave, their way back."""

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, inputs_of, moods, pairs, same_bytes, scores, weights

from thawbench.contracts import Budget, ClassTarget, Labelled, Rows, Seeds, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.interruption import Interrupted
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner


def beasts() -> TrainSet:
    """Texts of three classes, by whom they are about."""
    texts = [f"{word} {beast} {what}" for beast in ("cat", "dog", "wing") for word in ("the", "a") for what in _WHAT]
    rows = [Labelled(text, text.split()[1]) for text in texts]
    classes = ClassTarget(("cat", "dog", "wing"))
    return TrainSet("beasts", 1, "b", classes, tuple(rows[::2]), dev=Rows(tuple(rows[1::2])))


_WHAT = ("is good", "is bad", "sat", "ran")
SETS = (moods(dev=True), beasts(), pairs())
LIMITS: list[tuple[str, dict[str, Any]]] = [
    ("lwf", {"weight": 0.0, "warmup": False}),
    ("ewc", {"weight": 0.0}),
    ("replay", {"rows": 0}),
]
CONTINUAL: list[tuple[str, dict[str, Any]]] = [
    ("lwf", {}),
    ("lwf", {"warmup": False}),
    ("ewc", {"weight": 10.0}),
    ("replay", {"rows": 4}),
]
SPELLED = ["lwf", "lwf:warmup=false", "ewc", "replay"]


def chain(name: str, tiny: AdaptedEncoder, **config: Any) -> list[AdaptedEncoder]:
    """What there is after each set."""
    trail = [tiny]
    for data in SETS:
        trail.append(fit(name, trail[-1], data, Seeds(0, 1, 2), Budget(epochs=3), lr=1e-3, **config))
    return trail[1:]


_KNOWN: dict[str, list[AdaptedEncoder]] = {}


def known(name: str, tiny: AdaptedEncoder, **config: Any) -> list[AdaptedEncoder]:
    """The same, fitted once for all tests; `tiny` is the same for all, too."""
    spelled = f"{name} {sorted(config.items())}"
    if spelled not in _KNOWN:
        _KNOWN[spelled] = chain(name, tiny, **config)
    return _KNOWN[spelled]


def head(adapted: AdaptedEncoder, name: str) -> Mapping[str, torch.Tensor]:
    found = adapted.head_models[name]
    assert isinstance(found, ClassifierHead)
    return found.module.state_dict()


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("name", "config"), LIMITS, ids=[name for name, _ in LIMITS])
def test_at_its_limit_it_is_finetune_to_the_bit_on_every_set_of_a_chain(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    plain, limit = known("finetune", tiny), chain(name, tiny, **config)

    for data, one, other in zip(SETS, plain, limit, strict=True):
        assert same_bytes(one, other, inputs_of(data), data.name)
        assert one.state.values.keys() == other.state.values.keys() - {"kept"}
    assert all(same(head(plain[-1], data.name), head(limit[-1], data.name)) for data in SETS)


@pytest.mark.parametrize("name", ["lwf", "ewc", "replay", "joint"])
@pytest.mark.parametrize("data", [*SETS, scores()], ids=lambda data: data.name)
def test_on_a_first_set_it_is_finetune_to_the_bit(tiny: AdaptedEncoder, name: str, data: TrainSet) -> None:
    plain, first = fit("finetune", tiny, data), fit(name, tiny, data)

    assert plain.trace == first.trace
    assert same(weights(plain), weights(first))
    assert np.array_equal(plain.predict(inputs_of(data), data.name), first.predict(inputs_of(data), data.name))
    assert plain.state.tensors.keys() == {key for key in first.state.tensors if not key.startswith("fisher.")}
    assert plain.state.cost.total_parameters == first.state.cost.total_parameters


@pytest.mark.parametrize("name", ["finetune", "ewc", "replay", "progressive"])
def test_a_later_set_with_as_many_classes_begins_with_a_head_of_its_own(tiny: AdaptedEncoder, name: str) -> None:
    """Else its classes would be read where those of the first set are, pair by pair, by the order of their names."""
    first = fit(name, tiny, moods(), budget=Budget(steps=0))
    second = fit(name, first, replace(moods(), name="again"), budget=Budget(steps=0))

    ours, theirs = (
        {key: tensor for key, tensor in each.state.tensors.items() if key.startswith("head.") and "weight" in key}
        for each in (first, second)
    )
    assert ours.keys() == theirs.keys()
    assert ours
    assert not any(np.array_equal(tensor, theirs[key]) for key, tensor in ours.items())


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_on_a_later_set_it_learns_something_else_and_repeats_it(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    plain, one, again = known("finetune", tiny), known(name, tiny, **config), chain(name, tiny, **config)

    for data, mine, its, other in zip(SETS, one, again, plain, strict=True):
        assert same_bytes(mine, its, inputs_of(data), data.name)
        assert same(weights(mine), weights(other)) == (data.name == "moods")


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_saved_and_restored_it_answers_and_goes_on_to_the_last_bit(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any], tmp_path: Path
) -> None:
    kind = strategies.get(name)
    trail = known(name, tiny, **config)
    loaded = [tiny]
    for place, fitted in enumerate(trail):
        fitted.save(tmp_path / str(place))
        made = kind(kind.Config(lr=1e-3, **config)).restore(loaded[-1], load_state(tmp_path / str(place)))
        assert isinstance(made, AdaptedEncoder)
        loaded.append(made)
    *_, before, last = loaded
    further = fit(name, before, SETS[-1], Seeds(0, 1, 2), Budget(epochs=3), lr=1e-3, **config)

    assert set(last.heads) == {data.name for data in SETS}
    for data in SETS:
        said = trail[-1].predict(inputs_of(data), data.name)
        assert np.array_equal(last.predict(inputs_of(data), data.name), said)
        assert np.array_equal(further.predict(inputs_of(data), data.name), said)
    assert np.array_equal(last.encode(TEXTS), trail[-1].encode(TEXTS))


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_heads_of_earlier_sets_are_trained_along_where_they_are_asked_and_stay_where_they_are_not(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    first, second, third = known(name, tiny, **config)

    assert same(head(first, "moods"), head(second, "moods")) == (name == "ewc")
    assert same(head(second, "beasts"), head(third, "beasts")) == (name == "ewc")
    blocks = {"head"} if name == "ewc" else {"head", "head.moods", "head.beasts"}
    assert {block for block in third.trace[0].gradient_norm if block.startswith("head")} == blocks


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_the_step_before_is_left_as_it_was(tiny: AdaptedEncoder, name: str, config: dict[str, Any]) -> None:
    first, _, _ = known(name, tiny, **config)
    again = fit(name, tiny, SETS[0], Seeds(0, 1, 2), Budget(epochs=3), lr=1e-3, **config)

    assert same(weights(first), weights(again))
    assert same(head(first, "moods"), head(again, "moods"))
    assert all(weight.requires_grad for weight in weights(first).values())


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_cut_off_by_a_signal_on_a_later_set_and_fitted_again_it_is_the_same(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fit(name, tiny, SETS[0], **config)

    def again() -> AdaptedEncoder:
        return fit(name, first, SETS[1], batch_size=4, **config)

    undisturbed = again()
    answers, calls = Classification.answers, 0

    def cut_off(lesson: Any, batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 9:
            monkeypatch.setattr(Classification, "answers", answers)
            signal.raise_signal(signal.SIGTERM)
        return answers(lesson, batch)

    monkeypatch.setattr(Classification, "answers", cut_off)
    with pytest.raises(Interrupted), checkpointing(tmp_path):
        again()
    assert list(tmp_path.iterdir())
    with checkpointing(tmp_path):
        resumed = again()

    assert same_bytes(undisturbed, resumed, inputs_of(SETS[1]), "beasts")
    assert same(head(undisturbed, "moods"), head(resumed, "moods"))


@pytest.mark.parametrize(("name", "config"), CONTINUAL, ids=SPELLED)
def test_once_more_on_the_set_that_it_knows_nothing_is_to_be_forgotten(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    plain, again = (fit(kind, fit(kind, tiny, **given), **given) for kind, given in (("finetune", {}), (name, config)))

    assert same(weights(plain), weights(again))
    assert len(again.memory) == (name != "lwf")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("lwf", {"weight": -1.0}),
        ("lwf", {"temperature": 0.0}),
        ("lwf", {"head": "mlp"}),
        ("ewc", {"weight": -1.0}),
        ("ewc", {"weight": 1e31}),
        ("ewc", {"fisher_rows": 0}),
        ("replay", {"rows": -1}),
        ("joint", {"batch_size": 0}),
    ],
)
def test_a_configuration_out_of_range_is_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        strategies.get(name).Config(**wrong)


# ---- a chain through the suite --------------------------------------------------------------------------------------

TASK = "forgetting/world/meals@20+world/topics@40+world/nli@20"


def records(folder: Path, results: Path, *names: str) -> dict[str, Record]:
    plan = make_plan(
        Request(strategies=names, tasks=(TASK,), backbone=str(folder), precision="float32", budget=Budget(steps=12))
    )
    runner = Runner(results, plan.cells)
    found = {cell.strategy: runner.run(cell).record for cell in plan.cells}
    assert not list((results / "adaptations").iterdir())  # all that was fitted on the way went when it was measured
    return found


@pytest.mark.slow
def test_forgetting_measures_them_all_on_a_chain_of_three_sets(tiny_folder: Path, tmp_path: Path) -> None:
    limits = {"lwf": "lwf:weight=0,warmup=false", "ewc": "ewc:weight=0", "replay": "replay:rows=0"}
    names = ("finetune", "lwf", "ewc", "replay", "joint", *limits.values())
    found = records(tiny_folder, tmp_path, *names)

    assert {name: record.status for name, record in found.items()} == dict.fromkeys(names, "ok")
    for name, limit in limits.items():
        assert found[limit].curves == found["finetune"].curves
        assert found[name].curves != found["finetune"].curves
    for record in found.values():  # whatever comes later, all begin alike
        assert record.curves[0].y[0] == found["finetune"].curves[0].y[0]
    # after the last set each has its head, whatever it learned before
    assert [len(curve.y) for curve in found["joint"].curves[:3]] == [3, 2, 1]
