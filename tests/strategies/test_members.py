"""`wise_ft` and `soup`: their limits are `finetune`'s own bits, and what lies between is the mean of weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from thawbench.contracts import Adapted, Budget, ClassTarget, Input, Labelled, Rows, Seeds, Strategy, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.members import finetuned, tuned_alike
from thawbench.strategies.soup import STRIDE, Soup, SoupConfig
from thawbench.strategies.wise_ft import WiseFt, WiseFtConfig
from thawbench.suite import plan

NOUNS = ("the cat", "a dog", "the film", "the plot", "a wing", "the rug")
TEXTS = [f"{noun} {verb}" for noun in NOUNS for verb in ("is good", "was bad", "is not bad", "was not good")]
MOODS = ClassTarget(("bad", "good"))
Fit = Callable[..., AdaptedEncoder]


def moods(pairs: bool = False, dev: int = 8) -> TrainSet:
    rows = []
    for place, text in enumerate(TEXTS):
        item: Input = (text, TEXTS[place * 5 % len(TEXTS)]) if pairs else text
        rows.append(Labelled(item, "good" if place % 4 in (0, 2) else "bad"))
    return TrainSet("moods", 1, "m", MOODS, tuple(rows[dev:]), dev=Rows(tuple(rows[:dev])))


def fit(name: str, start: AdaptedEncoder, data: TrainSet, seeds: Seeds | None = None, **config: Any) -> AdaptedEncoder:
    def adapt(other: Strategy, other_seeds: Seeds) -> Adapted:
        return other.fit(start, data, seeds=other_seeds, budget=Budget(), adapt=adapt)

    kind = strategies.get(name)
    made = kind(kind.Config(**config)).fit(start, data, seeds=seeds or Seeds(), budget=Budget(), adapt=adapt)
    assert isinstance(made, AdaptedEncoder)
    return made


def weights(adapted: AdaptedEncoder) -> dict[str, torch.Tensor]:
    assert isinstance(adapted.source, Encoder)
    return dict(adapted.source.model.named_parameters())


def inputs_of(data: TrainSet) -> list[Input]:
    return [row.input for row in (*data.labelled, *data.dev.labelled)]


# ---- wise_ft --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
def test_at_alpha_1_it_is_finetune_to_the_bit(tiny: AdaptedEncoder, pairs: bool) -> None:
    data = moods(pairs)
    tuned = fit("finetune", tiny, data, epochs=3, lr=1e-3)
    there = fit("wise_ft", tiny, data, epochs=3, lr=1e-3, alpha=1.0)

    assert there.source is not None
    assert tuned.source is not None
    assert there.source.key == tuned.source.key
    assert np.array_equal(there.predict(inputs_of(data), "moods"), tuned.predict(inputs_of(data), "moods"))
    assert there.state.tensors.keys() == tuned.state.tensors.keys()


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
def test_at_alpha_0_it_is_the_start_itself_under_its_read_out(tiny: AdaptedEncoder, pairs: bool) -> None:
    data = moods(pairs)
    here = fit("wise_ft", tiny, data, epochs=3, lr=1e-3, alpha=0.0)
    linear = fit("lp_ft", tiny, data, epochs=0)

    assert here.source is tiny.source
    assert np.array_equal(here.predict(inputs_of(data), "moods"), linear.predict(inputs_of(data), "moods"))


def test_between_every_weight_lies_on_the_line_head_included(tiny: AdaptedEncoder) -> None:
    data = moods()
    tuned = fit("finetune", tiny, data, epochs=3, lr=1e-3)
    linear = fit("lp_ft", tiny, data, epochs=0)
    found = fit("wise_ft", tiny, data, epochs=3, lr=1e-3, alpha=0.25)

    moved = 0
    for name, weight in weights(found).items():
        expected = torch.lerp(weights(tiny)[name].detach(), weights(tuned)[name].detach(), 0.25)
        moved += not torch.equal(weights(tiny)[name], weight)
        torch.testing.assert_close(weight.detach(), expected, rtol=1e-6, atol=1e-7)
    assert moved > 20
    for name in ("head.layers.1.weight", "head.layers.1.bias"):
        ends = 0.75 * linear.state.tensors[name] + 0.25 * tuned.state.tensors[name]
        np.testing.assert_allclose(found.state.tensors[name], ends, rtol=1e-6)


def test_a_start_that_has_a_head_for_the_set_brings_it_along(tiny: AdaptedEncoder) -> None:
    data = moods()
    first = fit("finetune", tiny, data, epochs=6, lr=1e-3)
    again = fit("wise_ft", first, data, epochs=3, lr=1e-3, alpha=0.0)

    assert again.source is first.source
    assert np.array_equal(again.predict(TEXTS, "moods"), first.predict(TEXTS, "moods"))


def test_dev_chooses_the_place_and_is_never_worse_than_at_the_ends(tiny: AdaptedEncoder) -> None:
    data = moods()
    chosen = fit("wise_ft", tiny, data, epochs=8, lr=1e-3)
    scores = {
        alpha: fit("wise_ft", tiny, data, epochs=8, lr=1e-3, alpha=alpha).state.cost.dev_score
        for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)
    }

    assert chosen.state.cost.dev_score == max(score for score in scores.values() if score is not None)
    alpha = chosen.state.values["alpha"]
    assert isinstance(alpha, float)
    assert scores[alpha] == chosen.state.cost.dev_score
    nearer = [other for other in scores if abs(other - 0.5) < abs(alpha - 0.5)]
    assert all((scores[other] or 0) < (scores[alpha] or 0) for other in nearer)


def test_without_dev_rows_it_goes_half_way(tiny: AdaptedEncoder) -> None:
    found = fit("wise_ft", tiny, moods(dev=0), epochs=1)
    assert found.state.values["alpha"] == 0.5
    assert found.state.cost.dev_score is None


@pytest.mark.parametrize("wrong", [{"alpha": 1.1}, {"alpha": -0.1}, {"head": "mlp"}, {"batch_size": 0}])
def test_a_place_off_the_line_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        WiseFtConfig(**wrong)


# ---- soup -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", ["greedy", "uniform"])
def test_a_soup_of_one_is_finetune_to_the_bit(tiny: AdaptedEncoder, choose: str) -> None:
    data = moods()
    tuned = fit("finetune", tiny, data, epochs=3, lr=1e-3)
    soup = fit("soup", tiny, data, epochs=3, lr=1e-3, members=1, choose=choose)

    assert soup.source is not None
    assert tuned.source is not None
    assert soup.source.key == tuned.source.key
    assert np.array_equal(soup.predict(TEXTS, "moods"), tuned.predict(TEXTS, "moods"))
    assert soup.state.cost.dev_score == tuned.state.cost.dev_score


def test_a_uniform_soup_is_the_mean_of_runs_that_share_their_head_and_differ_in_order(tiny: AdaptedEncoder) -> None:
    data = moods()
    orders = (2, 2 + STRIDE, 2 + 2 * STRIDE)
    members = [fit("finetune", tiny, data, Seeds(init=1, order=order), epochs=3, lr=1e-3) for order in orders]
    soup = fit("soup", tiny, data, Seeds(init=1, order=2), epochs=3, lr=1e-3, members=3, choose="uniform")

    assert soup.state.values["orders"] == list(orders)
    assert not np.array_equal(members[0].encode(TEXTS), members[1].encode(TEXTS))
    for name, weight in weights(soup).items():
        mean = torch.stack([weights(member)[name].detach() for member in members]).double().mean(dim=0).float()
        torch.testing.assert_close(weight.detach(), mean, rtol=1e-6, atol=1e-8)
    head = np.mean([member.state.tensors["head.layers.1.weight"] for member in members], axis=0)
    np.testing.assert_allclose(soup.state.tensors["head.layers.1.weight"], head, rtol=1e-5)


def test_a_member_whose_encoder_never_moved_counts_with_the_starts_weights(tiny: AdaptedEncoder) -> None:
    data = moods(dev=0)

    def adapt(other: Strategy, seeds: Seeds) -> Adapted:
        budget = Budget(epochs=0) if seeds.order else Budget()
        return other.fit(tiny, data, seeds=seeds, budget=budget, adapt=adapt)

    strategy = Soup(SoupConfig(epochs=2, lr=1e-3, members=2))
    soup = strategy.fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=adapt)
    tuned = fit("finetune", tiny, data, epochs=2, lr=1e-3)
    for name, weight in weights(soup).items():
        half = torch.lerp(weights(tiny)[name].detach(), weights(tuned)[name].detach(), 0.5)
        torch.testing.assert_close(weight.detach(), half, rtol=1e-6, atol=1e-7)


def test_a_greedy_soup_is_on_dev_no_worse_than_its_best_member(tiny: AdaptedEncoder) -> None:
    data = moods()
    orders = [STRIDE * place for place in range(4)]
    members = [fit("finetune", tiny, data, Seeds(order=order), epochs=4, lr=1e-2) for order in orders]
    scores = [member.state.cost.dev_score or 0.0 for member in members]
    soup = fit("soup", tiny, data, epochs=4, lr=1e-2, members=4)
    taken = soup.state.values["orders"]

    assert soup.state.cost.dev_score is not None
    assert soup.state.cost.dev_score >= max(scores)
    assert isinstance(taken, list)
    assert taken[0] == orders[scores.index(max(scores))]
    assert set(taken) <= set(orders)


def test_a_greedy_soup_leaves_out_what_would_spoil_it(tiny: AdaptedEncoder) -> None:
    data = moods()

    def adapt(other: Strategy, seeds: Seeds) -> Adapted:
        """The second member has learnt the opposite, though its score on dev is said to be good."""
        turned = {"good": "bad", "bad": "good"}
        rows = data
        if seeds.order:
            opposite = tuple(Labelled(row.input, turned[row.label or ""]) for row in data.labelled)
            rows = TrainSet("moods", 1, "m", MOODS, tuple(opposite * 4))
        return other.fit(tiny, rows, seeds=seeds, budget=Budget(), adapt=adapt)

    strategy = Soup(SoupConfig(epochs=40, lr=3e-3, members=2))
    soup = strategy.fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=adapt)
    assert soup.state.values["orders"] == [0]


@pytest.mark.parametrize("wrong", [{"members": 0}, {"lr": -1.0}])
def test_an_empty_soup_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SoupConfig(**wrong)


# ---- what both ask for ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "config"), [(WiseFt, WiseFtConfig), (Soup, SoupConfig)])
def test_the_member_is_the_finetune_that_a_plan_would_name(tiny: AdaptedEncoder, kind: Any, config: Any) -> None:
    asked: list[Strategy] = []

    def adapt(other: Strategy, seeds: Seeds) -> Adapted:
        asked.append(other)
        return other.fit(tiny, moods(), seeds=seeds, budget=Budget(), adapt=adapt)

    kind(config(epochs=1)).fit(tiny, moods(), seeds=Seeds(), budget=Budget(), adapt=adapt)
    plain = strategies.get("finetune")
    assert {other.name for other in asked} == {"finetune"}
    assert all(other.config == plain.Config(epochs=1) for other in asked)


def test_a_fit_is_charged_its_members_seconds_even_out_of_the_store(tiny: AdaptedEncoder) -> None:
    data = moods()
    made = fit("finetune", tiny, data, epochs=2)
    strategy = Soup(SoupConfig(epochs=2, members=3))
    soup = strategy.fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=lambda other, seeds: made)
    again = finetuned(SoupConfig(epochs=2), lambda other, seeds: made, Seeds())

    assert soup.state.cost.fit_s > 3 * made.state.cost.fit_s
    assert again is made


def test_a_student_fills_its_open_fields_as_its_teacher_does(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "thawbench.strategies.tuned.tuned", lambda name, size: {"lr": 0.5} if name == "finetune" else {}
    )
    assert tuned_alike(SoupConfig(members=3), tiny) == SoupConfig(members=3, lr=0.5)
    assert tuned_alike(SoupConfig(lr=0.1), tiny) == SoupConfig(lr=0.1)


@pytest.mark.parametrize("name", ["wise_ft", "soup", "self_training", "distill"])
def test_what_was_tuned_for_finetune_is_part_of_the_version(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def noted(version: str, strategy_name: str, config: Any, **_: Any) -> str:
        seen.append(strategy_name)
        return f"{version}+{strategy_name}"

    monkeypatch.setattr("thawbench.strategies.tuned.tuned_version", noted)
    kind = strategies.get(name)
    step = plan._step(kind(kind.Config()), "2", None, Seeds(), Budget())
    assert step.version == f"2+{name}+finetune"
    assert seen == [name, "finetune"]
