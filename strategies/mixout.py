"""Weights fall back to their start at random while they are trained, so that the network never goes far from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.trainable import Body, set_dropout


@dataclass(frozen=True)
class MixoutConfig(FinetuneConfig):
    """As `finetune`'s; `dropout` is the head's alone, since mixout takes its place in the encoder.

    Attributes:
        p: how likely an input's weights fall back; 0 is `finetune`, its dropout included.
    """

    p: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.p < 1:
            raise ValueError("p must be in [0, 1)")


@strategies.register("mixout")
class Mixout(Finetune):
    """`finetune` through u + m (w - u) / (1 - p), with u the start of a weight w, and m = 0 with probability p, else 1.

    Lee, Cho and Kang, "Mixout: Effective Regularization to Finetune Large-scale Pretrained Language Models", ICLR 2020,
    section 3; p as in the code of Zhang et al., ICLR 2021. m is drawn at every step for each input of each linear
    layer: all weights that go out from it fall back together, where dropout would set them to 0. The authors' code
    leaves 1 / (1 - p) out of the gradient; here the gradient is that of the loss.
    """

    Config: ClassVar[type[MixoutConfig]] = MixoutConfig
    config: MixoutConfig

    @contextmanager
    def in_training(self, body: Body, start: Body, seeds: Seeds, place: int) -> Iterator[Body]:
        """The body with mixing linear layers."""
        if not self.config.p:
            yield body
            return
        set_dropout(body.encoder.model, 0.0)
        trained = {name for block in body.blocks() for name in block.parameters}
        layers = {
            name: layer
            for name, layer in body.encoder.model.named_modules()
            if isinstance(layer, nn.Linear) and f"{name}.weight" in trained
        }
        for name, layer in layers.items():
            before = start.encoder.model.get_submodule(name)
            assert isinstance(before, nn.Linear)
            # unsafe: else it would be tried out here, and draw from a generator that nobody has seeded
            parametrize.register_parametrization(layer, "weight", Mixed(before.weight, self.config.p), unsafe=True)
        yield body
        for layer in layers.values():
            parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


class Mixed(nn.Module):
    """A weight (outputs, inputs) as the forward pass sees it: in training a mixture, drawn from torch's generator."""

    def __init__(self, start: Tensor, p: float) -> None:
        super().__init__()
        self._start = start.detach()
        self._p = p

    def forward(self, weight: Tensor) -> Tensor:
        if not self.training:
            return weight
        kept = torch.empty(weight.shape[1], device=weight.device).bernoulli_(1 - self._p)
        return self._start + kept * (weight - self._start) / (1 - self._p)
