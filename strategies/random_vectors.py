"""A control: vectors that know nothing but whether two texts are the same."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thawbench.contracts import Adapt, Budget, FloatArray, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.sources import LayerlessSource, digest


@dataclass(frozen=True)
class RandomSource(LayerlessSource):
    """A standard normal vector per text, drawn from SHA-256 of the seed and the text."""

    seed: int
    dim: int

    @property
    def key(self) -> str:
        return digest("random_vectors", self.seed, self.dim)

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        drawn = np.empty((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            # surrogatepass: a lone surrogate is an odd text, and yet a text
            hashed = hashlib.sha256(f"{self.seed}\n{text}".encode("utf-8", "surrogatepass")).digest()
            drawn[row] = np.random.default_rng(int.from_bytes(hashed, "big")).standard_normal(self.dim)
        return drawn


@dataclass(frozen=True)
class RandomVectorsConfig:
    """How wide the vectors are."""

    dim: int = 384

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise ValueError("dim must be at least 1")


@strategies.register("random_vectors")
class RandomVectors(BaseStrategy):
    """Same text, same vector; all else is chance."""

    Config = RandomVectorsConfig
    config: RandomVectorsConfig
    draws = frozenset({"init"})
    control = True

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        return Learned(values={"seed": seeds.init})

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        seed = state.values["seed"]
        assert isinstance(seed, int)
        return RandomSource(seed, self.config.dim)
