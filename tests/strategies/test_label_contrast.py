"""The losses over one batch: worked by hand, and against loops written from the formulas and other implementations."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from sentence_transformers.util import pairwise_cos_sim
from torch import Tensor
from torch.nn import functional

from thawbench.strategies.label_contrast import (
    class_divergence,
    cosine_error,
    in_batch_cross_entropy,
    one_each,
    supervised_contrast,
)
from thawbench.strategies.pair_features import pair_features

THREE = torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.5, 0.0]])
"""Cosines 0 between the second and the others, 1 between the first and the third."""
TWO_OF_A_KIND = torch.tensor([0, 0, 1])

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "scl": partial(supervised_contrast, tau=0.3),
    "kl": partial(class_divergence, exclude_self=False, l2_norm=False, tau=1.0),
    "kl_switched": partial(class_divergence, exclude_self=True, l2_norm=True, tau=0.3),
    "inbatch_ce": partial(in_batch_cross_entropy, l2_norm=True, tau=0.3),
    "cosine": cosine_error,
}


def batch(seed: int = 0, rows: int = 12, classes: int = 4) -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(seed)
    return torch.from_numpy(draw.normal(size=(rows, 5)).astype(np.float32)), torch.from_numpy(
        draw.integers(classes, size=rows)
    )


# ---- supervised contrast --------------------------------------------------------------------------------------------


def test_supervised_contrast_of_three_rows_is_what_paper_and_pencil_give() -> None:
    # the first row's positive is the second, at cosine 0, and it may choose the third, at cosine 1: log(1 + e^(1/t));
    # the second's is the first, as near as the third: log 2; the third has none
    for tau in (1.0, 0.5):
        expected = math.log(1 + math.exp(1 / tau)) + math.log(2)
        assert supervised_contrast(THREE, TWO_OF_A_KIND, tau=tau).item() == pytest.approx(expected, abs=1e-6)


def test_supervised_contrast_equals_a_loop_written_from_the_paper() -> None:
    for seed in range(5):
        vectors, classes = batch(seed)
        rows, labels, tau, total = vectors.double().numpy(), classes.tolist(), 0.3, 0.0
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for i in range(len(labels)):
            same = labels.count(labels[i])
            for j in range(len(labels)):
                if i != j and labels[i] == labels[j]:
                    below = sum(math.exp(rows[i] @ rows[k] / tau) for k in range(len(labels)) if k != i)
                    total += -1 / (same - 1) * math.log(math.exp(rows[i] @ rows[j] / tau) / below)
        assert supervised_contrast(vectors, classes, tau=tau).item() == pytest.approx(total, rel=1e-5)


# ---- KL -------------------------------------------------------------------------------------------------------------


def test_the_diarys_divergence_of_three_rows_is_what_paper_and_pencil_give() -> None:
    # S = [[4, 0, 1], [0, 9, 0], [1, 0, .25]], T = [[.5, .5, 0], [.5, .5, 0], [0, 0, 1]]
    first = math.log(math.exp(4) + 1 + math.exp(1)) - 2 - math.log(2)
    second = math.log(math.exp(9) + 2) - 4.5 - math.log(2)
    third = math.log(math.exp(1) + 1 + math.exp(0.25)) - 0.25
    found = class_divergence(THREE, TWO_OF_A_KIND, exclude_self=False, l2_norm=False, tau=1.0)
    assert found.item() == pytest.approx((first + second + third) / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("exclude_self", "l2_norm", "tau", "expected"),
    [
        # without (i, i): the first chooses between s = 0 and s = 1, the second between 0 and 0, the third is skipped
        (True, False, 1.0, (math.log(1 + math.exp(1)) + math.log(2)) / 2),
        (True, False, 0.5, (math.log(1 + math.exp(2)) + math.log(2)) / 2),
        (True, True, 1.0, (math.log(1 + math.exp(1)) + math.log(2)) / 2),
        # cosines, S = [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
        (
            False,
            True,
            1.0,
            (
                (math.log(2 * math.exp(1) + 1) - 0.5 - math.log(2))
                + (math.log(math.exp(1) + 2) - 0.5 - math.log(2))
                + (math.log(2 * math.exp(1) + 1) - 1)
            )
            / 3,
        ),
        # the same at half the temperature
        (
            False,
            True,
            0.5,
            (
                (math.log(2 * math.exp(2) + 1) - 1 - math.log(2))
                + (math.log(math.exp(2) + 2) - 1 - math.log(2))
                + (math.log(2 * math.exp(2) + 1) - 2)
            )
            / 3,
        ),
    ],
)
def test_each_switch_of_the_divergence_gives_what_paper_and_pencil_give(
    exclude_self: bool, l2_norm: bool, tau: float, expected: float
) -> None:
    found = class_divergence(THREE, TWO_OF_A_KIND, exclude_self=exclude_self, l2_norm=l2_norm, tau=tau)
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_the_divergence_equals_torchs_of_the_outer_product_of_one_hot_labels() -> None:
    for seed in range(5):
        vectors, classes = batch(seed)
        hot = functional.one_hot(classes).float()
        target = hot @ hot.T / (hot @ hot.T).sum(dim=1, keepdim=True)
        expected = functional.kl_div(functional.log_softmax(vectors @ vectors.T, 1), target, reduction="batchmean")
        found = class_divergence(vectors, classes, exclude_self=False, l2_norm=False, tau=1.0)
        assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_with_all_switches_the_divergence_is_supervised_contrast_less_the_entropy_of_its_target() -> None:
    vectors, classes = batch()
    others = np.bincount(classes)[classes] - 1
    entropy = np.log(others[others > 0])
    contrast = supervised_contrast(vectors, classes, tau=0.3).item()
    divergence = class_divergence(vectors, classes, exclude_self=True, l2_norm=True, tau=0.3).item()
    assert divergence == pytest.approx((contrast - entropy.sum()) / len(entropy), rel=1e-5)


def test_the_divergence_is_nothing_where_the_softmax_is_the_target() -> None:
    far = torch.tensor([[50.0, 0.0], [50.0, 0.0], [0.0, 50.0], [0.0, 50.0]])
    for exclude_self in (False, True):
        found = class_divergence(far, torch.tensor([0, 0, 1, 1]), exclude_self=exclude_self, l2_norm=False, tau=1.0)
        assert found.item() == pytest.approx(0.0, abs=1e-6)


# ---- in-batch cross-entropy -----------------------------------------------------------------------------------------


def test_in_batch_cross_entropy_of_three_anchors_is_what_paper_and_pencil_give() -> None:
    anchors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    partners = torch.tensor([[0.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    classes = torch.tensor([0, 1, 1, 0, 1, 1])
    # first: own at 0, others of class 1 at 0 and 1; second: own at 1, the one of class 0 at 1, its mate left out;
    # third: own at 1, the one of class 0 at 0, its mate left out
    for tau in (1.0, 0.5):
        first = math.log(2 + math.exp(1 / tau))
        expected = first + math.log(2) + math.log(1 + math.exp(-1 / tau))
        found = in_batch_cross_entropy(torch.cat([anchors, partners]), classes, l2_norm=True, tau=tau)
        assert found.item() == pytest.approx(expected, abs=1e-6)
    # by dot product, the first partner is at 2 from the second anchor, the third at 3 from the first and the third
    expected = math.log(2 + math.exp(3)) + math.log(1 + math.exp(2 - 1)) + math.log(1 + math.exp(-3))
    found = in_batch_cross_entropy(torch.cat([anchors, partners]), classes, l2_norm=False, tau=1.0)
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_where_all_classes_differ_in_batch_cross_entropy_is_torchs_of_the_diagonal() -> None:
    vectors, _ = batch()
    classes = torch.arange(6).repeat(2)
    unit = functional.normalize(vectors, dim=1)
    expected = functional.cross_entropy(unit[:6] @ unit[6:].T, torch.arange(6), reduction="sum")
    found = in_batch_cross_entropy(vectors, classes, l2_norm=True, tau=1.0)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


# ---- cosines of pairs -----------------------------------------------------------------------------------------------


def test_the_cosine_error_of_three_pairs_is_what_paper_and_pencil_give() -> None:
    left = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    right = torch.tensor([[1.0, 1.0], [-2.0, 0.0], [0.0, 5.0]])
    # same class at cosine 1 / sqrt 2, another at -1, another at 1
    expected = ((1 - 0.5**0.5) ** 2 + 1 + 1) / 3
    found = cosine_error(torch.cat([left, right]), torch.tensor([0, 0, 1, 0, 1, 0]))
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_the_cosine_error_equals_sentence_transformers_own() -> None:
    vectors, classes = batch(rows=16, classes=2)
    same = (classes[:8] == classes[8:]).float()
    expected = torch.nn.MSELoss()(pairwise_cos_sim(vectors[:8], vectors[8:]), same)
    assert cosine_error(vectors, classes).item() == pytest.approx(expected.item(), rel=1e-5)


# ---- all ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_finite_whatever_the_batch_and_go_where_positives_are(name: str) -> None:
    loss = LOSSES[name]
    for rows, classes in ((12, 4), (2, 1), (2, 2)):
        vectors, labels = batch(rows=rows, classes=classes)
        if name == "inbatch_ce":
            labels = labels[: rows // 2].repeat(2)  # a partner is of its anchor's class
        vectors.requires_grad_()
        loss(vectors, labels).backward()  # type: ignore[no-untyped-call]
        assert vectors.grad is not None
        assert torch.isfinite(vectors.grad).all()
        assert rows == 2 or vectors.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["scl", "kl", "kl_switched"])
def test_one_row_alone_is_at_no_fault(name: str) -> None:
    vectors = torch.ones(1, 3, requires_grad=True)
    loss = LOSSES[name](vectors, torch.tensor([0]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


@pytest.mark.parametrize("name", ["scl", "kl", "kl_switched"])
def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(name: str) -> None:
    vectors, classes = batch()
    order = torch.from_numpy(np.random.default_rng(1).permutation(len(classes)))
    expected = LOSSES[name](vectors, classes).item()
    assert LOSSES[name](vectors[order], 7 - classes[order]).item() == pytest.approx(expected, rel=1e-5)


def test_a_pair_of_texts_becomes_what_the_read_out_makes_of_it() -> None:
    vectors, _ = batch(rows=8)
    unit = functional.normalize(vectors, dim=1).numpy()
    assert torch.equal(one_each(vectors, 8, l2_norm=True), vectors)
    assert np.allclose(one_each(vectors, 4, l2_norm=True).numpy(), pair_features(unit[:4], unit[4:]), atol=1e-6)
    plain = vectors.numpy()
    assert np.allclose(one_each(vectors, 4, l2_norm=False).numpy(), pair_features(plain[:4], plain[4:]), atol=1e-6)
