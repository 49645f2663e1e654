"""Which rows make a batch: a seeded order, in which rows of like length come together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POOL = 8
"""Batches' worth of rows that are sorted by length together: the more, the less padding and the less chance."""


def bucketed(lengths: Sequence[int], batch_size: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Every row once, in batches of at most `batch_size`, and no two sizes more than one apart.

    The rows are shuffled and cut into pools; within a pool they are sorted by length and cut into batches, which are
    then shuffled. So a batch has little padding, and is another one in each epoch.

    Args:
        lengths: tokens of each row.
    """
    count = -(-len(lengths) // batch_size)
    if not count:
        return []
    order = rng.permutation(len(lengths))
    size = np.asarray(lengths)
    edges = np.linspace(0, len(order), count + 1).astype(np.intp)  # of the batches
    for start in range(0, count, POOL):
        pool = slice(edges[start], edges[min(start + POOL, count)])
        order[pool] = order[pool][np.argsort(size[order[pool]], kind="stable")]
    batches = np.split(order, edges[1:-1])
    return [batches[place] for place in rng.permutation(count)]
