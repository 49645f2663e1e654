"""A low-rank change of the attention's projections is learnt, and added to them in the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import nn

from thawbench.contracts import Seeds
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.finetune import RECIPES, Finetune, FinetuneConfig
from thawbench.strategies.optimizer import Block
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body

_PROJECTIONS = frozenset(["query", "value", "query_proj", "value_proj", "q_lin", "v_lin", "q", "v", "Wqkv"])
"""What BERT and its family call the layers that make queries and values."""


@dataclass(frozen=True)
class LoraConfig(FinetuneConfig):
    """As `finetune`'s; without `lr` and a choice of `thawbench tune` it takes 2e-3.

    Attributes:
        r: the rank of the change.
        alpha: the change is scaled by alpha / r.
    """

    r: int = 8
    alpha: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.r, self.alpha) < 1:
            raise ValueError("r and alpha must be at least 1")


@strategies.register("lora")
class Lora(Finetune):
    """`finetune` of A and B in W + alpha / r B A, for queries and values, and of the head; W itself stays.

    Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022, section 4.1, through the library peft,
    with the r and alpha that they give RoBERTa-base, at four times their rate: theirs, 5e-4, is for thousands of steps
    (sst2@100, 60 steps, all-MiniLM-L6-v2: it ends at a train loss of .39, and 2e-3 at .01). A is drawn from the `init`
    seed, B begins at 0. The state holds the sums, so that a later step finds an encoder like any other.
    """

    recipes: ClassVar = {**RECIPES, "default": replace(RECIPES["default"], lr=2e-3)}
    tuned_as = ""  # its rates are of another size
    Config: ClassVar[type[LoraConfig]] = LoraConfig
    config: LoraConfig

    @contextmanager
    def in_training(self, body: Body, start: Body, seeds: Seeds, place: int) -> Iterator[Body]:
        """The body with A and B beside each projection.

        Raises:
            NotApplicableError: none of its layers is known as a projection.
        """
        import peft  # it takes seconds, and the list of strategies must not wait for it

        model = body.encoder.model
        trained = {name for block in body.blocks() for name in block.parameters}
        found = [
            name
            for name, layer in model.named_modules()
            if isinstance(layer, nn.Linear) and name.split(".")[-1] in _PROJECTIONS and f"{name}.weight" in trained
        ]
        if not found:
            raise NotApplicableError(f"backbone {body.encoder.info.name} has no linear query and value projections")
        asked = peft.LoraConfig(r=self.config.r, lora_alpha=self.config.alpha, target_modules=found)
        with seeded(seeds.init, "lora", place):
            tuner = peft.LoraModel(model, asked, "default")
        yield body
        tuner.merge_and_unload()

    def blocks(self, body: Body) -> list[Block]:
        """The A and B of each layer."""
        return [
            replace(block, parameters={name: w for name, w in block.parameters.items() if ".lora_" in name})
            for block in body.blocks()
        ]
