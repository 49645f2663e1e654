"""A frozen backbone under an energy-based head: E = ||G(u) - G(v)||, trained as `energy` says.

On pairs, G makes new vectors out of the backbone's, and their energy is how they compare. On labels, it also
classifies, by the mean energy to the train rows of each class. Weights of the backbone never move, so that its vectors
are computed once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Json,
    Provides,
    Seeds,
    Signal,
    Similarity,
    State,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of, source_of, without_map
from thawbench.strategies.energy import Norm, upper_bound
from thawbench.strategies.energy_classifier import EnergyClassifier
from thawbench.strategies.energy_head import EnergyHead, HeadShape
from thawbench.strategies.energy_lesson import Lesson, from_labels, from_pairs
from thawbench.strategies.energy_training import EnergyRecipe, Loss, train_head
from thawbench.strategies.pair_features import are_pairs, item_features
from thawbench.strategies.randomness import seeded
from thawbench.strategies.readout import target_from_json, target_to_json, with_head
from thawbench.strategies.sources import MappedSource, digest

_LR = 3e-3


@dataclass(frozen=True)
class FrozenEbmConfig:
    """G and how it is trained.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else 3e-3.
        dim: components of G's output.
        depth: linear layers of G.
        hidden: their width; none takes that of the backbone's vectors.
        norm: of the energy; `cosine` is 1 - cos.
        on: which rows to learn from where a train set has both kinds; `auto` takes pairs.
    """

    dim: int = 128
    depth: int = 2
    hidden: int | None = None
    norm: Norm = "l1"
    loss: Loss = "chopra"
    lr: float | None = None
    epochs: int = 5
    batch_size: int = 64
    weight_decay: float = 0.01
    dropout: float = 0.1
    on: Literal["auto", "pairs", "labels"] = "auto"

    def __post_init__(self) -> None:
        if min(self.dim, self.depth, self.hidden or 1, self.epochs) < 1 or self.batch_size < 2:
            raise ValueError("dim, depth, hidden and epochs must be at least 1, batch_size at least 2")
        if not 0 <= self.dropout < 1 or (self.lr is not None and self.lr <= 0) or self.weight_decay < 0:
            raise ValueError("dropout must be in [0, 1), lr positive and weight_decay not negative")


@strategies.register("frozen_ebm")
class FrozenEbm(BaseStrategy):
    """Train G alone. After another G it starts below that one: on a chain each set has a G over the same vectors."""

    version = 3
    Config = FrozenEbmConfig
    config: FrozenEbmConfig
    consumes = frozenset({Signal.PAIRS, Signal.LABELS})
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})
    draws = frozenset({"init", "order"})

    _similarities: ClassVar[dict[Norm, Similarity]] = {"l1": "neg_l1", "l2": "neg_l2", "cosine": "cosine"}

    @property
    def similarity(self) -> Similarity:
        """Minus the energy."""
        return self._similarities[self.config.norm]

    def provides_on(self, signals: frozenset[Signal]) -> frozenset[Provides]:
        """Pairs teach which vectors are near, and no class."""
        return self.provides - {Provides.CLASSES} if self._reads_pairs(Signal.PAIRS in signals) else self.provides

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train on pairs if there are any, else on labels.

        Raises:
            NotApplicableError: there are no genuine pairs, or no impostors for a loss that needs them.
        """
        config = self.config
        lesson = self.lesson(data, seeds)
        start, _ = below_head(start)
        features = dense(item_features(start, lesson.items, normalised=False))
        dev_features = dense(item_features(start, lesson.dev, normalised=False))
        head = self.new_head(features, seeds)
        recipe = EnergyRecipe(
            config.norm,
            config.loss,
            _LR if config.lr is None else config.lr,
            config.weight_decay,
            config.batch_size,
            config.epochs,
        )
        trained = train_head(
            head,
            features,
            lesson.draw_epoch,
            lambda judged: lesson.judge(judged, lambda: features, lambda: dev_features),
            recipe,
            classes=lesson.classes,
            budget=budget,
            order_seed=seeds.order,
        )
        tensors, values = self.remembered(trained.head, lambda: features, lesson, data)
        held = trained.head.parameters_held
        return Learned(
            tensors,
            values,
            trained.trace,
            trained.dev_score,
            trainable_parameters=held,
            total_parameters=held + source_of(start).total_parameters,
        )

    def lesson(self, data: TrainSet, seeds: Seeds) -> Lesson:
        """What the set teaches: by its pairs if there are any, else by its labels."""
        make = from_pairs if self._reads_pairs(bool(data.pairs)) else from_labels
        return make(data, norm=self.config.norm, loss=self.config.loss, seed=seeds.order)

    def new_head(self, features: FloatArray, seeds: Seeds) -> EnergyHead:
        """G with drawn weights, for such features."""
        config = self.config
        width = features.shape[1]
        with seeded(seeds.init, "init"):
            head = EnergyHead(HeadShape(width, config.hidden or width, config.dim, config.depth), config.dropout)
        head.standardise(features)
        head.calibrate(upper_bound(config.norm, config.dim))
        return head

    def remembered(
        self, head: EnergyHead, features: Callable[[], FloatArray], lesson: Lesson, data: TrainSet
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """The tensors and values that `restore` reads.

        Args:
            features: of the lesson's items, if they are needed.
        """
        if lesson.target is None or lesson.classes is None:
            return head.tensors(), {"items": "texts", "target": None}
        classes = np.asarray(lesson.classes, np.int64)
        memory: dict[str, NDArray[Any]] = {"train": head.project(features()), "classes": classes}
        items = "pairs" if are_pairs(lesson.items) else "texts"
        values: dict[str, Json] = {"items": items, "target": target_to_json(lesson.target), "set": data.name}
        return {**head.tensors(), **memory}, values

    def _reads_pairs(self, offered: bool) -> bool:
        return self.config.on == "pairs" or (self.config.on == "auto" and offered)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """G over the start's vectors, and the classifier if it was trained on labels."""
        encoder, _ = below_head(encoder_of(start))
        head = EnergyHead.from_tensors(state.tensors)
        adapted = replace(encoder, similarity=self.similarity, state=state, trace=())
        if state.values["items"] == "pairs":  # G reads pairs' features then: there is no vector of a text
            adapted = replace(adapted, source=None, has_layers=False)
        else:
            key = digest("frozen_ebm", self.version, tensors=head.tensors())
            adapted = replace(
                adapted, source=MappedSource(source_of(encoder), head.project, key, head.parameters_held, head)
            )
        if state.values["target"] is None:
            return adapted
        target = target_from_json(state.values["target"])
        assert isinstance(target, ClassTarget)
        train, classes = state.tensors["train"], state.tensors["classes"]
        classifier = EnergyClassifier(target, encoder, head, train, classes, self.config.norm)
        return with_head(adapted, str(state.values["set"]), classifier)


def below_head(start: AdaptedEncoder) -> tuple[AdaptedEncoder, EnergyHead | None]:
    """What lies below the start's last G, with all of the start's heads, and that G; the start if there is none."""
    last = next(reversed(list(start.head_models.values())), None)
    if start.source is None and isinstance(last, EnergyClassifier):  # a G of pairs' features
        return replace(last.start, head_models=start.head_models), last.head
    return without_map(start, EnergyHead)


def dense(features: Any) -> FloatArray:
    """Features as an array.

    Raises:
        NotApplicableError: they are sparse.
    """
    if sp.issparse(features):
        raise NotApplicableError("frozen_ebm needs dense vectors under it (tfidf:svd=300 makes them)")
    dense: FloatArray = features
    return dense
