"""Which rows make a batch: a seeded order, in which rows of like length come together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MOST = 50
_LEAST_POOLS = 4
"""Rows are sorted by length in pools: the larger, the less padding and the less chance. With few rows chance counts."""


def bucketed(lengths: Sequence[int], batch_size: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Every row once, in batches of at most `batch_size`, and no two sizes more than one apart.

    The rows are shuffled and cut into pools, four an epoch or more, of at most 50 batches. Within a pool they are
    sorted by length and cut into batches, which are then shuffled. So a batch has little padding, and is another one in
    each epoch.

    Args:
        lengths: tokens of each row.
    """
    count = -(-len(lengths) // batch_size)
    if not count:
        return []
    order = rng.permutation(len(lengths))
    size = np.asarray(lengths)
    edges = np.linspace(0, len(order), count + 1).astype(np.intp)  # of the batches
    size_of_pool = min(_MOST, max(1, count // _LEAST_POOLS))
    for start in range(0, count, size_of_pool):
        pool = slice(edges[start], edges[min(start + size_of_pool, count)])
        order[pool] = order[pool][np.argsort(size[order[pool]], kind="stable")]
    batches = np.split(order, edges[1:-1])
    return [batches[place] for place in rng.permutation(count)]
