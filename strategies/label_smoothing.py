"""Targets that are a little less sure of themselves."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from thawbench.contracts import Target
from thawbench.registry import strategies
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.finetune import Finetune, FinetuneConfig


@dataclass(frozen=True)
class LabelSmoothingConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        smoothing: the share of a target that is spread over all classes; 0 is `finetune`.
    """

    smoothing: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.smoothing < 1:
            raise ValueError("smoothing must be in [0, 1)")


@strategies.register("label_smoothing")
class LabelSmoothing(Finetune):
    """`finetune` towards q'(k) = (1 - e) [k = y] + e / K, where e is the smoothing and K the number of classes.

    Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016, section 7, with their e.
    """

    Config: ClassVar[type[LabelSmoothingConfig]] = LabelSmoothingConfig
    config: LabelSmoothingConfig
    classes_only = "and only a class can be less sure"

    def loss(self, head: Classifier, target: Target, answers: Answers) -> Tensor:
        """Cross-entropy towards q'."""
        return functional.cross_entropy(answers.logits, answers.gold, label_smoothing=self.config.smoothing)
