"""Classification: how two texts stand to each other must be seen from u, v and |u - v|."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import ClassTarget, Rows, Seeds, Target, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.pair_examples import Example
from thawbench.strategies.pair_objective import PairLesson, PairStrategy
from thawbench.strategies.randomness import seeded


def softmax_loss(left: Tensor, right: Tensor, classes: Tensor, layer: nn.Module) -> Tensor:
    """Cross-entropy of softmax(W [u; v; |u - v|]), over rows of (n, dim) twice.

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019, section 3, "Classification Objective Function".

    Args:
        classes: (n,) integers.
        layer: W, (n, 3 dim) to (n, classes).
    """
    return functional.cross_entropy(layer(torch.cat([left, right, (left - right).abs()], dim=-1)), classes)


@strategies.register("sbert_softmax")
class SbertSoftmax(PairStrategy):
    """On relations, or on the classes of labelled pairs. W is trained along and thrown away, as in the paper."""

    version = 2
    draws = frozenset({"init", "order"})

    def lesson(self, data: TrainSet, dim: int, seeds: Seeds) -> PairLesson:
        """All pairs with a class, and W with drawn weights."""
        found, dev = classified(data, data.target), classified(data.dev, data.target)
        place = {name: index for index, name in enumerate(sorted({name for _, name in found}))}
        if len(place) < 2:
            raise NotApplicableError(f"{data.name} has no pairs of two different relations or classes")
        with seeded(seeds.init, "head"):
            layer = nn.Linear(3 * dim, len(place))

        def loss(columns: Sequence[Tensor], gold: Tensor) -> Tensor:
            return softmax_loss(columns[0], columns[1], gold.long(), layer)

        train, held_out = (
            [Example(pair, place[name]) for pair, name in rows if name in place] for rows in (found, dev)
        )
        return PairLesson(train, loss, held_out, layer)


def classified(data: TrainSet | Rows, target: Target | None) -> list[tuple[tuple[str, str], str]]:
    """Pairs with the names of their relations; where there are none, labelled pairs with those of their classes."""
    found: list[tuple[tuple[str, str], str]] = [
        ((pair.a, pair.b), pair.relation) for pair in data.pairs if pair.relation is not None
    ]
    if found or not isinstance(target, ClassTarget):
        return found
    return [(row.input, str(row.label)) for row in data.labelled if not isinstance(row.input, str)]
