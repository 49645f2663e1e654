"""Energies and the three losses, by hand on three rows and against scikit-learn and sentence-transformers."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sentence_transformers import util
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sklearn.metrics import log_loss
from torch import Tensor

from thawbench.strategies.energy import Norm, bce_loss, chopra_loss, energies, energy, mnr_loss, upper_bound

LEFT = torch.tensor([[1.0, -1.0], [0.5, 0.0], [0.0, 0.0]])
RIGHT = torch.tensor([[1.0, -1.0], [0.0, 0.5], [-1.0, 1.0]])
NORMS: list[Norm] = ["l1", "l2", "cosine"]


def vectors(n: int = 8, dim: int = 5, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, (n, dim)).astype(np.float32))


def test_energies_of_three_rows_by_hand() -> None:
    assert energy(LEFT, RIGHT, "l1").tolist() == [0.0, 1.0, 2.0]
    assert energy(LEFT, RIGHT, "l2").tolist() == pytest.approx([0.0, math.sqrt(0.5), math.sqrt(2)])
    assert energy(LEFT[:2], RIGHT[:2], "cosine").tolist() == pytest.approx([0.0, 1.0], abs=1e-6)


@pytest.mark.parametrize(("norm", "metric"), [("l1", "cityblock"), ("l2", "euclidean"), ("cosine", "cosine")])
def test_energies_of_all_pairs_are_scipys_distances(norm: Norm, metric: str) -> None:
    left, right = vectors(), vectors(6, seed=1)

    assert np.allclose(energies(left, right, norm), cdist(left, right, metric), atol=1e-5)
    assert torch.allclose(energies(left, left.flip(0), norm).diag(), energy(left, left.flip(0), norm), atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_opposite_corners_reach_the_upper_bound(norm: Norm) -> None:
    corner = torch.ones(1, 7)

    assert float(energy(corner, -corner, norm)) == pytest.approx(upper_bound(norm, 7))


def test_chopras_loss_of_three_rows_by_hand() -> None:
    # l1 in 2 dimensions: Q = 4 and E = 0, 1, 2; the rows are genuine, genuine, impostor
    by_hand = (0.0 + (2 / 4) * 1.0**2 + 2 * 4 * math.exp(-2.77 * 2 / 4)) / 3

    loss = chopra_loss(energy(LEFT, RIGHT, "l1"), torch.tensor([0.0, 0.0, 1.0]), upper_bound("l1", 2))

    assert float(loss) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.8342, abs=1e-4)


def test_the_two_branches_meet_at_half_the_upper_bound_and_have_the_papers_ends() -> None:
    bound = 10.0

    def branch(at: float, impostor: float) -> float:
        return float(chopra_loss(torch.tensor([at]), torch.tensor([impostor]), bound))

    assert branch(5, 1) == pytest.approx(branch(5, 0), rel=2e-3)  # 2.77 is nearly 4 ln 2
    assert branch(5, 0) == bound / 2
    assert branch(0, 1) == branch(10, 0) == 2 * bound
    assert branch(0, 0) == 0
    assert branch(10, 1) == pytest.approx(0.125 * bound, rel=5e-3)


def test_a_weight_between_the_two_is_a_mixture() -> None:
    found = torch.tensor([3.0])
    genuine, impostor, mixed = (float(chopra_loss(found, torch.tensor([w]), 8.0)) for w in (0.0, 1.0, 0.25))

    assert mixed == pytest.approx(0.75 * genuine + 0.25 * impostor)


@pytest.mark.parametrize("norm", NORMS)
def test_descent_brings_genuine_pairs_together_and_drives_impostors_apart(norm: Norm) -> None:
    for impostor, sign in ((0.0, -1), (1.0, 1)):
        left, right = vectors(1).requires_grad_(), vectors(1, seed=1)
        before = energy(left, right, norm)
        loss = chopra_loss(before, torch.tensor([impostor]), upper_bound(norm, 5))
        (gradient,) = torch.autograd.grad(loss, left)
        after = energy(left - 1e-3 * gradient, right, norm)
        assert sign * (after - before).item() > 0


@pytest.mark.parametrize("norm", NORMS)
def test_the_gradient_is_finite_where_the_two_vectors_coincide(norm: Norm) -> None:
    left = vectors(3).requires_grad_()
    loss = chopra_loss(energy(left, left.detach(), norm), torch.tensor([0.0, 1.0, 0.5]), upper_bound(norm, 5))
    (gradient,) = torch.autograd.grad(loss, left)

    assert torch.isfinite(gradient).all()


def test_cross_entropy_of_three_rows_is_scikit_learns_log_loss() -> None:
    impostor = torch.tensor([0.0, 0.0, 1.0])
    offset, log_slope = torch.tensor(1.5), torch.tensor(math.log(2.0))

    loss = bce_loss(energy(LEFT, RIGHT, "l1"), impostor, offset, log_slope)

    genuine = [1 / (1 + math.exp(-(1.5 - 2.0 * found))) for found in (0.0, 1.0, 2.0)]
    assert float(loss) == pytest.approx(log_loss([1, 1, 0], genuine))
    assert float(loss) == pytest.approx(-(math.log(genuine[0]) + math.log(genuine[1]) + math.log(1 - genuine[2])) / 3)


def test_ranking_by_cosine_is_sentence_transformers_loss() -> None:
    left, right = vectors(), vectors(seed=1)
    reference = MultipleNegativesRankingLoss(model=None, scale=20.0, similarity_fct=util.cos_sim)  # type: ignore[arg-type]

    ours = mnr_loss(energies(left, right, "cosine"), 2.0, torch.eye(8, dtype=torch.bool))

    assert float(ours) == pytest.approx(
        float(reference.compute_loss_from_embeddings([left, right], torch.empty(0))), abs=1e-5
    )


def test_ranking_three_rows_by_hand_and_leaving_out_what_is_as_right() -> None:
    found = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [4.0, 3.0, 1.0]])
    logits = [[20, 10, 0], [10, 20, 0], [-20, -10, 10]]  # 20 (1 - 2E/4)
    masked = torch.zeros(3, 3, dtype=torch.bool)
    masked[0, 1] = masked[1, 1] = True  # the own partner stays in any case

    by_hand = 0.0
    for row, own in enumerate((0, 1, 2)):
        left_in = [logit for column, logit in enumerate(logits[row]) if (row, column) != (0, 1)]
        by_hand += math.log(sum(math.exp(logit) for logit in left_in)) - logits[row][own]

    assert float(mnr_loss(found, 4.0, masked)) == pytest.approx(by_hand / 3, rel=1e-3)
