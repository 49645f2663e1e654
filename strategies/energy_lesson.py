"""What an energy-based head learns from: items, the pairs of them that an epoch sees, and how dev judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from thawbench.contracts import ClassTarget, FloatArray, Input, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.energy import Norm
from thawbench.strategies.energy_classifier import class_logits
from thawbench.strategies.energy_head import EnergyHead
from thawbench.strategies.energy_training import Loss
from thawbench.strategies.pair_sampling import PairRows, Places, drawn_from_classes, shuffled
from thawbench.strategies.pair_score import pair_rows, pair_score
from thawbench.strategies.randomness import generator
from thawbench.strategies.readout import gold, score_of

Judge = Callable[[EnergyHead, Callable[[], FloatArray], Callable[[], FloatArray]], float | None]
"""The dev score of a head, out of the features of the items and of the dev items; only those that it needs are made."""


@dataclass(frozen=True)
class Lesson:
    """One train set as pairs of items.

    Attributes:
        items: texts, or pairs of texts that are one item each; `dev` likewise.
        draw_epoch: an epoch's pairs, by its number; each epoch has as many.
        judge: greater is better; None if dev has no row to judge by.
        target, classes: of the items, if they are labelled rows.
    """

    items: Sequence[Input]
    dev: Sequence[Input]
    draw_epoch: Callable[[int], PairRows]
    judge: Judge
    target: ClassTarget | None = None
    classes: Places | None = None


def from_pairs(data: TrainSet, *, norm: Norm, loss: Loss, seed: int) -> Lesson:
    """The set's own pairs.

    Args:
        seed: of the order stream.

    Raises:
        NotApplicableError: there are no genuine pairs, or no impostors for a loss that needs them.
    """
    items, pairs = pair_rows(data.pairs, data.target)
    dev, dev_pairs = pair_rows(data.dev.pairs, data.target)
    if loss == "mnr":
        pairs = pairs.genuine_enough
    if not len(pairs) or (pairs.hard and not (pairs.impostor == 0).any()):
        raise NotApplicableError(f"{data.name} has no genuine pair")
    if loss != "mnr" and pairs.hard and not (pairs.impostor == 1).any():
        raise NotApplicableError(f"{data.name} has no impostor pair (a contradiction); loss=mnr needs none")

    def draw_epoch(epoch: int) -> PairRows:
        return shuffled(pairs, generator(seed, "pairs", epoch))

    def judge(
        head: EnergyHead, features: Callable[[], FloatArray], dev_features: Callable[[], FloatArray]
    ) -> float | None:
        return pair_score(lambda: torch.from_numpy(head.project(dev_features())), dev_pairs, norm)

    return Lesson(items, dev, draw_epoch, judge)


def from_labels(data: TrainSet, *, norm: Norm, loss: Loss, seed: int) -> Lesson:
    """Two rows of one class are a genuine pair, two of different ones an impostor.

    Args:
        seed: of the order stream.

    Raises:
        NotApplicableError: there are no rows with classes.
    """
    target = data.target
    if not data.labelled or not isinstance(target, ClassTarget):
        raise NotApplicableError(f"{data.name} has no rows with classes")
    dev = data.dev.labelled
    classes: Places = gold(data.labelled, target)
    dev_classes: Places = gold(dev, target)

    def draw_epoch(epoch: int) -> PairRows:
        return drawn_from_classes(classes, generator(seed, "pairs", epoch), genuine_only=loss == "mnr")

    def judge(
        head: EnergyHead, features: Callable[[], FloatArray], dev_features: Callable[[], FloatArray]
    ) -> float | None:
        if not dev:
            return None
        logits = class_logits(
            head.project(dev_features()), head.project(features()), classes, len(target.classes), norm
        )
        return score_of(logits, dev_classes, target)

    items = [row.input for row in data.labelled]
    return Lesson(items, [row.input for row in dev], draw_epoch, judge, target, classes)
