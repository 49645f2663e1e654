"""A second loss beside cross-entropy: rows of one class shall be alike before the head sees them."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from thawbench.contracts import Target
from thawbench.registry import strategies
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.label_contrast import one_each, supervised_contrast


@dataclass(frozen=True)
class SclConfig(FinetuneConfig):
    """As `finetune`'s; weight and temperature are the paper's for few rows.

    Attributes:
        weight: lambda, the share of the contrastive loss; 0 is `finetune`.
        tau: the temperature; the lower, the more the nearest rows count.
    """

    weight: float = 0.9
    tau: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight < 1 or self.tau <= 0:
            raise ValueError("weight must be in [0, 1), as at 1 nothing teaches the head, and tau positive")


@strategies.register("scl")
class Scl(Finetune):
    """`finetune` by (1 - lambda) CE + lambda SCL, where CE is a mean over the batch, and SCL a sum over it.

    Gunel et al., "Supervised Contrastive Learning for Pre-trained Language Model Fine-tuning", ICLR 2021, eqs. 1 to 3.
    SCL compares what the head reads: a text's or a joint pair's vector, [u; v; |u-v|; u*v] for a siamese pair. The
    paper reads [CLS]; here the backbone's pooling says. Batches are `finetune`'s, as the paper has no sampler either.
    """

    Config: ClassVar[type[SclConfig]] = SclConfig
    config: SclConfig
    classes_only = "so no two rows are of one class"

    def loss(self, head: Classifier, target: Target, answers: Answers) -> Tensor:
        """(1 - lambda) CE + lambda SCL."""
        vectors = one_each(answers.vectors, len(answers.rows), l2_norm=True)
        contrast = supervised_contrast(vectors, answers.gold, tau=self.config.tau)
        return (1 - self.config.weight) * super().loss(head, target, answers) + self.config.weight * contrast
