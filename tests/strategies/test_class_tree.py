"""A tree of classes as a head's outputs: small trees worked by hand, and scipy's logistic functions beside them."""

import math

import numpy as np
import pytest
import torch
from scipy.special import log_expit, log_softmax

from thawbench.contracts import ClassTarget, Labelled
from thawbench.strategies.class_tree import ClassTree, Code
from thawbench.strategies.randomness import generator

TREE = (("1", "1.1"), ("1", "1.2"), ("2", "2.1"))
RAGGED = (("pets", "cats", "manx"), ("pets", "dogs"), ("rain",))
CODES: tuple[Code, ...] = ("path", "multihot")


def tensor(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def test_two_classes_under_one_node_share_it_and_have_three_nodes() -> None:
    shared = (("1", "1.1"), ("1", "1.2"))
    path, multihot = (ClassTree(code, shared) for code in CODES)
    logits, gold = tensor([7.0, math.log(3), 0.0]), torch.tensor([0])

    assert path.outputs == multihot.outputs == 3
    # level one is the same for both and tells nothing, level two has 3 : 1
    assert path.loss(logits, gold).item() == pytest.approx(-math.log(3 / 4))
    assert path.read(logits).exp()[0].tolist() == pytest.approx([3 / 4, 1 / 4])
    # sigmoids of ln 3, ln 3 and 0 are 3/4, 3/4 and 1/2, wanted 1, 1 and 0
    sure = tensor([math.log(3), math.log(3), 0.0])
    assert multihot.loss(sure, gold).item() == pytest.approx(-math.log(3 / 4 * 3 / 4 * 1 / 2))
    assert multihot.read(sure)[0].tolist() == pytest.approx([2 * math.log(3), math.log(3)])


def test_a_path_heads_loss_on_a_batch_is_the_one_worked_by_hand() -> None:
    tree = ClassTree("path", TREE)
    logits = tensor([math.log(3), 0, math.log(2), 0, 0], [0, 0, 0, 0, math.log(6)])
    # row 0 is 1.1: 3/4 at level one, 2/4 at level two; row 1 is 2.1: 1/2 and 6/8
    by_hand = (-math.log(3 / 4 * 2 / 4) - math.log(1 / 2 * 6 / 8)) / 2

    assert tree.outputs == 5
    assert tree.loss(logits, torch.tensor([0, 2])).item() == pytest.approx(by_hand)
    assert tree.read(logits).exp()[0].tolist() == pytest.approx([3 / 8, 3 / 16, 1 / 16])


def test_level_one_may_be_right_where_level_two_alone_is_wrong() -> None:
    logits = tensor([3.0, 0, 1.0, 0, 1.5])

    assert logits[0, 2:].argmax() == 2
    assert ClassTree("path", TREE).read(logits).argmax() == 0
    assert ClassTree("multihot", TREE).read(logits).argmax() == 0


def test_classes_that_end_above_the_deepest_level_stand_on_every_level_of_a_path() -> None:
    path, multihot = (ClassTree(code, RAGGED) for code in CODES)
    logits = tensor([1.0, 2.0, 0.5, 0.25, 0.125, 3.0, 2.5, -1.0])
    levels = [log_softmax(part) for part in np.split(logits.numpy()[0], [2, 5])]

    assert path.outputs == 2 + 3 + 3
    found = path.read(logits)[0].tolist()
    assert found == pytest.approx(
        [
            sum(level[0] for level in levels),
            levels[0][0] + levels[1][1] + levels[2][1],
            sum(level[-1] for level in levels),
        ]
    )
    assert multihot.outputs == 2 + 2 + 1  # pets, rain; cats, dogs; manx
    assert multihot.read(logits[:, :5])[0].tolist() == pytest.approx([1 + 0.5 + 0.125, 1 + 0.25, 2])


def test_the_multihot_classes_are_ranked_by_the_likelihood_of_their_whole_code() -> None:
    tree = ClassTree("multihot", RAGGED)
    codes = np.array([[1, 0, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 0]])
    logits = generator(0, "logits").normal(size=(20, 5))
    likely = log_expit(logits) @ codes.T + log_expit(-logits) @ (1 - codes).T
    read = tree.read(torch.from_numpy(logits)).numpy()
    gold = np.arange(20) % 3

    assert np.ptp(likely - read, axis=1) == pytest.approx(np.zeros(20), abs=1e-9)
    loss = tree.loss(torch.from_numpy(logits), torch.from_numpy(gold)).item()
    assert loss == pytest.approx(-likely[np.arange(20), gold].mean())


def test_a_path_is_cut_at_its_class_ends_with_it_and_may_be_missing() -> None:
    target = ClassTarget(("sport", "tea", "oak"))
    rows = [
        Labelled("a", "oak", path=("nature", "plants")),
        Labelled("b", "sport", path=("sport", "football")),
        Labelled("c", "sport", path=("sport", "tennis")),
    ]
    tree = ClassTree.of("path", target, rows)

    assert tree.paths == (("sport",), ("tea",), ("nature", "plants", "oak"))
    assert ClassTree.of("multihot", target, rows).paths == tree.paths


def test_one_level_is_plain_cross_entropy_to_the_bit() -> None:
    logits, gold = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 2, 1, 0, 1, 1])
    tree = ClassTree("path", (("a",), ("b",), ("c",)))

    assert torch.equal(tree.loss(logits, gold), torch.nn.functional.cross_entropy(logits, gold))
    assert torch.equal(tree.read(logits), logits.log_softmax(dim=-1))
    assert torch.equal(ClassTree("multihot", tree.paths).read(logits), logits)


@pytest.mark.parametrize("code", CODES)
def test_a_tree_comes_back_from_json(code: Code) -> None:
    tree = ClassTree(code, RAGGED)

    assert ClassTree.from_json(tree.to_json()) == tree
    with pytest.raises(ValueError, match="no tree of classes"):
        ClassTree.from_json({"code": "other", "paths": []})
