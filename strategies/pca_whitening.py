"""Whitened vectors: in every direction the train set's texts have the same variance."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from thawbench.contracts import Adapt, Budget, FloatArray, Seeds, Signal, Similarity, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.pair_features import encode_once

_FLAT = 1e-6
"""A direction with less than this share of the greatest variance holds rounding errors, and is left out."""


@dataclass(frozen=True)
class PcaWhiteningConfig:
    """What to measure variance on, and how much of it to keep.

    Attributes:
        dim: components that are kept, those of the greatest variance; None, or more than there are, keeps all.
        texts: at most so many are encoded, evenly spaced over the set's.
    """

    dim: int | None = None
    texts: int = 10_000

    def __post_init__(self) -> None:
        if (self.dim is not None and self.dim < 1) or self.texts < 2:
            raise ValueError("dim must be at least 1 and texts at least 2")


@strategies.register("pca_whitening")
class PcaWhitening(BaseStrategy):
    """(x - mean) U L^(-1/2), with the covariance of the texts' vectors x being U L U', without any training.

    Su et al., "Whitening Sentence Representations for Better Semantics and Faster Retrieval", 2021, algorithm 1.
    """

    Config = PcaWhiteningConfig
    config: PcaWhiteningConfig
    consumes = frozenset({Signal.TEXTS})

    @property
    def similarity(self) -> Similarity:
        """As the paper compares."""
        return "cosine"

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Measure mean and covariance.

        Raises:
            NotApplicableError: no two different texts, or sparse vectors.
        """
        # each text once: its place in a batch changes the last bits, which would pass for variance
        found, (rows,) = encode_once(start, data.texts[:: -(-len(data.texts) // self.config.texts) or 1])
        vectors = found[rows]
        if sp.issparse(vectors):
            raise NotApplicableError("pca_whitening needs dense vectors under it (tfidf:svd=300 makes them)")
        if len(vectors) < 2 or not np.ptp(vectors, axis=0).any():
            raise NotApplicableError(f"{data.name} has no two texts with different vectors to measure variance on")
        exact = vectors.astype(np.float64)
        mean = exact.mean(axis=0)
        variance, directions = np.linalg.eigh(np.cov(exact, rowvar=False, bias=True).reshape(len(mean), -1))
        kept = np.flatnonzero(variance > _FLAT * variance[-1])[::-1][: self.config.dim]
        whitening = directions[:, kept] / np.sqrt(variance[kept])
        return Learned({"mean": mean.astype(np.float32), "whitening": whitening.astype(np.float32)})

    def transform(self, vectors: FloatArray, state: State) -> FloatArray:
        """(n, dim) to (n, kept)."""
        whitened: FloatArray = (vectors - state.tensors["mean"]) @ state.tensors["whitening"]
        return whitened
