"""Losses that draw the vectors of one class together and push the others away, over the rows of one batch.

All but `cosine_error` are a sum or a mean of one number per anchor i: the cross-entropy between a uniform distribution
over its positives P(i) and a softmax over its candidates A(i),

    l_i = -1/|P(i)| sum_{j in P(i)} log( exp(s_ij) / sum_{k in A(i)} exp(s_ik) ),

and differ in the similarity s, in what P and A hold, and in how anchors add up.
"""

import torch
from torch import Tensor
from torch.nn import functional

from thawbench.strategies.classifier import joined


def supervised_contrast(vectors: Tensor, classes: Tensor, *, tau: float) -> Tensor:
    """The sum of l_i with s = cosine / tau, P(i) the other rows of i's class, A(i) all other rows, positives included.

    Gunel et al., "Supervised Contrastive Learning for Pre-trained Language Model Fine-tuning", ICLR 2021, eq. 3. An
    anchor without a positive, whose factor 1 / (N_y - 1) has no value, adds nothing.

    Args:
        vectors: (batch, dim) of any length.
        classes: (batch,) integers.
    """
    others = ~_itself(classes)
    return anchor_losses(similarities(vectors, vectors, l2_norm=True, tau=tau), _same(classes) & others, others).sum()


def class_divergence(vectors: Tensor, classes: Tensor, *, exclude_self: bool, l2_norm: bool, tau: float) -> Tensor:
    """The mean over i of KL(T_i || softmax(s_i)), T being YY' with rows that sum to 1 and Y the one-hot labels.

    T_i is uniform over P(i), so that KL is l_i less the entropy log |P(i)|.

    Args:
        vectors, classes: as in `supervised_contrast`.
        exclude_self: leave (i, i) out of T and of the softmax; rows without a positive are skipped then.
        l2_norm: take s = cosine / tau, else s = dot product / tau.
    """
    candidates = torch.ones_like(_same(classes)) if not exclude_self else ~_itself(classes)
    positives = _same(classes) & candidates
    losses = anchor_losses(similarities(vectors, vectors, l2_norm=l2_norm, tau=tau), positives, candidates)
    count = positives.sum(dim=1)
    return (losses - count[count > 0].log()).sum() / max(len(losses), 1)


def in_batch_cross_entropy(vectors: Tensor, classes: Tensor, *, l2_norm: bool, tau: float) -> Tensor:
    """The sum over i, j of -t_ij log softmax(s_i)_j for b anchors i and b partners j, one of whom belongs to i.

    t is one-hot, which says that all other partners are negatives. Those of i's own class are none, and are left out of
    the softmax.

    Args:
        vectors: (2 b, dim), the anchors and then their partners.
        classes: (2 b,) integers; a partner is of its anchor's class.
        l2_norm, tau: as in `class_divergence`.
    """
    left, right = vectors.chunk(2)
    anchors, partners = classes.chunk(2)
    own = _itself(anchors)
    negatives = anchors[:, None] != partners[None, :]
    return anchor_losses(similarities(left, right, l2_norm=l2_norm, tau=tau), own, own | negatives).sum()


def cosine_error(vectors: Tensor, classes: Tensor) -> Tensor:
    """The mean of (cos(u, v) - [same class])^2 over pairs: sentence-transformers' CosineSimilarityLoss.

    Args:
        vectors: (2 b, dim), the first of each pair and then the second.
        classes: (2 b,) integers.
    """
    left, right = vectors.chunk(2)
    first, second = classes.chunk(2)
    return functional.mse_loss(functional.cosine_similarity(left, right), (first == second).to(vectors.dtype))


def anchor_losses(scores: Tensor, positives: Tensor, candidates: Tensor) -> Tensor:
    """l_i of every anchor that has a positive, in order.

    Args:
        scores: s, (anchors, rows).
        positives, candidates: P and A as truth values of the same shape; a positive is a candidate.
    """
    kept = positives.any(dim=1)
    shares = scores[kept].masked_fill(~candidates[kept], -torch.inf).log_softmax(dim=1)
    return -shares.where(positives[kept], 0.0).sum(dim=1) / positives[kept].sum(dim=1)


def similarities(left: Tensor, right: Tensor, *, l2_norm: bool, tau: float) -> Tensor:
    """Cosines or dot products over tau in float32, of (n, dim) and (m, dim) to (n, m)."""
    with torch.autocast(left.device.type, enabled=False):
        if l2_norm:
            left, right = functional.normalize(left.float(), dim=-1), functional.normalize(right.float(), dim=-1)
        return left.float() @ right.float().T / tau


def one_each(vectors: Tensor, rows: int, *, l2_norm: bool) -> Tensor:
    """A vector for each row: a text's own, or [u; v; |u-v|; u*v] for a pair of texts.

    Args:
        vectors: (rows, dim); of pairs (2 rows, dim), all first texts before all second ones.
        l2_norm: give u and v length 1 before they meet, as the standard read-out does.
    """
    if len(vectors) == rows:
        return vectors
    left, right = (functional.normalize(vectors, dim=-1) if l2_norm else vectors).chunk(2)
    return joined(left, right)


def _same(classes: Tensor) -> Tensor:
    return classes[:, None] == classes[None, :]


def _itself(classes: Tensor) -> Tensor:
    return torch.eye(len(classes), dtype=torch.bool, device=classes.device)
