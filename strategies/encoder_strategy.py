"""What strategies share that move an encoder's weights and leave nothing beside it."""

from typing import ClassVar

from thawbench.contracts import Provides, Seeds, State, Stream
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Batch, Objective, Schedule, train


class EncoderStrategy(BaseStrategy):
    """A subclass says in `learn` what the encoder is trained by, and hands it to `trained`.

    Where classes are asked for, the standard read-out is fitted on the vectors that it leaves.

    Attributes:
        lr: the strategy's own.
    """

    provides: ClassVar[frozenset[Provides]] = frozenset({Provides.VECTORS, Provides.LAYERS})
    draws: ClassVar[frozenset[Stream]] = frozenset({"order"})
    lr: ClassVar[float]

    def trained(
        self, objective: Objective[Batch], schedule: Schedule, body: Body, before: Body, seeds: Seeds
    ) -> Learned:
        """Train to the end, and keep what dev liked best.

        Args:
            body: what the objective trains, a copy of `before`.
        """
        run = train(objective, schedule, seed=seeds.order, info=body.encoder.info)
        return Learned(
            body.changed(before),
            trace=run.trace,
            dev_score=run.dev_score,
            trainable_parameters=run.trainable_parameters,
            total_parameters=sum(weight.numel() for weight in objective.module.parameters()),
        )

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """The start with the tuned weights."""
        return Body.of(start.source).with_weights(state.tensors).source()
