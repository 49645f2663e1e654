"""A control: one vector for every text, which must come out as degenerate, and never as a score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thawbench.contracts import FloatArray, State
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy
from thawbench.strategies.sources import LayerlessSource, digest


@dataclass(frozen=True)
class ConstantSource(LayerlessSource):
    """Ones."""

    dim: int

    @property
    def key(self) -> str:
        return digest("constant", self.dim)

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        return np.ones((len(texts), self.dim), np.float32)


@dataclass(frozen=True)
class ConstantConfig:
    """How wide the vectors are."""

    dim: int = 8

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise ValueError("dim must be at least 1")


@strategies.register("constant")
class Constant(BaseStrategy):
    """What a collapsed encoder looks like."""

    Config = ConstantConfig
    config: ConstantConfig
    control = True

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        return ConstantSource(self.config.dim)
