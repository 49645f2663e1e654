"""Vectors of what is to be classified: a text's own, or [u; v; |u-v|; u*v] for a pair of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from thawbench.contracts import Adapted, Input
from thawbench.errors import NotApplicableError


def item_features(encoder: Adapted, inputs: Sequence[Input], *, normalised: bool = True) -> Any:
    """One row per input: (n, dim) for texts, (n, 4 dim) for pairs; CSR where the encoder gives CSR.

    Every distinct text is encoded once.

    Args:
        normalised: texts' vectors of length 1. A pair's are so in any case: the product and the difference of two
            vectors mean nothing while their lengths differ.

    Raises:
        NotApplicableError: texts and pairs in one list.
    """
    if not are_pairs(inputs):
        vectors, (rows,) = encode_once(encoder, [item for item in inputs if isinstance(item, str)])
        return normalize(vectors[rows]) if normalised and len(inputs) else vectors[rows]
    pairs = [item for item in inputs if not isinstance(item, str)]
    vectors, (left, right) = encode_once(encoder, [a for a, _ in pairs], [b for _, b in pairs])
    unit = normalize(vectors)
    return pair_features(unit[left], unit[right])


def are_pairs(inputs: Sequence[Input]) -> bool:
    """Whether the inputs are pairs of texts; an empty list counts as texts.

    Raises:
        NotApplicableError: some are and some are not.
    """
    kinds = {isinstance(item, str) for item in inputs}
    if len(kinds) == 2:
        raise NotApplicableError(
            "single texts and pairs of texts in one train set; it must be all the one or the other"
        )
    return kinds == {False}


def encode_once(encoder: Adapted, *lists: Sequence[str]) -> tuple[Any, list[Any]]:
    """Vectors of the distinct texts in order of first appearance, and each list as rows of them."""
    place: dict[str, int] = {}
    rows = [np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.intp) for texts in lists]
    return encoder.encode(list(place)), rows


def pair_features(left: Any, right: Any) -> Any:
    """[u; v; |u-v|; u*v] by row: (n, dim) twice to (n, 4 dim), dense or CSR like its inputs."""
    if sp.issparse(left):
        return sp.hstack([left, right, abs(left - right), left.multiply(right)], format="csr")
    return np.concatenate([left, right, np.abs(left - right), left * right], axis=1)
