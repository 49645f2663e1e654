"""A control: the backbone's architecture with random weights. What it scores, pretraining did not earn."""

from thawbench.contracts import Adapt, Budget, Provides, Seeds, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.encoder import Encoder, with_random_weights


@strategies.register("untrained")
class Untrained(BaseStrategy):
    """Draw all weights anew."""

    provides = frozenset({Provides.VECTORS, Provides.LAYERS})
    draws = frozenset({"init"})
    control = True

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Only remember the seed: the weights follow from it."""
        return Learned(values={"seed": seeds.init})

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """The same architecture, other weights.

        Raises:
            NotApplicableError: the start is no encoder of its own.
        """
        if not isinstance(start.source, Encoder):
            raise NotApplicableError(
                "untrained draws a backbone's weights anew, and an earlier step replaced the backbone"
            )
        seed = state.values["seed"]
        assert isinstance(seed, int)
        return with_random_weights(start.source, seed)
