"""Multiple negatives ranking: each text must find its own partner among those of the whole batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from thawbench.contracts import Seeds, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.energy import MNR_SCALE, energies, mnr_loss, upper_bound
from thawbench.strategies.pair_examples import anchored
from thawbench.strategies.pair_objective import PairConfig, PairLesson, PairStrategy


@dataclass(frozen=True)
class MnrConfig(PairConfig):
    """As the pair strategies'.

    Attributes:
        scale: of the cosines, 1 / temperature.
    """

    scale: float = MNR_SCALE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale <= 0:
            raise ValueError("scale must be positive")


def ranking_loss(anchors: Tensor, candidates: Tensor, scale: float) -> Tensor:
    """The mean over i of -log(exp(s cos(a_i, c_i)) / sum_j exp(s cos(a_i, c_j))).

    Henderson et al., "Efficient Natural Language Response Suggestion for Smart Reply", 2017, section 4.4, with the
    scaled cosine of sentence-transformers' MultipleNegativesRankingLoss.

    Args:
        anchors: (n, dim).
        candidates: (m, dim), the n positives in the anchors' order and then the hard negatives, of whomever.
    """
    return mnr_loss(energies(anchors, candidates, "cosine"), upper_bound("cosine", anchors.shape[1]), scale=scale)


@strategies.register("mnr")
class Mnr(PairStrategy):
    """Rank the genuine pairs of a set; contradictions of the same premise are candidates too.

    A batch holds no text twice, or a right answer would count as wrong.
    """

    version = 2
    Config: ClassVar[type[Any]] = MnrConfig
    config: MnrConfig

    def lesson(self, data: TrainSet, dim: int, seeds: Seeds) -> PairLesson:
        """Anchors and positives, and a hard negative where there is one."""

        def loss(columns: Sequence[Tensor], gold: Tensor) -> Tensor:
            return ranking_loss(columns[0], torch.cat(list(columns[1:])), self.config.scale)

        train, dev = anchored(data)
        return PairLesson(train, loss, dev, distinct=True)
