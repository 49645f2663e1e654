"""What strategies share: declared defaults, timing, and a way back from the stored state.

The shortest useful strategy, as one file:

    @strategies.register("centred")
    class Centred(BaseStrategy):
        consumes = frozenset({Signal.TEXTS})

        def learn(self, start, data, *, seeds, budget, adapt):
            return Learned({"mean": start.encode(data.texts).mean(axis=0)})

        def transform(self, vectors, state):
            return vectors - state.tensors["mean"]
"""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    Cost,
    FloatArray,
    Json,
    Provides,
    Seeds,
    Signal,
    Similarity,
    State,
    Stream,
    TraceRow,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.sources import MappedSource, digest
from thawbench.strategies.tuned import with_choices

ModuleT = TypeVar("ModuleT", bound=nn.Module)


@dataclass(frozen=True)
class NoConfig:
    """Nothing to configure."""


@dataclass(frozen=True)
class Learned:
    """What `learn` found: all that `restore` needs, and how it went.

    Attributes:
        trainable_parameters: the weights that an optimiser moved.
        total_parameters: those that the result holds; None counts the ones of its source.
    """

    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    trace: tuple[TraceRow, ...] = ()
    dev_score: float | None = None
    trainable_parameters: int = 0
    total_parameters: int | None = None


class BaseStrategy:
    """A strategy that learns something and can be rebuilt from it.

    Define `learn` (if there is anything to learn) and the narrowest of these that fits:
    `transform` changes vectors; `source` replaces where they come from; `restore` does all else, such as heads.
    What `fit` returns went through `restore`, so that saving and loading cannot change a bit.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    Config: ClassVar[type[Any]] = NoConfig
    consumes: ClassVar[frozenset[Signal]] = frozenset()
    provides: ClassVar[frozenset[Provides]] = frozenset({Provides.VECTORS})
    draws: ClassVar[frozenset[Stream]] = frozenset()
    asks_for: ClassVar[tuple[str, ...]] = ()
    tuned_as: ClassVar[str] = ""
    whole_chain: ClassVar[bool] = False
    fits_on_corpus: ClassVar[bool] = False
    control: ClassVar[bool] = False

    config: Any

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config

    @property
    def similarity(self) -> Similarity | None:
        """How the new vectors compare; None keeps the start's way."""
        return None

    def provides_on(self, signals: frozenset[Signal]) -> frozenset[Provides]:
        """What comes out after a fit on a set with these signals."""
        return self.provides

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Find whatever `restore` needs; nothing by default.

        Raises:
            NotApplicableError: the rows cannot carry this objective.
        """
        return Learned()

    def transform(self, vectors: FloatArray, state: State) -> FloatArray:
        """The new vectors out of the start's (n, dim); it must take n = 0 too."""
        raise NotImplementedError(f"{type(self).__name__} defines none of transform, source and restore")

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """Where the new vectors come from: by default the start's, through `transform`."""
        what: dict[str, Any] = {
            "strategy": self.name,
            "version": self.version,
            "config": dataclasses.asdict(self.config),
        }
        return MappedSource(
            source_of(start),
            lambda vectors: self.transform(vectors, state),
            digest(what, dict(state.values), tensors=state.tensors),
            sum(tensor.size for tensor in state.tensors.values()),
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with this step's state on top of it."""
        encoder = encoder_of(start)
        return replace(
            encoder,
            source=self.source(encoder, state),
            similarity=self.similarity or encoder.similarity,
            state=state,
            trace=(),
            has_layers=encoder.has_layers and Provides.LAYERS in self.provides,
        )

    def fit(self, start: Adapted, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> AdaptedEncoder:
        """Learn, take the time as of a cold cache, and restore.

        Fields of the configuration that are None take what `thawbench tune` chose for a backbone of this size.

        Raises:
            NotApplicableError: the rows cannot carry this objective.
        """
        encoder = encoder_of(start)
        chosen = self._filled(encoder)
        started = time.perf_counter()
        with metered() as meter:
            learned = chosen.learn(encoder, data, seeds=seeds, budget=budget, adapt=adapt)
        elapsed = time.perf_counter() - started
        # in the layout that they will have when they are read back: with another a product's last bits may differ
        state = State({name: np.asarray(each, order="C") for name, each in learned.tensors.items()}, learned.values)
        total = learned.total_parameters
        if total is None:
            source = self.restore(start, state).source
            total = source.total_parameters if source else 0
        cost = Cost(
            fit_s=elapsed - meter.spent + meter.seconds,
            trainable_parameters=learned.trainable_parameters,
            total_parameters=total,
            dev_score=learned.dev_score,
        )
        return replace(self.restore(start, replace(state, cost=cost)), trace=learned.trace)

    def _filled(self, start: AdaptedEncoder) -> Self:
        size = 0 if start.source is None else start.source.total_parameters
        config = with_choices(self.config, filter(None, (self.tuned_as, self.name)), size)
        return self if config is self.config else type(self)(config)


def encoder_of(start: Adapted) -> AdaptedEncoder:
    """The start as the one class that implements it."""
    if not isinstance(start, AdaptedEncoder):
        raise TypeError(f"a strategy starts from an AdaptedEncoder, not from {type(start).__name__}")
    return start


def without_map(start: AdaptedEncoder, kind: type[ModuleT]) -> tuple[AdaptedEncoder, ModuleT | None]:
    """What lies below the start's last map, with all heads, and that map's network; the start if it is another kind."""
    source = start.source
    if isinstance(source, MappedSource) and isinstance(source.module, kind):
        return replace(start, source=source.inner), source.module
    return start, None


def source_of(start: AdaptedEncoder) -> VectorSource:
    """Where the start's vectors come from.

    Raises:
        NotApplicableError: it makes none.
    """
    if start.source is None:
        raise NotApplicableError("the step before makes no vectors to build on")
    return start.source
