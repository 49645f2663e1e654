"""Progressive columns: two of them worked by hand, and that nothing which was learned is ever touched again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from fakes import LengthSource
from small_fits import MOODS, TEXTS, fit, inputs_of, moods, moved, pairs, restored, scores
from torch import nn

from thawbench.contracts import Budget, Provides, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.progressive import ProgressiveConfig, below_columns
from thawbench.strategies.progressive_columns import Column, Columns, ColumnShape
from thawbench.strategies.randomness import seeded

OTHER = replace(moods(), name="other", labelled=moods().labelled[::-1])
SHORT = Budget(steps=5)


def column(earlier: tuple[int, ...], weights: Mapping[str, Sequence[Any]]) -> Column:
    """Of two layers, one unit wide."""
    return Column.from_tensors(
        ColumnShape(earlier, 1, 2), {name: np.array(value, np.float32) for name, value in weights.items()}
    )


FIRST: dict[str, Sequence[Any]] = {
    "own.0.weight": [[2]],
    "own.0.bias": [0],
    "own.1.weight": [[1]],
    "own.1.bias": [0],
    "lateral.0.weight": [[3]],
    "adapters.0.alpha": [0.5],
    "adapters.0.project.weight": [[4]],
    "adapters.0.project.bias": [0],
    "adapters.1.alpha": [0.1],
    "adapters.1.project.weight": [[10]],
    "adapters.1.project.bias": [0],
}
SECOND: dict[str, Sequence[Any]] = {
    **FIRST,
    "own.0.weight": [[-1]],
    "own.1.bias": [-1],
    "lateral.0.weight": [[1]],
    "adapters.0.alpha": [1, 0.5],
    "adapters.0.project.weight": [[1, 2]],
    "adapters.1.alpha": [1, 0.1],
    "adapters.1.project.weight": [[1, 1]],
}


def test_two_columns_give_what_was_worked_by_hand() -> None:
    first, second = column((1,), FIRST), column((1, 1), SECOND)
    vector = np.array([[5.0]], np.float32)  # goes in at length 1

    # h1 = 2 * 1; h2 = 1 * 2 + 3 * (4 * .5 * 1); what is said of the backbone at the top: 10 * .1 * 1
    assert Columns([first]).project(vector).tolist() == [[8.0, 1.0]]
    # h1 = relu(-1); h2 = 0 + 1 * (1 * 1 * 1 + 2 * .5 * 2) - 1; at the top: 1 * 1 * 1 + 1 * .1 * 8
    assert Columns([first, second]).project(vector)[0] == pytest.approx([2.0, 1.8])


def test_a_column_reads_a_shallower_one_at_its_top() -> None:
    with seeded(0, "columns"):
        deep, shallow = Column(ColumnShape((3, 2), 4, 4)), Column(ColumnShape((3,), 2, 2))
    made = Columns([shallow, deep]).project(np.ones((5, 3), np.float32))

    assert made.shape == (5, 8)
    assert [deep.tensors()[f"adapters.{layer}.alpha"].shape for layer in range(4)] == [(2,)] * 4


def test_what_scales_a_lateral_input_is_drawn_from_the_papers_three_values() -> None:
    with seeded(0, "columns"):
        columns = [Column(ColumnShape((2, 2, 2), 2, 2)) for _ in range(9)]
    drawn = {alpha for column in columns for alpha in column.tensors()["adapters.0.alpha"].tolist()}

    assert sorted({round(alpha, 6) for alpha in drawn}) == [0.01, 0.1, 1.0]


def test_earlier_columns_and_the_backbone_stay_to_the_bit(tiny: AdaptedEncoder) -> None:
    one = fit("progressive", tiny, budget=SHORT)
    logits = one.predict(TEXTS, "moods")
    before = below_columns(one)[1][0].tensors()
    two = fit("progressive", one, OTHER, budget=SHORT)
    frozen, (first, second) = below_columns(two)

    for name, tensor in before.items():
        assert np.array_equal(first.tensors()[name], tensor)
        assert np.array_equal(below_columns(one)[1][0].tensors()[name], tensor)
        assert np.array_equal(one.state.tensors[f"column.{name}"], tensor)
    assert not np.array_equal(second.tensors()["own.1.weight"], before["own.1.weight"])
    assert not moved(frozen, tiny)
    assert np.array_equal(two.predict(TEXTS, "moods"), logits)
    assert not np.array_equal(two.predict(TEXTS, "other"), logits)


def test_only_the_new_column_and_its_head_are_trained_and_stored(tiny: AdaptedEncoder) -> None:
    one = fit("progressive", tiny, budget=SHORT)
    two = fit("progressive", one, OTHER, budget=SHORT)
    _, (_, second) = below_columns(two)
    of_column = sum(tensor.size for tensor in second.tensors().values())
    of_head = 2 * 64 + 2

    assert two.state.cost.trainable_parameters == of_column + of_head
    assert sum(tensor.size for tensor in two.state.tensors.values()) == of_column + of_head
    assert two.trace[0].gradient_norm.keys() == {"column", "head"}
    adapters = [weights for name, weights in second.state_dict().items() if "project.weight" in name]
    assert [tuple(weights.shape) for weights in adapters] == [(32, 64), (32, 64)]  # backbone and first column


def test_the_vectors_are_those_that_the_last_sets_head_reads(tiny: AdaptedEncoder) -> None:
    one = fit("progressive", tiny, budget=SHORT)
    two = fit("progressive", one, OTHER, budget=SHORT)

    assert one.encode(TEXTS).shape == two.encode(TEXTS).shape == (len(TEXTS), 64)
    assert not np.array_equal(one.encode(TEXTS), two.encode(TEXTS))
    unit = torch.nn.functional.normalize(torch.from_numpy(two.encode(TEXTS)), dim=-1).numpy() * 8
    weight, bias = (two.state.tensors[f"head.layers.1.{name}"] for name in ("weight", "bias"))
    assert unit @ weight.T + bias == pytest.approx(two.predict(TEXTS, "other"), abs=1e-5)
    assert two.provides == {Provides.VECTORS, Provides.CLASSES, Provides.LAYERS}


def test_two_columns_come_back_from_their_states(tiny: AdaptedEncoder) -> None:
    one = fit("progressive", tiny, budget=SHORT, width=12)
    two = fit("progressive", one, OTHER, budget=SHORT, width=20, depth=3)
    again = restored("progressive", restored("progressive", tiny, one), two)

    assert np.array_equal(again.encode(TEXTS), two.encode(TEXTS))
    for head in ("moods", "other"):
        assert np.array_equal(again.predict(TEXTS, head), two.predict(TEXTS, head))


def test_it_learns_texts_then_pairs_then_scores(tiny: AdaptedEncoder) -> None:
    budget = Budget(steps=150)
    texts = fit("progressive", tiny, moods(), budget=budget, lr=3e-3)
    both = fit("progressive", texts, pairs(), budget=budget, lr=3e-3)
    all_three = fit("progressive", both, scores(), budget=budget, lr=3e-3)

    for data in (moods(), pairs()):
        found = all_three.predict(inputs_of(data), data.name).argmax(axis=1)
        assert np.mean(found == [MOODS.classes.index(str(row.label)) for row in data.labelled]) > 0.9
    starred = all_three.predict(inputs_of(scores()), "scores")[:, 0]
    truth = np.array([row.score for row in scores().labelled])
    assert starred[truth == 4].mean() > starred[truth == 1].mean() + 1


def test_earlier_columns_have_no_dropout_while_a_new_one_is_trained(tiny: AdaptedEncoder) -> None:
    one = fit("progressive", tiny, budget=SHORT, dropout=0.5)
    _, (first,) = below_columns(one)

    assert [module.p for module in first.modules() if isinstance(module, nn.Dropout)] == [0.0]


def test_it_needs_labels_and_an_encoder(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="empty has no labelled rows"):
        fit("progressive", tiny, TrainSet("empty", 1, "e"))
    with pytest.raises(NotApplicableError, match="the vectors come from LengthSource"):
        fit("progressive", AdaptedEncoder(LengthSource()))


def test_a_column_of_one_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="depth must be at least 2"):
        ProgressiveConfig(depth=1)
    with pytest.raises(ValueError, match="lr and weight_decay not negative"):
        ProgressiveConfig(lr=-1.0)
