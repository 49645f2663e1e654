"""Layer-wise learning-rate decay: the further below the head a layer lies, the more slowly it moves."""

from dataclasses import dataclass, replace
from typing import ClassVar

from thawbench.registry import strategies
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body


@dataclass(frozen=True)
class LlrdConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        factor: the rate of a layer over that of the one above; 1 is `finetune`.
    """

    factor: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.factor <= 1:
            raise ValueError("factor must be above 0 and at most 1")


@strategies.register("llrd")
class Llrd(Finetune):
    """`finetune` with the rate lr * factor^d, d = 1 for the top layer, and L + 1 for the embeddings under L layers.

    Howard and Ruder, "Universal Language Model Fine-tuning", ACL 2018, section 3.2, for BERT as in Zhang et al.,
    "Revisiting Few-sample BERT Fine-tuning", ICLR 2021, whose factor is the default. The head, and networks that
    earlier steps put on the encoder, have the full rate; what all layers share has that of the top one.
    """

    Config: ClassVar[type[LlrdConfig]] = LlrdConfig
    config: LlrdConfig

    def blocks(self, body: Body) -> list[Block]:
        """All, each at its rate."""
        return [replace(block, lr_scale=self.config.factor ** _steps_down(block.name, body)) for block in body.blocks()]


def _steps_down(block: str, body: Body) -> int:
    """How many steps below the head."""
    kind, _, place = block.partition(".")
    below = {"map": 0, "other": 1, "embeddings": body.depth + 1}
    return body.depth - int(place) if kind == "layer" else below[kind]
