"""One partner among a batch of them: an anchor must find the row of its own class among rows of other classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from thawbench.registry import strategies
from thawbench.strategies.contrast_training import ContrastConfig, ContrastStrategy, Rows, pairs_from_classes
from thawbench.strategies.label_contrast import in_batch_cross_entropy


@dataclass(frozen=True)
class InbatchCeConfig(ContrastConfig):
    """As the source has it: no temperature. It does not say which similarity; its figures show cosines.

    Attributes:
        batch_size: anchors, each with a partner.
        tau: the temperature that similarities are divided by.
    """

    tau: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau <= 0:
            raise ValueError("tau must be positive")


@strategies.register("inbatch_ce")
class InbatchCe(ContrastStrategy):
    """Tune by L = -sum_ij t_ij log( exp(s_ij) / sum_j exp(s_ij) ), t one-hot, on pairs drawn from the classes.

    The loss is from course slides on contrastive learning against anisotropy (their last equality, -sum_ij t_ij s_ij,
    loses the denominator, and is not used). There a pair is given; here an anchor gets a partner of its class, and
    other partners of that class are left out of the sum in the denominator, because they are no negatives.
    """

    Config: ClassVar[type[InbatchCeConfig]] = InbatchCeConfig
    config: InbatchCeConfig

    def loss(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """See `in_batch_cross_entropy`."""
        return in_batch_cross_entropy(vectors, classes, l2_norm=self.config.l2_norm, tau=self.config.tau)

    def draw(self, lengths: Sequence[int], classes: Rows, rng: np.random.Generator) -> list[Rows]:
        """Every row as an anchor, as often as any other."""
        return pairs_from_classes(classes, self.config.batch_size, rng, genuine_only=True)
