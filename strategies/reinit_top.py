"""The top layers, which know their pretraining task best, begin anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body


@dataclass(frozen=True)
class ReinitTopConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        k: how many layers; 0 is `finetune`. The source's best by dev were 1 to 6 of 24.
    """

    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 0:
            raise ValueError("k must not be negative")


@strategies.register("reinit_top")
class ReinitTop(Finetune):
    """Draw the `k` top layers' weights again, from the `init` seed, then `finetune`. In a row it does so at every step.

    Zhang et al., "Revisiting Few-sample BERT Fine-tuning", ICLR 2021, section 5: matrices from N(0, s^2), s as in the
    model's configuration (.02 for BERT), biases 0, the weights of norms 1. The pooler, which they draw again too, makes
    none of our vectors.
    """

    Config: ClassVar[type[ReinitTopConfig]] = ReinitTopConfig
    config: ReinitTopConfig

    @contextmanager
    def in_training(self, body: Body, start: Body, seeds: Seeds, place: int) -> Iterator[Body]:
        """The body with its new top, which stays.

        Raises:
            UserError, NotApplicableError: see `Body.check_layers`.
        """
        body.check_layers(self.config.k)
        top = {f"layer.{layer}" for layer in range(body.depth - self.config.k, body.depth)}
        deviation = float(getattr(body.encoder.model.config, "initializer_range", 0.02))
        with torch.no_grad(), seeded(seeds.init, "reinit_top", place):
            for block in body.blocks():
                for name, weight in block.parameters.items() if block.name in top else ():
                    if weight.ndim > 1:
                        nn.init.normal_(weight, std=deviation)
                    else:
                        nn.init.constant_(weight, 0.0 if name.endswith("bias") else 1.0)
        yield body
