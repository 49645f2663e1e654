"""How far an encoder's states have moved from where they began, layer by layer."""

from collections.abc import Sequence

import numpy as np

from thawbench.contracts import Adapted, FloatArray, Input
from thawbench.tasks.isotropy import Doubles, unit
from thawbench.tasks.pool import texts_of, unique


def layer_drift(trail: Sequence[Adapted], texts: Sequence[str]) -> list[Doubles]:
    """For each state after the first, by layer: the mean over all tokens of the cosine between it at first and then.

    1 is where nothing has moved, or only in length. Layer 0 is what goes into the first block. Where one of the two has
    fewer layers, those that it has are compared from the bottom up.

    Args:
        trail: encoders with layers, which cut texts into the same tokens.
        texts: read by each of them once; one at least.
    """
    sums: list[list[Doubles]] = [[] for _ in trail[1:]]
    tokens = 0
    for first, *others in zip(*(adapted.hidden_states(texts) for adapted in trail), strict=True):
        tokens += first.states.shape[1]
        for found, other in zip(sums, others, strict=True):
            layers = min(len(first.states), len(other.states))
            found.append(_cosines(first.states[:layers], other.states[:layers]).sum(axis=1))
    return [np.sum(found, axis=0) / tokens for found in sums]


def spread(inputs: Sequence[Input], count: int) -> tuple[str, ...]:
    """The different texts of `count` inputs at even distances, of all if there are fewer; a pair has two."""
    step = max(1, len(inputs) // count)
    chosen = inputs[::step][:count]
    return unique(text for item in chosen for text in texts_of(item))


def _cosines(left: FloatArray, right: FloatArray) -> Doubles:
    """(layers, tokens) of states (layers, tokens, dim); that of a zero state is 0."""
    cosines: Doubles = (unit(left) * unit(right)).sum(axis=-1)
    return cosines
