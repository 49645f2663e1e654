"""Which pairs a contrastive objective sees, and in which order.

Pairs come out alternating, genuine, impostor, genuine, …, wherever both kinds are hard, so that every even batch
is balanced without a word about batches here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Pair, ScoreTarget, Target
from thawbench.errors import NotApplicableError

Places = NDArray[np.intp]

LABEL_EPOCH = 2048
"""The fewest pairs that an epoch draws from labelled rows: 20 rows make 380 pairs, and are soon told apart."""

GENUINE_ENOUGH = 0.2
"""The impostor weight up to which a scored pair counts as genuine: the top fifth of the range."""


@dataclass(frozen=True)
class PairRows:
    """Pairs of items by their places in a table.

    Attributes:
        left, right: (n,) places.
        impostor: (n,) weights: 0 genuine, 1 impostor, between them for a gold score.
    """

    left: Places
    right: Places
    impostor: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: slice | NDArray[Any]) -> "PairRows":
        return PairRows(self.left[rows], self.right[rows], self.impostor[rows])

    @property
    def hard(self) -> bool:
        """Whether every pair is the one kind or the other."""
        return bool(np.isin(self.impostor, (0.0, 1.0)).all())

    @property
    def genuine_enough(self) -> "PairRows":
        """The genuine pairs; of scored ones, those in the top fifth of the range."""
        return self[self.impostor <= GENUINE_ENOUGH]


def impostor_weights(pairs: Sequence[Pair], target: Target | None) -> tuple[list[Pair], NDArray[np.float64]]:
    """The usable pairs and their weights.

    Entailment is genuine, contradiction impostor, neutral says nothing and is left out; a score runs from 1 at the
    low end of its range to 0 at the high one; a pair with neither is genuine.

    Raises:
        NotApplicableError: a score whose range the train set does not give.
    """
    weights: dict[str | None, float] = {"entailment": 0.0, "contradiction": 1.0, None: 0.0}
    kept, found = [], []
    for pair in pairs:
        if pair.score is not None:
            if not isinstance(target, ScoreTarget):
                raise NotApplicableError("pairs with scores in a train set that gives no range of scores")
            found.append((target.high - pair.score) / (target.high - target.low))
        elif pair.relation in weights:
            found.append(weights[pair.relation])
        else:
            continue
        kept.append(pair)
    return kept, np.array(found, dtype=np.float64)


def shuffled(pairs: PairRows, draw: np.random.Generator) -> PairRows:
    """One epoch over given pairs. Where both kinds are there and hard, they alternate, the rarer one repeated."""
    genuine, impostor = (np.flatnonzero(pairs.impostor == kind) for kind in (0.0, 1.0))
    if not pairs.hard or not len(genuine) or not len(impostor):
        return pairs[draw.permutation(len(pairs))]
    length = max(len(genuine), len(impostor))
    return pairs[np.stack([_cycled(genuine, length, draw), _cycled(impostor, length, draw)], axis=1).ravel()]


def drawn_from_classes(classes: Places, draw: np.random.Generator, *, genuine_only: bool = False) -> PairRows:
    """One epoch of pairs of labelled items: same class is genuine; every item is an anchor of each kind.

    Args:
        classes: (items,) the class of each item.

    Raises:
        NotApplicableError: no class has two rows, or (unless `genuine_only`) all rows are of one class.
    """
    order = np.argsort(classes, kind="stable")  # from here on, a class is a stretch
    _, start, stretch, size = np.unique(classes[order], return_index=True, return_inverse=True, return_counts=True)
    first, width = start[stretch], size[stretch]
    length = max(len(classes), LABEL_EPOCH // 2)
    if not (width > 1).any():
        raise NotApplicableError("no class has two rows, so there is no genuine pair")
    anchor = _cycled(np.flatnonzero(width > 1), length, draw)
    # a step of 1 … width - 1 around its own stretch never ends where it began
    place = anchor - first[anchor]
    partner = first[anchor] + (place + draw.integers(1, width[anchor])) % width[anchor]
    genuine = PairRows(order[anchor], order[partner], np.zeros(length))
    if genuine_only:
        return genuine
    if len(size) < 2:
        raise NotApplicableError("all rows are of one class, so there is no impostor pair")
    anchor = _cycled(np.arange(len(classes)), length, draw)
    # a step around everything that is not its own stretch
    others = len(classes) - width[anchor]
    partner = (first[anchor] + width[anchor] + draw.integers(0, others)) % len(classes)
    impostor = PairRows(order[anchor], order[partner], np.ones(length))
    left, right, weight = (
        np.stack([getattr(genuine, name), getattr(impostor, name)], axis=1).ravel()
        for name in ("left", "right", "impostor")
    )
    return PairRows(left, right, weight)


def also_genuine(pairs: PairRows, classes: Places | None) -> NDArray[np.bool_]:
    """(n, n): which other candidates, `right[j]`, would be as right for `left[i]` as its own partner is.

    The same text again, a partner of the same anchor, the anchor itself; or, by labels, anything of its class.
    """
    left, right = pairs.left[:, None], pairs.right[None, :]
    if classes is not None:
        same: NDArray[np.bool_] = classes[left] == classes[right]
        return same
    equal: NDArray[np.bool_] = (pairs.right[:, None] == right) | (left == pairs.left[None, :]) | (left == right)
    return equal


def _cycled(places: Places, length: int, draw: np.random.Generator) -> Places:
    """`length` of the places, each round in an order of its own."""
    rounds = -(-length // len(places))
    return np.concatenate([draw.permutation(places) for _ in range(rounds)])[:length]
