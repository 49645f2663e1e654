"""How two sets of vectors compare: cosine, dot, and the negated L1 and L2 distances, on dense or sparse (CSR) vectors.

Greater is closer. A zero vector has cosine 0 with everything, itself included, so nothing here is ever NaN for finite
vectors.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from thawbench.contracts import FloatArray, Similarity

_BLOCK = 2**22
"""Numbers of the float64 matrix of distances that are held at a time (32 MiB)."""


def full(kind: Similarity, left: Any, right: Any) -> FloatArray:
    """All similarities of `left` (n, dim) and `right` (m, dim), dense or CSR: float32 (n, m).

    Distances are taken a block of rows at a time: beside the result there is never more than a few blocks' memory.
    """
    left, right = _alike(left, right)
    if kind == "cosine":
        return _product(normalised(left), normalised(right))
    if kind == "dot":
        return _product(left, right)
    result = np.empty((left.shape[0], right.shape[0]), dtype=np.float32)
    step = max(1, _BLOCK // max(1, right.shape[0]))
    for start in range(0, left.shape[0], step):
        result[start : start + step] = -_distances(kind, left[start : start + step], right)
    return result


def pairwise(kind: Similarity, left: Any, right: Any) -> FloatArray:
    """The similarity of row i of `left` and row i of `right`, each (n, dim), dense or CSR: float32 (n,)."""
    left, right = _alike(left, right)
    if kind == "cosine":
        left, right = normalised(left), normalised(right)
    if kind in ("cosine", "dot"):
        return _row_sums(_times(left, right))
    difference = left - right
    if kind == "neg_l1":
        return -_row_sums(abs(difference))
    return -np.sqrt(_row_sums(_times(difference, difference)))


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    if sparse.issparse(left) or sparse.issparse(right):
        return sparse.csr_array(left), sparse.csr_array(right)
    # mteb passes single vectors without their first axis here and there
    return np.atleast_2d(np.asarray(left, dtype=np.float32)), np.atleast_2d(np.asarray(right, dtype=np.float32))


def _times(left: Any, right: Any) -> Any:
    return left.multiply(right) if sparse.issparse(left) else left * right


def _row_sums(matrix: Any) -> FloatArray:
    return np.asarray(matrix.sum(axis=1)).ravel().astype(np.float32)


def _product(left: Any, right: Any) -> FloatArray:
    product = left @ right.T
    return np.asarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float32)


def normalised(vectors: Any) -> Any:
    """Rows (n, dim) at length 1, dense or CSR; a zero row stays one."""
    lengths = np.sqrt(_row_sums(_times(vectors, vectors)))
    lengths[lengths == 0] = 1.0
    if sparse.issparse(vectors):
        return sparse.csr_array(sparse.diags_array(1 / lengths) @ vectors)
    return vectors / lengths[:, None]


def _distances(kind: Similarity, left: Any, right: Any) -> Any:
    if not sparse.issparse(left):
        return cdist(left, right, "cityblock" if kind == "neg_l1" else "euclidean")
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances  # only sparse vectors need it

    return manhattan_distances(left, right) if kind == "neg_l1" else euclidean_distances(left, right)
