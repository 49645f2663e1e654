"""The loss by hand, what the old heads are held to, and where the warm-up comes from."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
import torch
from small_fits import BAD, GOOD, MOODS, TEXTS, fit, inputs_of, moods, pairs, same_bytes

from thawbench.contracts import Budget, Labelled, ScoreTarget, Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.lwf import old_loss
from thawbench.strategies.readout import learn_readout, with_head

CATS = TrainSet(
    "cats", 1, "c", MOODS, tuple(Labelled(text, "good" if "cat" in text or "is" in text else "bad") for text in TEXTS)
)


def after_moods(start: AdaptedEncoder, name: str = "lwf", **config: Any) -> AdaptedEncoder:
    first = fit("finetune", start, moods(), budget=Budget(epochs=10), lr=1e-3)
    return fit(name, first, CATS, budget=Budget(epochs=10), lr=1e-3, **config)


def test_the_loss_of_three_rows_at_two_temperatures_is_the_one_worked_by_hand() -> None:
    """Logits (0, 2 log 3) at T = 2 are probabilities 1/4 and 3/4, (0, 0) are halves, at any T."""
    then = torch.tensor([[0.0, 2 * log(3)], [0.0, 0.0], [0.0, 2 * log(3)]])
    now = torch.tensor([[0.0, 0.0], [0.0, 2 * log(3)], [0.0, 2 * log(3)]])
    rows = (log(2), -(log(1 / 4) + log(3 / 4)) / 2, -(log(1 / 4) + 3 * log(3 / 4)) / 4)

    assert old_loss(now, then, MOODS, 2.0).item() == pytest.approx(sum(rows) / 3)
    one = -(log(1 / 10) + 9 * log(9 / 10)) / 10  # at T = 1 the last row's are 1/10 and 9/10
    assert old_loss(now[2:], then[2:], MOODS, 1.0).item() == pytest.approx(one)


def test_its_gradient_vanishes_where_the_head_says_what_it_said() -> None:
    then = torch.tensor([[1.0, -2.0, 0.5]])
    now = then.clone().requires_grad_()
    old_loss(now, then, MOODS, 2.0).backward()  # type: ignore[no-untyped-call]

    assert now.grad is not None
    assert torch.allclose(now.grad, torch.zeros(3), atol=1e-7)


def test_a_score_is_held_by_its_squared_error_on_the_scale_of_its_range() -> None:
    now, then = torch.tensor([[0.5], [1.0]]), torch.tensor([[3.0], [5.0]])  # of 1 to 5: a half, and one
    assert old_loss(now, then, ScoreTarget(1.0, 5.0), 2.0).item() == 0.0
    assert old_loss(now, then, ScoreTarget(0.0, 5.0), 2.0).item() == pytest.approx((0.1**2 + 0.0) / 2)


def test_the_old_head_says_more_nearly_what_it_said_the_more_weight_it_has(tiny: AdaptedEncoder) -> None:
    before = fit("finetune", tiny, moods(), budget=Budget(epochs=10), lr=1e-3).predict(inputs_of(CATS), "moods")
    moves = [
        np.abs(after_moods(tiny, warmup=False, weight=weight).predict(inputs_of(CATS), "moods") - before).mean()
        for weight in (0.0, 100.0)
    ]
    assert moves == sorted(moves, reverse=True)
    assert moves[0] > 1.5 * moves[-1]


def test_the_trace_shows_both_losses_and_the_first_is_the_new_sets_and_the_old_heads_entropy(
    tiny: AdaptedEncoder,
) -> None:
    """Without dropout the old head says at first what it said, so that its loss is the entropy of that."""
    first = fit("finetune", tiny, moods(), budget=Budget(epochs=10), lr=1e-3)
    rows = inputs_of(CATS)[:6]
    data = TrainSet("few", 1, "f", MOODS, CATS.labelled[:6])
    plain = fit("finetune", first, data, budget=Budget(steps=1), dropout=0.0)
    held = fit("lwf", first, data, budget=Budget(steps=1), dropout=0.0, warmup=False, weight=3.0)
    said = first.predict(rows, "moods") / 2
    shares = np.exp(said) / np.exp(said).sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(shares)).sum(axis=1).mean()

    assert held.trace[0].loss == pytest.approx(plain.trace[0].loss + 3 * entropy, rel=1e-5)
    assert 0 < entropy < log(2) - exp(-20)


def test_without_a_weight_a_warmed_up_set_is_lp_fts_to_the_bit(tiny: AdaptedEncoder) -> None:
    one, other = after_moods(tiny, "lp_ft"), after_moods(tiny, "lwf", weight=0.0)
    cold = after_moods(tiny, "lwf", weight=0.0, warmup=False)

    assert same_bytes(one, other, inputs_of(CATS), "cats")
    assert not same_bytes(cold, other, inputs_of(CATS), "cats")


def test_the_warmed_up_head_begins_as_the_read_out_and_does_not_depend_on_the_init_seed(tiny: AdaptedEncoder) -> None:
    first = fit("finetune", tiny, moods())
    zero, one = (fit("lwf", first, CATS, Seeds(init=init), Budget(steps=0)) for init in (0, 1))

    assert np.array_equal(zero.predict(inputs_of(CATS), "cats"), one.predict(inputs_of(CATS), "cats"))
    readout = with_head(first, "cats", learn_readout(first, CATS))
    said, expected = (each.predict(inputs_of(CATS), "cats") for each in (zero, readout))
    assert np.allclose(said, expected, atol=1e-4)


def test_a_head_of_joint_pairs_can_be_asked_about_texts_and_one_of_siamese_pairs_cannot(tiny: AdaptedEncoder) -> None:
    joint = fit("lwf", fit("lwf", tiny, pairs()), CATS)
    assert set(joint.heads) == {"pairs", "cats"}

    siamese = fit("lwf", tiny, pairs(), pairs="siamese")
    with pytest.raises(NotApplicableError, match=r"the head of pairs reads siamese .* pairs=joint gives each row one"):
        fit("lwf", siamese, CATS)
    again = fit("lwf", siamese, TrainSet("more", 1, "m", MOODS, pairs().labelled), pairs="siamese")
    assert set(again.heads) == {"pairs", "more"}


def test_heads_that_no_network_is_behind_are_left_alone(tiny: AdaptedEncoder) -> None:
    start = fit("majority", tiny, moods())
    majority = AdaptedEncoder(tiny.source, head_models=start.head_models, has_layers=True)
    plain, held = (fit(name, majority, CATS) for name in ("finetune", "lwf"))

    assert same_bytes(plain, held, [*GOOD, *BAD], "cats")
