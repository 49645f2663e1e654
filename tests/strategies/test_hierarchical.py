"""Classes in groups: what each of three encodings learns and says; without groups two of them are `finetune`."""

from dataclasses import replace

import numpy as np
import pytest
from small_fits import BAD, GOOD, TEXTS, fit, moods, restored, same_bytes, scores

from thawbench.contracts import Budget, ClassTarget, Labelled, Rows, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classifier import ClassifierHead

ALL = ("hierarchical_path", "hierarchical_multihot", "hierarchical_coarse")
KINDS = ClassTarget(("good short", "bad", "good long"))
"""Two classes in the group `praise`, which do not stand side by side, and one in none."""
LEARNT = Budget(steps=80)


def kind(text: str) -> Labelled:
    if text in BAD:
        return Labelled(text, "bad")
    label = "good long" if len(text.split()) > 3 else "good short"
    return Labelled(text, label, path=("praise", label))


def kinds(*, dev: bool = False) -> TrainSet:
    rows = tuple(map(kind, TEXTS))
    return TrainSet("kinds", 1, "k", KINDS, rows, dev=Rows(rows[:4] if dev else ()))


def said(adapted: AdaptedEncoder, texts: list[str]) -> list[str]:
    return [KINDS.classes[place] for place in adapted.predict(texts, "kinds").argmax(axis=1)]


@pytest.mark.parametrize("name", ALL[:2])
def test_classes_and_their_groups_are_learnt(tiny: AdaptedEncoder, name: str) -> None:
    fitted = fit(name, tiny, kinds(), budget=LEARNT, lr=2e-3)

    assert fitted.heads == {"kinds": KINDS}
    assert said(fitted, TEXTS) == [row.label for row in kinds().labelled]


def test_who_knows_only_groups_answers_with_the_first_class_of_the_best(tiny: AdaptedEncoder) -> None:
    fitted = fit("hierarchical_coarse", tiny, kinds(), budget=LEARNT, lr=2e-3)
    logits = fitted.predict(TEXTS, "kinds")

    assert fitted.heads == {"kinds": KINDS}
    assert said(fitted, GOOD) == ["good short"] * len(GOOD)
    assert said(fitted, BAD) == ["bad"] * len(BAD)
    assert np.array_equal(logits[:, 0], logits[:, 2])
    assert fitted.state.tensors["head.layers.1.weight"].shape == (2, 32)


@pytest.mark.parametrize(("name", "outputs"), [("hierarchical_path", 5), ("hierarchical_multihot", 4)])
def test_a_head_has_an_output_for_each_node(tiny: AdaptedEncoder, name: str, outputs: int) -> None:
    """Two nodes on level one and three on level two, where `bad` stands again; or each of four once."""
    fitted = fit(name, tiny, kinds(), budget=Budget(steps=1))

    assert fitted.state.tensors["head.layers.1.weight"].shape == (outputs, 32)
    assert fitted.predict([], "kinds").shape == (0, 3)
    assert fitted.predict(TEXTS, "kinds").shape == (len(TEXTS), 3)


def test_the_first_step_of_a_path_lowers_the_loss_of_both_levels(tiny: AdaptedEncoder) -> None:
    flat = replace(kinds(), labelled=tuple(replace(row, path=()) for row in kinds().labelled))
    one, two = (fit("hierarchical_path", tiny, data, budget=Budget(steps=1)).trace[0].loss for data in (flat, kinds()))

    # a new head says hardly anything yet: ln 3 on the level of classes, ln 2 on that of the groups
    assert one == pytest.approx(np.log(3), abs=0.15)
    assert two == pytest.approx(np.log(3) + np.log(2), abs=0.25)


