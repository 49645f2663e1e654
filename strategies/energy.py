"""Energies of pairs, and three losses on them.

Chopra, Hadsell and LeCun, "Learning a Similarity Metric Discriminatively", CVPR 2005: E = ||G(u) - G(v)||, with Q the
upper bound of E, which exists because G's components lie within (-1, 1). An `impostor` weight is the paper's Y: 0 for a
genuine pair, 1 for an impostor; a gold score gives a weight between them, as every loss here but `mnr` is linear in Y.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Norm = Literal["l1", "l2", "cosine"]

MNR_SCALE = 20.0
"""What sentence-transformers multiplies a cosine with."""


def energy(left: Tensor, right: Tensor, norm: Norm) -> Tensor:
    """E of each row: (n, dim) twice to (n,). For `cosine`, 1 - cos. Not squared, as its gradient would vanish at 0."""
    if norm == "cosine":
        return 1 - functional.cosine_similarity(left, right, dim=-1)
    distance: Tensor = torch.linalg.vector_norm(left - right, ord=1 if norm == "l1" else 2, dim=-1)
    return distance


def energies(left: Tensor, right: Tensor, norm: Norm) -> Tensor:
    """E of every row with every row: (n, dim) and (m, dim) to (n, m)."""
    if norm == "cosine":
        return 1 - functional.normalize(left, dim=-1) @ functional.normalize(right, dim=-1).T
    exact = "donot_use_mm_for_euclid_dist"  # the fast way cancels digits where two vectors are close
    return torch.cdist(left, right, p=1.0 if norm == "l1" else 2.0, compute_mode=exact)


def upper_bound(norm: Norm, dim: int) -> float:
    """Q: the largest energy of two vectors whose `dim` components lie within [-1, 1]."""
    return {"l1": 2.0 * dim, "l2": 2.0 * math.sqrt(dim), "cosine": 2.0}[norm]


def chopra_loss(energy: Tensor, impostor: Tensor, bound: float) -> Tensor:
    """Eq. 8: the mean of (1 - Y) (2/Q) E^2 + Y 2Q exp(-2.77 E / Q). The branches meet near E = Q/2: 2.77 is 4 ln 2."""
    genuine_branch = (2 / bound) * energy.square()
    impostor_branch = 2 * bound * torch.exp(-2.77 * energy / bound)
    return ((1 - impostor) * genuine_branch + impostor * impostor_branch).mean()


def bce_loss(energy: Tensor, impostor: Tensor, offset: Tensor, log_slope: Tensor) -> Tensor:
    """Cross-entropy of "genuine" on sigmoid(a - b E), a = `offset` and b = exp(`log_slope`) > 0 being learned."""
    return functional.binary_cross_entropy_with_logits(offset - log_slope.exp() * energy, 1 - impostor)


def mnr_loss(energies: Tensor, bound: float, also_genuine: Tensor | None = None, scale: float = MNR_SCALE) -> Tensor:
    """Multiple negatives ranking: cross-entropy of finding the own partner among the batch's candidates.

    Logits are scale (1 - 2E/Q), which for `cosine` are scale cos, as in sentence-transformers.

    Args:
        energies: (n, m), row i's own partner in column i.
        also_genuine: (n, m) bool, the candidates that would be as right as the own partner; they are left out.
    """
    logits = scale * (1 - 2 * energies / bound)
    if also_genuine is not None:
        own = torch.eye(*energies.shape, dtype=torch.bool, device=energies.device)
        logits = logits.masked_fill(also_genuine & ~own, -math.inf)
    return functional.cross_entropy(logits, torch.arange(len(energies), device=energies.device))
