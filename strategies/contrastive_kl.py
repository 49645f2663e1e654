"""The contrastive tuning of the diary that this benchmark began from, where it "does not work at all"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from thawbench.registry import strategies
from thawbench.strategies.batching import bucketed
from thawbench.strategies.contrast_training import ContrastConfig, ContrastStrategy, Rows
from thawbench.strategies.label_contrast import class_divergence


@dataclass(frozen=True)
class ContrastiveKlConfig(ContrastConfig):
    """The diary's loss by default; three switches lead from it to `scl`'s, which is the same but for a constant.

    Attributes:
        l2_norm: compare by cosine, and not by dot product.
        exclude_self: a row is no positive of itself.
        tau: the temperature that similarities are divided by.
    """

    l2_norm: bool = False
    exclude_self: bool = False
    tau: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau <= 0:
            raise ValueError("tau must be positive")


@strategies.register("contrastive_kl")
class ContrastiveKl(ContrastStrategy):
    """Tune by KL(T || softmax(E E')), row by row: E a batch of vectors, T = Y Y' with rows that sum to 1.

    With vectors as they are, a row's product with itself is far above all others, so that the softmax begins at
    certainty where T is spread over a class.
    """

    Config: ClassVar[type[ContrastiveKlConfig]] = ContrastiveKlConfig
    config: ContrastiveKlConfig

    def loss(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """See `class_divergence`."""
        config = self.config
        return class_divergence(
            vectors, classes, exclude_self=config.exclude_self, l2_norm=config.l2_norm, tau=config.tau
        )

    def draw(self, lengths: Sequence[int], classes: Rows, rng: np.random.Generator) -> list[Rows]:
        """Rows of like length, as `finetune` draws them."""
        return bucketed(lengths, self.config.batch_size, rng)
