"""Only the biases move."""

from dataclasses import replace
from typing import ClassVar

from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.finetune import RECIPES, Finetune, FinetuneConfig
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body


@strategies.register("bitfit")
class Bitfit(Finetune):
    """`finetune` of every bias, those of norms included, and of the head; all other weights stay as they are.

    Ben Zaken, Ravfogel and Goldberg, "BitFit", ACL 2022, section 3. So few weights need a higher rate than all do: the
    default is 1e-3, the upper end of what they search.
    """

    recipes: ClassVar = {**RECIPES, "default": replace(RECIPES["default"], lr=1e-3)}
    tuned_as = ""  # its rates are of another size
    config: FinetuneConfig

    def blocks(self, body: Body) -> list[Block]:
        """The biases of each block.

        Raises:
            NotApplicableError: there are none, as in ModernBERT.
        """
        blocks = [
            replace(block, parameters={name: w for name, w in block.parameters.items() if name.endswith("bias")})
            for block in body.blocks()
        ]
        if not any(block.parameters for block in blocks):
            raise NotApplicableError(f"backbone {body.encoder.info.name} has no biases to tune")
        return blocks
