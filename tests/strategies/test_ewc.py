"""The Fisher information against other ways to it, the pull against its fixed point, and what does not move."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_fits import MOODS, TEXTS, fit, inputs_of, moods, pairs, scores, weights
from torch import Tensor, nn

from thawbench.contracts import Budget, ClassTarget, Labelled, TrainSet
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.ewc import Anchor, fisher_diagonal, pull_to
from thawbench.strategies.optimizer import Block, Pull, adamw, set_lr
from thawbench.strategies.trainable import Body

CATS = TrainSet(
    "cats", 1, "c", MOODS, tuple(Labelled(text, "good" if "cat" in text or "is" in text else "bad") for text in TEXTS)
)


def head_of(adapted: AdaptedEncoder, name: str) -> ClassifierHead:
    found = adapted.head_models[name]
    assert isinstance(found, ClassifierHead)
    return found


def anchor(adapted: AdaptedEncoder, name: str = "moods") -> Anchor:
    (found,) = [kept for kept in adapted.memory if isinstance(kept, Anchor) and kept.train_set == name]
    return found


# ---- the Fisher information -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", ["joint", "siamese"])
def test_of_two_classes_it_is_p_times_q_times_the_squared_gradient_of_the_difference(
    tiny: AdaptedEncoder, reading: str
) -> None:
    """The gradient of log p is q d(a - b), and of log q it is -p d(a - b): their mean square is pq (d(a - b))^2."""
    data = pairs()
    tuned = fit("finetune", tiny, data, pairs=reading)
    head = head_of(tuned, "pairs")
    found = fisher_diagonal(Body.of(tuned.source), head, data, 3)

    body = Body.of(tuned.source).copy()
    body.module().eval()
    name = "encoder.layer.0.output.dense.weight"
    weight = dict(body.encoder.model.named_parameters())[name]
    expected = torch.zeros_like(weight)
    for row in data.labelled[:3]:
        sides = [[row.input]] if reading == "joint" else [[row.input[0]], [row.input[1]]]
        tokens = [body.encoder.tokenize(side)[0] for side in sides]
        types = [token.types for token in tokens] if reading == "joint" else None
        vectors = body.forward([token.ids for token in tokens], types)
        logits = head.module(*torch.split(vectors, 1))[0]
        (gradient,) = torch.autograd.grad(logits[0] - logits[1], weight)
        p = torch.sigmoid(logits[0] - logits[1]).item()
        expected += p * (1 - p) * gradient**2 / 3

    assert torch.allclose(found[f"layer.0/{name}"], expected, rtol=1e-3, atol=1e-12)
    assert expected.max() > 0


def test_of_three_classes_it_is_the_mean_over_labels_drawn_as_the_head_predicts(tiny: AdaptedEncoder) -> None:
    target = ClassTarget(("a", "b", "c"))
    data = TrainSet("abc", 1, "f", target, tuple(Labelled(text, "abc"[i % 3]) for i, text in enumerate(TEXTS)))
    tuned = fit("finetune", tiny, data)
    body, head = Body.of(tuned.source).copy(), head_of(tuned, "abc")
    body.module().eval()
    weight = dict(body.encoder.model.named_parameters())["encoder.layer.1.output.dense.bias"]
    found = fisher_diagonal(Body.of(tuned.source), head, data, 1)["layer.1/encoder.layer.1.output.dense.bias"]

    surprise = torch.log_softmax(head.module(body.forward([body.encoder.tokenize([TEXTS[0]])[0].ids]))[0], dim=0)
    each = torch.stack([torch.autograd.grad(term, weight, retain_graph=True)[0] for term in surprise])
    drawn = np.random.default_rng(0).choice(3, 50_000, p=torch.softmax(surprise.detach().double(), dim=0).numpy())
    sampled = (each**2)[drawn].mean(dim=0)

    assert torch.allclose(found, sampled, rtol=0.05)


def test_of_a_score_it_is_twice_the_squared_gradient(tiny: AdaptedEncoder) -> None:
    data = scores()
    tuned = fit("finetune", tiny, data)
    body, head = Body.of(tuned.source).copy(), head_of(tuned, "scores")
    body.module().eval()
    weight = dict(body.encoder.model.named_parameters())["encoder.layer.1.output.dense.bias"]
    found = fisher_diagonal(Body.of(tuned.source), head, data, 1)["layer.1/encoder.layer.1.output.dense.bias"]
    (gradient,) = torch.autograd.grad(
        head.module(body.forward([body.encoder.tokenize([TEXTS[0]])[0].ids]))[0, 0], weight
    )

    assert torch.allclose(found, 2 * gradient**2, rtol=1e-4)


def test_it_is_taken_on_the_first_rows_and_where_nothing_is_read_it_is_zero(tiny: AdaptedEncoder) -> None:
    data = moods()
    few = replace(data, labelled=data.labelled[:2])
    tuned = fit("ewc", tiny, data, fisher_rows=2)
    found, alone = anchor(tuned).fisher, fisher_diagonal(Body.of(tuned.source), head_of(tuned, "moods"), few, 100)

    assert all(torch.equal(found[name], alone[name]) for name in found)
    assert found.keys() == anchor(tuned).weights.keys()
    assert not any("pooler" in name for name in found)
    assert isinstance(tiny.source, Encoder)
    read = {place for row in few.labelled for place in tiny.source.tokenize([row.input])[0].ids}
    seen = found["embeddings/embeddings.word_embeddings.weight"].sum(dim=1) > 0
    assert set(torch.nonzero(seen).ravel().tolist()) == read


def test_it_does_not_depend_on_the_labels_of_the_rows(tiny: AdaptedEncoder) -> None:
    tuned = fit("ewc", tiny, moods())
    turned = replace(moods(), labelled=tuple(replace(row, label="bad") for row in moods().labelled))
    found = fisher_diagonal(Body.of(tuned.source), head_of(tuned, "moods"), turned, 100)

    assert all(torch.equal(found[name], values) for name, values in anchor(tuned).fisher.items())


# ---- the pull -------------------------------------------------------------------------------------------------------


def descend(pull: Pull, slope: float, lr: float, steps: int, start: float = 0.0) -> float:
    """Where AdamW ends on slope * w + the penalty."""
    weight = nn.Parameter(torch.tensor([[start]]))
    optimizer = adamw([Block("only", {"w": weight}, pulls={"w": pull})], weight_decay=0.0)
    for _ in range(steps):
        optimizer.zero_grad()
        (slope * weight).sum().backward()  # type: ignore[no-untyped-call]
        set_lr(optimizer, lr)
        optimizer.step()
    return weight.item()


def test_the_pull_comes_to_rest_where_the_gradients_cancel() -> None:
    """Of a w + s / 2 (w - c)^2 that is c - a / s, whatever the step is long."""
    pull = Pull(torch.tensor([[2.0]]), torch.tensor([[5.0]]))
    assert descend(pull, slope=0.5, lr=0.1, steps=100) == pytest.approx(2.0 - 0.5 / 5.0, abs=1e-4)
    assert descend(pull, slope=0.5, lr=0.03, steps=300) == pytest.approx(2.0 - 0.5 / 5.0, abs=1e-4)


def test_one_step_is_the_one_worked_by_hand() -> None:
    """AdamW's first step is lr long. Its divisor is |a| = 0.5, so that the share is 1 / (1 + 0.5 / (0.1 * 5)) = 1/2."""
    pull = Pull(torch.tensor([[2.0]]), torch.tensor([[5.0]]))
    assert descend(pull, slope=0.5, lr=0.1, steps=1) == pytest.approx((-0.1 + 2.0) / 2, abs=1e-5)


