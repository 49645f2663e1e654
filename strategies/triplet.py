"""Triplets: a text must be nearer to its partner than to another text, by a margin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from thawbench.contracts import Seeds, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.energy import energy
from thawbench.strategies.pair_examples import anchored
from thawbench.strategies.pair_objective import PairConfig, PairLesson, PairStrategy


@dataclass(frozen=True)
class TripletConfig(PairConfig):
    """As the pair strategies'.

    Attributes:
        margin: the paper's epsilon, in the units of the start's vectors, which are not normalised.
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin <= 0:
            raise ValueError("margin must be positive")


def triplet_loss(anchors: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """The mean of max(||a - p|| - ||a - n|| + margin, 0) over rows of (n, dim), Euclidean.

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019, section 3, "Triplet Objective Function".
    """
    return (energy(anchors, positives, "l2") - energy(anchors, negatives, "l2") + margin).relu().mean()


@strategies.register("triplet")
class Triplet(PairStrategy):
    """An anchor, its positive, and a contradiction of the anchor; where it has none, the positive of another anchor.

    The paper takes its triplets from the sections of Wikipedia's articles; with pairs, most anchors have no impostor of
    their own.
    """

    version = 2
    Config: ClassVar[type[Any]] = TripletConfig
    config: TripletConfig

    def lesson(self, data: TrainSet, dim: int, seeds: Seeds) -> PairLesson:
        """As `mnr` has it."""

        def loss(columns: Sequence[Tensor], gold: Tensor) -> Tensor:
            anchors, positives, *own = columns
            return triplet_loss(anchors, positives, negatives_of(positives, own, gold), self.config.margin)

        train, dev = anchored(data)
        return PairLesson(train, loss, dev, distinct=True)


def negatives_of(positives: Tensor, own: Sequence[Tensor], gold: Tensor) -> Tensor:
    """Each row's own negative where gold is 1, else the positive of the row before it; a batch is in no order.

    Args:
        own: the own negatives of the rows that have one, as one tensor, or nothing.
    """
    negatives = positives.roll(1, 0)
    if own:
        negatives[gold == 1] = own[0]
    return negatives
