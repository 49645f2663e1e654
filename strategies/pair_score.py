"""How dev judges by pairs: whether vectors that should be near are nearer than those that should not."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.metrics import roc_auc_score
from torch import Tensor

from thawbench.contracts import Pair, ScoreTarget, Target
from thawbench.strategies.energy import Norm, energies, energy
from thawbench.strategies.pair_sampling import PairRows, impostor_weights
from thawbench.strategies.readout import score_of

_RANKED = 1000
"""Pairs that are ranked among each other where there is no impostor to tell apart from."""


def pair_rows(pairs: Sequence[Pair], target: Target | None) -> tuple[list[str], PairRows]:
    """The distinct texts of the usable pairs, and the pairs as rows of them; see `impostor_weights`."""
    kept, impostor = impostor_weights(pairs, target)
    place: dict[str, int] = {}
    left, right = (
        np.array([place.setdefault(text, len(place)) for text in side], dtype=np.intp)
        for side in ([pair.a for pair in kept], [pair.b for pair in kept])
    )
    return list(place), PairRows(left, right, impostor)


def pair_score(vectors: Callable[[], Tensor], pairs: PairRows, norm: Norm) -> float | None:
    """ROC AUC of minus the energy, or its Spearman correlation with gold scores.

    Without impostors, the mean reciprocal rank of the own partner among the first `_RANKED` ones. None if there are
    no rows to judge by.

    Args:
        vectors: (items, dim) of what the pairs are made of; asked for only if there is something to judge.
    """
    if len(pairs) < 2 or (np.ptp(pairs.impostor) == 0 and pairs.impostor[0] > 0):
        return None
    made = vectors()
    if np.ptp(pairs.impostor) == 0:
        pairs = pairs[:_RANKED]
        found = energies(made[pairs.left], made[pairs.right], norm)
        return float((1 / (found <= found.diag()[:, None]).sum(dim=1)).mean())
    found = energy(made[pairs.left], made[pairs.right], norm)
    if pairs.hard:
        return float(roc_auc_score(pairs.impostor, found))
    return score_of(-found.numpy(), -pairs.impostor, ScoreTarget(-1, 0))