def test_no_strength_leaves_a_weight_alone_and_a_great_one_holds_it_to_the_bit() -> None:
    free = descend(Pull(torch.tensor([[2.0]]), torch.tensor([[0.0]])), 0.5, 0.1, 7)
    held = descend(Pull(torch.tensor([[0.3]]), torch.tensor([[1e30]])), 0.5, 0.1, 7, start=0.3)

    assert free == pytest.approx(-0.7, abs=1e-5)
    assert held == torch.tensor(0.3).item()


def test_two_penalties_are_one_about_the_mean_by_their_strengths() -> None:
    known = [
        (torch.tensor([1.0, 1.0, 1.0, 0.1]), torch.tensor([1.0, 0.0, 0.0, 3.0])),
        (torch.tensor([4.0, 4.0, 4.0, 0.1]), torch.tensor([2.0, 2.0, 0.0, 7.0])),
    ]
    pull = pull_to(known, 10.0)

    assert pull.centre.tolist() == pytest.approx([3.0, 4.0, 1.0, 0.1])
    assert pull.strength.tolist() == [30.0, 20.0, 0.0, 100.0]
    assert pull.centre[3] == known[0][0][3]


# ---- the strategy ---------------------------------------------------------------------------------------------------


def run(tiny: AdaptedEncoder, sets: Sequence[TrainSet], **config: Any) -> list[AdaptedEncoder]:
    trail = [tiny]
    for data in sets:
        trail.append(fit("ewc", trail[-1], data, budget=Budget(epochs=4), lr=1e-3, **config))
    return trail


