"""`ebm`: it goes on from `frozen_ebm`'s G, trains encoder and G on the same loss, and can be restored."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from thawbench.contracts import Budget, ClassTarget, FloatArray, Input, Labelled, Pair, Rows, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.ebm import Ebm, EbmConfig
from thawbench.strategies.ebm_objective import EnergyOfPairs, Items
from thawbench.strategies.energy_head import EnergyHead, HeadShape
from thawbench.strategies.frozen_ebm import FrozenEbm, FrozenEbmConfig
from thawbench.strategies.mlm import Mlm, MlmConfig
from thawbench.strategies.pair_features import item_features
from thawbench.strategies.pair_sampling import PairRows
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body

SUBJECTS = ("the cat", "a dog", "the film", "the plot")
VERBS = ("sat on the mat", "ran under the rug", "is good", "was bad", "is not bad", "was not good")
TEXTS = [f"{subject} {verb}" for subject in SUBJECTS for verb in VERBS]
CLASSES = ClassTarget(("animal", "art"))


def label_set(of_pairs: bool = False) -> TrainSet:
    rows = []
    for place, text in enumerate(TEXTS):
        item: Input = (text, TEXTS[place * 7 % len(TEXTS)]) if of_pairs else text
        rows.append(Labelled(item, label=CLASSES.classes[place // 12]))
    return TrainSet("set", 1, "f", CLASSES, labelled=tuple(rows[::2]), dev=Rows(labelled=tuple(rows[1::2])))


def pair_set() -> TrainSet:
    pairs = []
    for place, text in enumerate(TEXTS):
        pairs.append(Pair(text, TEXTS[place // 6 * 6 + (place + 1) % 6], "entailment"))
        pairs.append(Pair(text, TEXTS[(place + 12) % 24], "contradiction"))
    return TrainSet("nli", 1, "f", pairs=tuple(pairs[:32]), dev=Rows(pairs=tuple(pairs[32:])))


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def frozen(start: AdaptedEncoder, data: TrainSet) -> AdaptedEncoder:
    config = FrozenEbmConfig(dim=8, epochs=1, batch_size=32, lr=1e-2)
    return FrozenEbm(config).fit(start, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt)


def thaw(start: AdaptedEncoder, data: TrainSet, steps: int | None = None, **config: Any) -> AdaptedEncoder:
    strategy = Ebm(EbmConfig(**{"dim": 8, **config}))
    return strategy.fit(start, data, seeds=Seeds(), budget=Budget(steps=steps), adapt=no_adapt)


SETS = [label_set(), label_set(of_pairs=True), pair_set()]
NAMES = ["labels of texts", "labels of pairs", "pairs"]


@pytest.mark.parametrize("data", SETS, ids=NAMES)
def test_before_the_first_step_it_is_what_frozen_ebm_left(tiny: AdaptedEncoder, data: TrainSet) -> None:
    before = frozen(tiny, data)
    still = thaw(before, data, steps=0)

    assert still.similarity == before.similarity
    assert still.state.cost.dev_score == pytest.approx(before.state.cost.dev_score)
    for head in before.heads:
        inputs = [row.input for row in data.labelled]
        assert np.allclose(still.predict(inputs, head), before.predict(inputs, head), atol=1e-5)
    if before.source is not None:
        assert np.array_equal(still.encode(TEXTS), before.encode(TEXTS))


@pytest.mark.parametrize("data", SETS, ids=NAMES)
def test_encoder_and_g_move_and_come_back_from_the_state(tiny: AdaptedEncoder, data: TrainSet) -> None:
    before = frozen(tiny, data)
    tuned = thaw(before, data, steps=8, lr=1e-3)
    # without dev the last weights are kept, whatever dev would have liked
    blind = TrainSet(data.name, 1, "f", data.target, data.labelled, data.pairs)
    moved = thaw(before, blind, steps=8, lr=1e-3)
    again = Ebm(EbmConfig(dim=8, lr=1e-3)).restore(before, moved.state)

    assert any(name.startswith("body.encoder.") for name in moved.state.tensors)
    assert not np.array_equal(moved.state.tensors["head.linear.0.weight"], before.state.tensors["head.linear.0.weight"])
    assert moved.trace[0].gradient_norm["layer.0"] > 0
    assert tuned.state.cost.dev_score is not None
    assert before.state.cost.dev_score is not None
    assert tuned.state.cost.dev_score >= before.state.cost.dev_score
    if data.pairs:
        assert np.array_equal(again.encode(TEXTS), moved.encode(TEXTS))
        assert not np.allclose(moved.encode(TEXTS), before.encode(TEXTS), atol=1e-3)
    else:
        inputs = [row.input for row in data.labelled]
        assert np.array_equal(again.predict(inputs, "set"), moved.predict(inputs, "set"))
        assert not np.allclose(moved.predict(inputs, "set"), before.predict(inputs, "set"), atol=1e-4)


@pytest.mark.parametrize("data", SETS, ids=NAMES)
def test_it_goes_on_under_the_norm_that_g_was_trained_for_and_no_other(tiny: AdaptedEncoder, data: TrainSet) -> None:
    config = FrozenEbmConfig(dim=8, norm="l2", epochs=1, batch_size=32, lr=1e-2)
    before = FrozenEbm(config).fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt)

    assert thaw(before, data, steps=0, norm="l2").similarity == before.similarity == "neg_l2"
    with pytest.raises(NotApplicableError, match=r"compared by neg_l2, and ebm asks for neg_l1; let ebm follow"):
        thaw(before, data, steps=0)


def test_what_other_steps_have_tuned_below_g_since_is_where_it_goes_on(tiny: AdaptedEncoder) -> None:
    data = replace(label_set(), texts=tuple(TEXTS))
    between = Mlm(MlmConfig(steps=3, lr=1e-3)).fit(
        frozen(tiny, data), data, seeds=Seeds(), budget=Budget(), adapt=no_adapt
    )
    after = thaw(between, data, steps=0)
    bare, tuned, left = (Body.of(each.source).encoder.model.state_dict() for each in (tiny, between, after))
    assert any(not torch.equal(tuned[name], weight) for name, weight in bare.items())
    assert all(torch.equal(left[name], weight) for name, weight in tuned.items())
    np.testing.assert_array_equal(after.encode(TEXTS), between.encode(TEXTS))


def test_alone_it_begins_with_a_g_of_its_own_and_lowers_its_loss(tiny: AdaptedEncoder) -> None:
    data = pair_set()
    tuned = thaw(tiny, TrainSet("nli", 1, "f", pairs=data.pairs), steps=40, lr=1e-3)

    first, last = tuned.trace[:4], tuned.trace[-4:]
    assert sum(row.loss for row in last) < 0.9 * sum(row.loss for row in first)
    assert tuned.encode(TEXTS).shape == (24, 8)


@pytest.mark.parametrize("of_pairs", [False, True], ids=["texts", "pairs"])
def test_what_g_reads_is_what_it_reads_when_frozen(tiny: AdaptedEncoder, of_pairs: bool) -> None:
    inputs = [row.input for row in label_set(of_pairs).labelled]
    body = Body.of(tiny.source).copy(dropout=0.0)
    items = Items.of(body, inputs)
    expected: FloatArray = item_features(tiny, inputs, normalised=False)
    chosen = np.array([3, 0, 3, 7])

    assert np.allclose(items.vectors(body), expected, atol=1e-5)
    assert np.allclose(items.features(body, chosen).detach().numpy(), expected[chosen], atol=1e-5)


def test_the_loss_is_chopras_on_the_energies_of_the_batch(tiny: AdaptedEncoder) -> None:
    body = Body.of(tiny.source).copy(dropout=0.0)
    items = Items.of(body, TEXTS)
    with seeded(0, "head"):
        head = EnergyHead(HeadShape(body.dim, 8, 4, 1)).eval()
    pairs = PairRows(np.array([0, 1, 2]), np.array([3, 4, 5]), np.array([0.0, 1.0, 1.0]))
    objective = EnergyOfPairs(
        body, head, items, lambda _: pairs, lambda: None,
        norm="l1", loss="chopra", batch_size=2, classes=None, head_lr_scale=1.0,
    )  # fmt: skip

    g = head.project(items.vectors(body)).astype(np.float64)
    bound = 2.0 * 4
    wanted = 0.0
    for left, right, impostor in zip(pairs.left, pairs.right, pairs.impostor, strict=True):
        energy = np.abs(g[left] - g[right]).sum()
        wanted += 2 * bound * np.exp(-2.77 * energy / bound) if impostor else 2 / bound * energy**2
    assert objective.loss(pairs, 0).item() == pytest.approx(wanted / 3, rel=1e-5)
    assert [len(batch) for batch in objective.batches(0)] == [2, 1]
    learned = {name for block in objective.blocks() if block.name == "head" for name in block.parameters}
    assert learned == {"linear.0.weight", "linear.0.bias"}


def test_vectors_that_no_encoder_makes_cannot_be_thawed() -> None:
    with pytest.raises(NotApplicableError, match="only an encoder's weights can be tuned"):
        thaw(AdaptedEncoder(RandomSource(0, 6)), label_set())


def test_wrong_options_are_told() -> None:
    with pytest.raises(ValueError, match="head_lr and clip must be positive"):
        EbmConfig(head_lr=0)


@pytest.mark.parametrize("first", [0, 1], ids=["texts then pairs", "pairs then texts"])
def test_on_a_chain_of_texts_and_pairs_each_gets_a_g_that_can_read_it(tiny: AdaptedEncoder, first: int) -> None:
    sets = [replace(label_set(of_pairs), name=name) for of_pairs, name in ((False, "texts"), (True, "pairs"))]
    one, two = sets[first], sets[1 - first]
    after = thaw(thaw(tiny, one, steps=2), two, steps=2)

    for data in sets:
        logits = after.predict([row.input for row in data.dev.labelled], data.name)
        assert logits.shape == (12, 2)
        assert np.isfinite(logits).all()
