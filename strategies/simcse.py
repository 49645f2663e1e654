"""A text is closest to itself: two readings that differ in dropout must find each other in the batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.label_contrast import similarities
from thawbench.strategies.trainable import Body
from thawbench.strategies.unlabelled import Text, TextObjective, TextStrategy, UnlabelledConfig


@dataclass(frozen=True)
class SimcseConfig(UnlabelledConfig):
    """As the paper trains, but for the length of it.

    Attributes:
        tau: the temperature; the greater, the less the hardest negatives count.
        dropout: all that tells the two readings apart.
    """

    batch_size: int = 64
    max_length: int = 32
    tau: float = 0.05
    dropout: float | None = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau <= 0:
            raise ValueError("tau must be positive")


def in_batch_softmax(left: Tensor, right: Tensor, tau: float) -> Tensor:
    """The mean over i of -log(exp(cos(l_i, r_i) / tau) / sum_j exp(cos(l_i, r_j) / tau)), of (n, dim) twice.

    Gao, Yao and Chen, "SimCSE", EMNLP 2021, eq. 1. Cosines are taken in float32 whatever the backbone computes in: over
    tau, rounding them to bfloat16 would be an error of up to 0.04 in a logit.
    """
    scores = similarities(left, right, l2_norm=True, tau=tau)
    return functional.cross_entropy(scores, torch.arange(len(left), device=left.device))


class TwoReadings(TextObjective):
    """Eq. 4 of the same: l and r are one text's vectors under two draws of dropout."""

    def __init__(self, body: Body, texts: Sequence[str], *, tau: float, batch_size: int, seed: int) -> None:
        super().__init__(body.encoder, body.module(), body.blocks(), texts, batch_size=batch_size, seed=seed)
        self._body, self._tau = body, tau

    def batch_loss(self, rows: Sequence[Text], rng: np.random.Generator) -> Tensor:
        """Each row of a batch has dropout of its own, so that one pass over all texts twice makes both readings."""
        ids = [row.tokens.ids for row in rows]
        left, right = self._body.forward([*ids, *ids]).chunk(2)
        return in_batch_softmax(left, right, self._tau)

    def dev_score(self) -> float | None:
        """With dropout as in training: without it a text's two vectors are one."""
        self.module.train()
        try:
            return super().dev_score()
        finally:
            self.module.eval()


@strategies.register("simcse")
class Simcse(TextStrategy):
    """Unsupervised SimCSE on the vectors that the start makes, pooled as they are.

    The paper trains [CLS], through a layer that it then throws away; here there is no such layer.
    """

    Config: ClassVar[type[Any]] = SimcseConfig
    config: SimcseConfig
    lr = 3e-5

    def objective(self, start: AdaptedEncoder, body: Body, texts: Sequence[str], seeds: Seeds) -> TwoReadings:
        """Two readings of each text."""
        config = self.config
        return TwoReadings(body, texts, tau=config.tau, batch_size=config.batch_size, seed=seeds.order)