def held(before: AdaptedEncoder, after: AdaptedEncoder, name: str) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Each weight's values where the answers of a set depend on it: before, after, and all of it."""
    assert isinstance(before.source, Encoder)
    old, new, found = weights(before), weights(after), []
    for full, fisher in anchor(before, name).fisher.items():
        short = full.partition("/")[2]
        found.append((old[short][fisher > 0], new[short][fisher > 0], fisher))
    return found


def test_an_endless_weight_moves_nothing_that_the_answers_of_earlier_sets_depend_on(tiny: AdaptedEncoder) -> None:
    """To the bit, over two later sets. The head of the first is bit-equal anyway, so its answers are."""
    sets = (moods(), CATS, pairs())
    _, first, second, third = run(tiny, sets, weight=1e30)

    for later in (second, third):
        assert all(torch.equal(old, new) for old, new, _ in held(first, later, "moods"))
        assert np.array_equal(first.predict(inputs_of(moods()), "moods"), later.predict(inputs_of(moods()), "moods"))
    assert all(torch.equal(old, new) for old, new, _ in held(second, third, "cats"))
    layers = [fisher for full, fisher in anchor(first).fisher.items() if full.startswith("layer.")]
    assert sum(int((fisher > 0).sum()) for fisher in layers) > 0.99 * sum(fisher.numel() for fisher in layers)
    assert second.trace[-1].loss < second.trace[0].loss  # the new head learns on what stands still


def test_the_more_weight_the_less_the_encoder_moves(tiny: AdaptedEncoder) -> None:
    moves = []
    for weight in (0.0, 10.0, 1e8):
        _, first, second = run(tiny, (moods(), CATS), weight=weight)
        old, new = weights(first), weights(second)
        moves.append(sum((new[name] - old[name]).square().sum().item() for name in old if ".layer." in name) ** 0.5)

    assert moves == sorted(moves, reverse=True)
    assert moves[0] > 2 * moves[-1]


def test_the_state_holds_one_value_for_each_weight_and_nothing_of_earlier_sets(tiny: AdaptedEncoder) -> None:
    _, first, second = run(tiny, (moods(), CATS))

    for step in (first, second):
        fisher = {name for name in step.state.tensors if name.startswith("fisher.")}
        assert {name.partition("/")[2] for name in fisher} == {name for name in weights(step) if "pooler" not in name}
    assert [kept.train_set for kept in second.memory] == ["moods", "cats"]


def test_what_lies_between_two_of_its_steps_does_not_make_it_forget(tiny: AdaptedEncoder) -> None:
    _, first = run(tiny, (moods(),), weight=1e30)
    between = fit("finetune", first, pairs(), lr=1e-3)
    second = fit("ewc", between, CATS, budget=Budget(epochs=4), lr=1e-3, weight=1e30)

    # it is drawn back to where the set that it remembers has left it
    assert all(torch.equal(old, new) for old, new, _ in held(first, second, "moods"))
