"""A frozen backbone under an energy-based head: E = ||G(u) - G(v)||, trained as `energy` says.

On pairs, G makes new vectors out of the backbone's, and their energy is how they compare. On labels, it also
classifies, by the mean energy to the train rows of each class. Weights of the backbone never move, so that its vectors
are computed once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Json,
    Pair,
    Provides,
    ScoreTarget,
    Seeds,
    Signal,
    Similarity,
    State,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of, source_of
from thawbench.strategies.energy import Norm, energies, energy, upper_bound
from thawbench.strategies.energy_classifier import EnergyClassifier, class_logits
from thawbench.strategies.energy_head import EnergyHead, HeadShape
from thawbench.strategies.energy_training import EnergyRecipe, Loss, TrainedHead, train_head
from thawbench.strategies.pair_features import are_pairs, encode_once, item_features
from thawbench.strategies.pair_sampling import PairRows, Places, drawn_from_classes, impostor_weights, shuffled
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.readout import gold, score_of, target_from_json, target_to_json, with_head
from thawbench.strategies.sources import MappedSource, digest

_LR = 3e-3

_RANKED = 1000
"""Dev pairs that are ranked among each other where there is no impostor to tell apart from."""


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
    """Train G alone."""

    version = 2
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
        if self._reads_pairs(bool(data.pairs)):
            return self._learn_pairs(start, data, seeds, budget)
        return self._learn_labels(start, data, seeds, budget)

    def _reads_pairs(self, offered: bool) -> bool:
        return self.config.on == "pairs" or (self.config.on == "auto" and offered)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """G over the start's vectors, and the classifier if it was trained on labels."""
        encoder = encoder_of(start)
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

    def _learn_pairs(self, start: AdaptedEncoder, data: TrainSet, seeds: Seeds, budget: Budget) -> Learned:
        features, pairs = _pair_table(start, data.pairs, data)
        dev_features, dev_pairs = _pair_table(start, data.dev.pairs, data)
        if self.config.loss == "mnr":
            pairs = pairs.genuine_enough
        if not len(pairs) or (pairs.hard and not (pairs.impostor == 0).any()):
            raise NotApplicableError(f"{data.name} has no genuine pair")
        if self.config.loss != "mnr" and pairs.hard and not (pairs.impostor == 1).any():
            raise NotApplicableError(f"{data.name} has no impostor pair (a contradiction); loss=mnr needs none")

        def judge(head: EnergyHead) -> float | None:
            return _pair_score(head, dev_features, dev_pairs, self.config.norm)

        def draw_epoch(epoch: int) -> PairRows:
            return shuffled(pairs, generator(seeds.order, "pairs", epoch))

        trained = self._train(features, draw_epoch, judge, None, seeds, budget)
        return self._learned(trained, start, {}, {"items": "texts", "target": None})

    def _learn_labels(self, start: AdaptedEncoder, data: TrainSet, seeds: Seeds, budget: Budget) -> Learned:
        target = data.target
        if not data.labelled or not isinstance(target, ClassTarget):
            raise NotApplicableError(f"{data.name} has no rows with classes")
        inputs, dev = [row.input for row in data.labelled], data.dev.labelled
        features = _dense(item_features(start, inputs, normalised=False))
        dev_features = _dense(item_features(start, [row.input for row in dev], normalised=False)) if dev else None
        classes: Places = gold(data.labelled, target)
        dev_classes: Places = gold(dev, target)
        norm = self.config.norm

        def judge(head: EnergyHead) -> float | None:
            if dev_features is None:
                return None
            train = head.project(features)
            logits = class_logits(head.project(dev_features), train, classes, len(target.classes), norm)
            return score_of(logits, dev_classes, target)

        def draw_epoch(epoch: int) -> PairRows:
            draw = generator(seeds.order, "pairs", epoch)
            return drawn_from_classes(classes, draw, genuine_only=self.config.loss == "mnr")

        trained = self._train(features, draw_epoch, judge, classes, seeds, budget)
        memory = {"train": trained.head.project(features), "classes": classes.astype(np.int64)}
        items = "pairs" if are_pairs(inputs) else "texts"
        return self._learned(
            trained, start, memory, {"items": items, "target": target_to_json(target), "set": data.name}
        )

    def _train(
        self,
        features: FloatArray,
        draw_epoch: Callable[[int], PairRows],
        judge: Callable[[EnergyHead], float | None],
        classes: Places | None,
        seeds: Seeds,
        budget: Budget,
    ) -> TrainedHead:
        config = self.config
        width = features.shape[1]
        with seeded(seeds.init, "init"):
            head = EnergyHead(HeadShape(width, config.hidden or width, config.dim, config.depth), config.dropout)
        head.standardise(features)
        head.calibrate(upper_bound(config.norm, config.dim))
        recipe = EnergyRecipe(
            config.norm,
            config.loss,
            _LR if config.lr is None else config.lr,
            config.weight_decay,
            config.batch_size,
            config.epochs,
        )
        return train_head(
            head, features, draw_epoch, judge, recipe, classes=classes, budget=budget, order_seed=seeds.order
        )

    def _learned(
        self, trained: TrainedHead, start: AdaptedEncoder, memory: dict[str, Any], values: dict[str, Json]
    ) -> Learned:
        held = trained.head.parameters_held
        return Learned(
            {**trained.head.tensors(), **memory},
            values,
            trained.trace,
            trained.dev_score,
            trainable_parameters=held,
            total_parameters=held + source_of(start).total_parameters,
        )


def _dense(features: Any) -> FloatArray:
    if sp.issparse(features):
        raise NotApplicableError("frozen_ebm needs dense vectors under it (tfidf:svd=300 makes them)")
    dense: FloatArray = features
    return dense


def _pair_table(start: AdaptedEncoder, pairs: Sequence[Pair], data: TrainSet) -> tuple[FloatArray, PairRows]:
    """Vectors of the distinct texts, and the usable pairs as rows of them."""
    kept, impostor = impostor_weights(pairs, data.target)
    vectors, (left, right) = encode_once(start, [pair.a for pair in kept], [pair.b for pair in kept])
    return _dense(vectors), PairRows(left, right, impostor)


def _pair_score(head: EnergyHead, features: FloatArray, pairs: PairRows, norm: Norm) -> float | None:
    """ROC AUC of minus the energy, or its Spearman correlation with gold scores.

    Without impostors, the mean reciprocal rank of the own partner among the first `_RANKED` ones. None if there are
    no rows to judge by.
    """
    if len(pairs) < 2 or (np.ptp(pairs.impostor) == 0 and pairs.impostor[0] > 0):
        return None
    projected = torch.from_numpy(head.project(features))
    if np.ptp(pairs.impostor) == 0:
        pairs = pairs[:_RANKED]
        found = energies(projected[pairs.left], projected[pairs.right], norm)
        return float((1 / (found <= found.diag()[:, None]).sum(dim=1)).mean())
    found = energy(projected[pairs.left], projected[pairs.right], norm)
    if pairs.hard:
        return float(roc_auc_score(pairs.impostor, found))
    return score_of(-found.numpy(), -pairs.impostor, ScoreTarget(-1, 0))