@pytest.mark.parametrize("name", ["hierarchical_path", "hierarchical_coarse"])
def test_without_groups_it_is_finetune_to_the_bit(tiny: AdaptedEncoder, name: str) -> None:
    plain, other = (fit(each, tiny, moods(dev=True)) for each in ("finetune", name))
    logits = plain.predict(TEXTS, "moods")

    assert plain.trace == other.trace
    assert all(np.array_equal(other.state.tensors[key], tensor) for key, tensor in plain.state.tensors.items())
    if name == "hierarchical_coarse":
        assert same_bytes(plain, other, TEXTS, "moods")
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    expected = log_probabilities if name == "hierarchical_path" else logits
    assert other.predict(TEXTS, "moods") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_it_comes_back_from_its_state(tiny: AdaptedEncoder, name: str) -> None:
    fitted = fit(name, tiny, kinds(dev=True))

    assert same_bytes(fitted, replace(restored(name, tiny, fitted), trace=fitted.trace), TEXTS, "kinds")


def test_dev_is_judged_by_classes_or_where_only_those_are_learnt_by_groups(tiny: AdaptedEncoder) -> None:
    long_ones = tuple(kind(text) for text in GOOD if len(text.split()) > 3)
    data = replace(kinds(), dev=Rows(long_ones))
    coarse = fit("hierarchical_coarse", tiny, data, budget=LEARNT, lr=2e-3)

    assert coarse.state.cost.dev_score == 1.0
    assert "good long" not in said(coarse, [str(row.input) for row in long_ones])
    assert fit("hierarchical_path", tiny, data, budget=LEARNT, lr=2e-3).state.cost.dev_score == 1.0


@pytest.mark.parametrize("name", ALL[:2])
def test_a_second_step_on_the_set_goes_on_from_the_head_of_the_first(tiny: AdaptedEncoder, name: str) -> None:
    first = fit(name, tiny, kinds(), budget=LEARNT, lr=2e-3)
    second = fit(name, first, kinds(), budget=Budget(steps=0))

    head, before = second.head_models["kinds"], first.head_models["kinds"]
    assert isinstance(head, ClassifierHead)
    assert isinstance(before, ClassifierHead)
    assert np.array_equal(head.module.last.weight.detach(), before.module.last.weight.detach())
    assert head.module.tree == before.module.tree


def test_who_knows_groups_goes_on_from_the_groups_head_and_without_groups_as_finetune_does(
    tiny: AdaptedEncoder,
) -> None:
    first = fit("hierarchical_coarse", tiny, kinds(), budget=LEARNT, lr=2e-3)
    second = fit("hierarchical_coarse", first, kinds(), budget=Budget(steps=0))
    assert np.array_equal(second.predict(TEXTS, "kinds"), first.predict(TEXTS, "kinds"))
    plain, coarse = (
        fit(name, fit(name, tiny, moods(), budget=Budget(steps=3)), moods(), budget=Budget(steps=3))
        for name in ("finetune", "hierarchical_coarse")
    )
    assert np.array_equal(plain.predict(TEXTS, "moods"), coarse.predict(TEXTS, "moods"))


def test_a_head_does_not_take_weights_that_stand_for_another_tree(tiny: AdaptedEncoder) -> None:
    first = fit("finetune", tiny, moods(), budget=LEARNT, lr=2e-3)
    second = fit("hierarchical_multihot", first, moods(), budget=Budget(steps=0))

    before = first.head_models["moods"].module.last.weight  # type: ignore[attr-defined]
    now = second.head_models["moods"].module.last.weight  # type: ignore[attr-defined]
    assert now.shape == before.shape
    assert not np.array_equal(now.detach(), before.detach())


@pytest.mark.parametrize("name", ALL)
def test_scores_stand_in_no_tree(tiny: AdaptedEncoder, name: str) -> None:
    with pytest.raises(NotApplicableError, match=r"scores has scores and no classes, and only classes"):
        fit(name, tiny, scores())
    with pytest.raises(NotApplicableError, match="empty has no labelled rows"):
        fit(name, tiny, TrainSet("empty", 1, "e", KINDS))
