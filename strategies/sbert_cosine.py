"""Regression: the cosine of two texts must be their gold score."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from torch.nn import functional

from thawbench.contracts import Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.pair_examples import Example, related_pairs
from thawbench.strategies.pair_objective import PairConfig, PairLesson, PairStrategy
from thawbench.strategies.pair_sampling import impostor_weights


@dataclass(frozen=True)
class SbertCosineConfig(PairConfig):
    """As the pair strategies', with the four epochs that the paper trains on STSb."""

    epochs: int = 4


def cosine_regression(left: Tensor, right: Tensor, gold: Tensor) -> Tensor:
    """The mean of (cos(u, v) - gold)^2 over rows of (n, dim) twice.

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019, section 3, "Regression Objective Function".
    """
    return functional.mse_loss(functional.cosine_similarity(left, right), gold)


@strategies.register("sbert_cosine")
class SbertCosine(PairStrategy):
    """Scores run from 0 to 1 over their range, as the paper has STSb's from 0 to 5.

    The paper has no relations here. An entailment counts 1 and a contradiction 0, as in `frozen_ebm`; neutral pairs,
    which may be near or far, are left out.
    """

    Config: ClassVar[type[Any]] = SbertCosineConfig
    config: SbertCosineConfig

    def lesson(self, data: TrainSet, dim: int, seeds: Seeds) -> PairLesson:
        """Each usable pair with its score."""
        pairs, impostor = impostor_weights(related_pairs(data), data.target)
        if len(pairs) < 2 or np.ptp(impostor) == 0:
            raise NotApplicableError(
                f"{data.name} has no pairs of different scores, nor entailments and contradictions, to fit cosines to"
            )
        examples = [
            Example((pair.a, pair.b), 1 - weight) for pair, weight in zip(pairs, impostor.tolist(), strict=True)
        ]
        return PairLesson(examples, lambda columns, gold: cosine_regression(columns[0], columns[1], gold))
