"""Vectors of what is to be classified: one matrix for each side, dense or sparse."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from thawbench.contracts import FloatArray, Input
from thawbench.errors import DegenerateError
from thawbench.tasks.pool import texts_of


class Encodes(Protocol):
    """An adaptation, or one layer of it."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors (texts, dim), dense or CSR."""
        ...


def side_vectors(encoder: Encodes, inputs: Sequence[Input]) -> list[Any]:
    """A matrix (inputs, dim) of texts, or two of pairs, float32, dense or CSR. Each text is encoded once.

    Raises:
        DegenerateError: some are not finite.
    """
    sides = list(zip(*map(texts_of, inputs), strict=True))
    place = {text: number for number, text in enumerate(dict.fromkeys(text for side in sides for text in side))}
    vectors = encoder.encode(list(place))
    if not np.isfinite(vectors.sum()):
        raise DegenerateError(f"the vectors of {len(place)} texts are not all finite")
    return [vectors[[place[text] for text in side]] for side in sides]


def product(left: Any, right: Any) -> Any:
    """Number by number."""
    return left.multiply(right) if sparse.issparse(left) else left * right


def stacked(parts: Sequence[Any], axis: int) -> Any:
    """The parts below (0) or beside (1) one another."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr") if axis == 0 else sparse.hstack(parts, format="csr")
    return np.concatenate(parts, axis=axis)
