"""How alike two spaces are in which the same things have a vector each: row i of both is thing i.

The spaces may have different numbers of components, but for `token_cosine`. A measure is NaN where it is undefined.
"""

import numpy as np

from thawbench.tasks.isotropy import Doubles, Vectors, unit

_ROUNDING = 1e-12
_FEWEST = 4


def rsa(left: Vectors, right: Vectors) -> float:
    """Whether what is close in one is close in the other: the correlation of their similarities, from -1 to 1.

    Representational similarity analysis (Kriegeskorte, Mur and Bandettini, "Representational Similarity Analysis",
    Frontiers in Systems Neuroscience 2008), as Merchant, Rahimtoroghi, Pavlick and Tenney, "What Happens To BERT
    Embeddings During Fine-tuning?", BlackboxNLP 2020, take it: an (n, n) matrix of cosines for each space, and the
    Pearson correlation of the parts above the diagonals. A rotation of either space changes nothing.
    """
    rows = len(left)
    if rows < _FEWEST:
        return float("nan")
    above = np.triu_indices(rows, k=1)
    one, other = (_centred((unit(space) @ unit(space).T)[above]) for space in (left, right))
    return _cosine(one, other, len(one))


def token_cosine(left: Vectors, right: Vectors) -> float:
    """The mean cosine of row i of one and row i of the other, from -1 to 1; a rotation of one space changes it."""
    return float((unit(left) * unit(right)).sum(axis=1).mean()) if len(left) else float("nan")


def cka(left: Vectors, right: Vectors) -> float:
    """Linear centred kernel alignment without its bias: 1 for one space, 0 on average for two that are unrelated.

    Kornblith, Norouzi, Lee and Hinton, "Similarity of Neural Network Representations Revisited", ICML 2019, with the
    unbiased estimator of HSIC (Song, Smola, Gretton, Bedo and Borgwardt, "Feature Selection via Dependence
    Maximization", JMLR 2012, equation 4), which is the inner product of U-centred Gram matrices. The plain one is about
    d / (n + d) for n points in two unrelated spaces of d even directions: .43 for 1,000 points and 768 components.
    """
    if len(left) < _FEWEST:
        return float("nan")
    one, other = (_u_centred(np.asarray(space, dtype=np.float64)) for space in (left, right))
    return _cosine(one, other, one.size)


def _u_centred(vectors: Doubles) -> Doubles:
    """The Gram matrix (n, n) less its diagonal, so centred that what is off the diagonal is free of bias."""
    centred = vectors - vectors.mean(axis=0)  # this and the scale change nothing but the rounding
    gram = centred @ centred.T / ((vectors * vectors).mean() or 1.0)
    np.fill_diagonal(gram, 0.0)
    rows = len(gram)
    sums = gram.sum(axis=0) / (rows - 2)
    gram += sums.sum() / (rows - 1) - sums[:, None] - sums[None, :]
    np.fill_diagonal(gram, 0.0)
    return np.asarray(gram)


def _centred(values: Doubles) -> Doubles:
    return np.asarray(values - values.mean())


def _cosine(left: Doubles, right: Doubles, count: int) -> float:
    squares = float((left * left).sum()), float((right * right).sum())
    if min(squares) <= _ROUNDING**2 * count:
        return float("nan")
    return float((left * right).sum() / np.sqrt(squares[0] * squares[1]))
