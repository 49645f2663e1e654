"""How vectors fill their space: whether they point one way, what their context adds, how many directions they use.

Every measure reads rows of vectors (n, dim), takes a zero vector to have cosine 0 with everything, and is NaN where it
is undefined, so that a curve has a gap there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

_FLAT = 1e-10
"""The share of its squared lengths below which a spread is rounding: the vectors are one and the same."""


def unit(vectors: Vectors) -> Doubles:
    """The vectors (..., dim) at length 1; a zero vector stays one."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.where(lengths == 0, 1.0, lengths))


def mean_cosine(vectors: Vectors) -> float:
    """The mean cosine of two different rows, over all pairs: the squared length of a sum holds them all.

    Over words drawn from different texts this is the anisotropy of a layer, the baseline of Ethayarajh, "How Contextual
    are Contextualized Word Representations?", EMNLP 2019, section 3.4.
    """
    rows = unit(vectors)
    if len(rows) < 2:
        return float("nan")
    total = rows.sum(axis=0)
    return float((total @ total - (rows * rows).sum()) / (len(rows) * (len(rows) - 1)))


def self_similarity(words: Iterable[Vectors]) -> float:
    """The mean over words of the mean cosine between occurrences of one word (Ethayarajh 2019, definition 1).

    Args:
        words: each word's occurrences in different texts, two or more.
    """
    return defined_mean(map(mean_cosine, words))


def intra_similarity(words: Vectors) -> float:
    """The mean cosine of a text's words and the mean of them (Ethayarajh 2019, definition 2); 1 for one word."""
    return float((unit(words) @ unit(words.mean(axis=0))).mean()) if len(words) else float("nan")


def explainable_variance(vectors: Vectors) -> float:
    """The share of their variance that lies along the first principal component (Ethayarajh 2019, definition 3).

    The rows are centred, for words and baseline alike; the published code centres the one and not the other.
    Undefined for rows that are one and the same. Of n rows the share is 1/(n-1) at the least, so that it may only be
    set beside that of as many others: see `chance_variance`.
    """
    wide = np.asarray(vectors, dtype=np.float64)
    centred = wide - wide.mean(axis=0)
    gram = centred @ centred.T
    total = np.trace(gram)
    if total <= _FLAT * (wide * wide).sum():
        return float("nan")
    return float(np.linalg.eigvalsh(gram)[-1] / total)


def chance_variance(sample: Vectors, sizes: Sequence[int]) -> float:
    """What `explainable_variance` would be if words were drawn at random: the mean over sizes of that of so many rows.

    Args:
        sample: words of different texts; each block of rows of one size is taken once.
        sizes: how often each word occurs.
    """
    by_size = {
        size: defined_mean(
            explainable_variance(sample[start : start + size]) for start in range(0, len(sample) - size + 1, size)
        )
        for size in set(sizes)
    }
    return defined_mean(by_size[size] for size in sizes)


def isoscore(covariance: Vectors) -> float:
    """The share of the directions that variance fills evenly: 1 on a sphere, 0 on a line.

    Rudman, Gillman, Rayne and Eickhoff, "IsoScore: Measuring the Uniformity of Embedding Space Utilization", Findings
    of ACL 2022, algorithm 1. With the variances v along the principal components its steps come down to
    ((sum v)^2 / sum v^2 - 1) / (dim - 1), which needs no components: the sums are those of a trace and of squared
    entries.

    Args:
        covariance: (dim, dim), up to a factor. That of few rows is uneven by chance; take many times `dim`.
    """
    squares, dim = float((covariance * covariance).sum()), len(covariance)
    if squares == 0 or dim == 1:
        return float("nan")
    return float((np.trace(covariance) ** 2 / squares - 1) / (dim - 1))


def alignment(left: Vectors, right: Vectors) -> float:
    """The mean squared distance of row i of `left` and row i of `right` at length 1, from 0 to 4; lower is closer.

    Wang and Isola, "Understanding Contrastive Representation Learning through Alignment and Uniformity on the
    Hypersphere", ICML 2020, with alpha = 2.
    """
    if not len(left):
        return float("nan")
    difference = unit(left) - unit(right)
    return float((difference * difference).sum(axis=1).mean())


def uniformity(vectors: Vectors) -> float:
    """The logarithm of the mean of exp(-2 d^2) over pairs of rows at length 1, d their distance; lower is more even.

    Wang and Isola 2020, with t = 2; from -8, which only two opposite points reach, to 0, where all points are one.
    """
    rows = unit(vectors)
    if len(rows) < 2:
        return float("nan")
    squared = (rows * rows).sum(axis=1)
    distances = squared[:, None] + squared[None, :] - 2 * rows @ rows.T
    upper = distances[np.triu_indices(len(rows), k=1)]
    return float(np.log(np.exp(-2 * np.maximum(upper, 0)).mean()))


def defined_mean(values: Iterable[float]) -> float:
    """The mean of those that are not NaN; NaN if there is none."""
    found = [value for value in values if not np.isnan(value)]
    return float(np.mean(found)) if found else float("nan")


class Covariance:
    """The covariance of rows that come a block at a time, of several spaces at once; no row is kept.

    Attributes:
        rows: how many there were.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._mean: Any = 0.0
        self._scatter: Any = 0.0

    def add(self, block: Vectors) -> None:
        """Take in rows (spaces, rows, dim), centred on their own mean, so that what is common to all costs no digits.

        Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
        """
        added = block.shape[1]
        if not added:
            return
        mean = block.mean(axis=1, dtype=np.float64)
        centred = block - mean[:, None].astype(block.dtype)
        step = mean - self._mean
        total = self.rows + added
        self._scatter = self._scatter + np.matmul(centred.swapaxes(1, 2), centred)
        self._scatter += self.rows * added / total * step[:, :, None] * step[:, None, :]
        self._mean = self._mean + added / total * step
        self.rows = total

    def matrices(self) -> Doubles:
        """(spaces, dim, dim), the sums divided by the number of rows; two rows at the least."""
        return np.asarray(self._scatter / self.rows, dtype=np.float64)
