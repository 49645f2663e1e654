"""The standard read-out as a step of its own: the suite appends it where a task needs classes and none are made."""

from dataclasses import replace

from thawbench.contracts import Adapt, Adapted, Budget, Provides, Seeds, Signal, State, TrainSet
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of, source_of
from thawbench.strategies.readout import LinearReadout, learn_readout, with_head


class ReadoutStep(BaseStrategy):
    """Fit the read-out on what comes before, and leave that as it is. It has no name to be asked for by."""

    name = "readout"
    version = 2
    consumes = frozenset({Signal.LABELS})
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """See `readout.learn_readout`."""
        fitted = learn_readout(start, data)
        state, cost = fitted.state, fitted.cost
        return Learned(
            state.tensors,
            {**state.values, "set": data.name},
            dev_score=cost.dev_score,
            trainable_parameters=cost.trainable_parameters,
            total_parameters=source_of(start).total_parameters + cost.total_parameters,
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with the head on it."""
        encoder = with_head(encoder_of(start), str(state.values["set"]), LinearReadout.from_state(state))
        return replace(encoder, state=state, trace=())
