"""A shallower encoder: the top layers are removed, and the rest is tuned."""

from dataclasses import dataclass, replace
from typing import ClassVar

from thawbench.contracts import Adapt, Adapted, Budget, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned, encoder_of
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.trainable import Body


@dataclass(frozen=True)
class DropTopConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        k: how many layers; 0 is `finetune`, and one stays at least.
    """

    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 0:
            raise ValueError("k must not be negative")


@strategies.register("drop_top")
class DropTop(Finetune):
    """`finetune` on what is left without the `k` top layers, for good: encoding and storing get cheaper too.

    Sajjad et al., "On the Effect of Dropping Layers of Pre-trained Transformer Models", Computer Speech and Language
    77, 2023. Layers count from the backbone's top, so that a second train set in a row costs no more of them.
    """

    Config: ClassVar[type[DropTopConfig]] = DropTopConfig
    config: DropTopConfig

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """As `finetune`, from the shallower start.

        Raises:
            UserError, NotApplicableError: see `Body.check_layers`; and what `finetune` raises.
        """
        return super().learn(self._lowered(start), data, seeds=seeds, budget=budget, adapt=adapt)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The shallower start with the tuned weights, and the head."""
        return super().restore(self._lowered(encoder_of(start)), state)

    def _lowered(self, start: AdaptedEncoder) -> AdaptedEncoder:
        body = Body.of(start.source)
        lowered = body.without_top(self.config.k)
        return start if lowered is body else replace(start, source=lowered.source())
