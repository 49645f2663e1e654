"""All train sets of a chain at once, one head each: the upper bound of what learns them one after another."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from thawbench.contracts import Seeds, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.finetune import Finetune, FinetuneConfig, place_of_new_head
from thawbench.strategies.randomness import generator
from thawbench.strategies.together import Together
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Objective

Batch = tuple[int, NDArray[np.intp]]
"""Which set, and its rows."""


@strategies.register("joint")
class Joint(Finetune):
    """`finetune` on all sets so far, from where the chain began; with one set it is `finetune` to the bit.

    Caruana, "Multitask Learning", Machine Learning 1997, batched as by Liu et al., "Multi-Task Deep Neural Networks
    for Natural Language Understanding", ACL 2019, algorithm 1: a batch is of one set, and the batches of all sets are
    shuffled. A set therefore counts by its rows, and small ones are run through as often as alone. What is kept is
    best by the mean of all sets' scores on dev.
    """

    config: FinetuneConfig
    whole_chain: ClassVar[bool] = True

    def objective(
        self, lesson: Classification, body: Body, start: AdaptedEncoder, data: TrainSet, seeds: Seeds
    ) -> Objective[Any]:
        """The lessons of all sets.

        Raises:
            NotApplicableError: an earlier set has no labels.
        """
        if not data.earlier:
            return lesson
        first = place_of_new_head(start, data) + 1  # behind the place of the last set's head
        heads = {
            each.name: self.new_head(each, body, seeds, place) for place, each in enumerate(data.earlier, start=first)
        }
        lessons = [self.lesson(body, heads[each.name], each, seeds) for each in data.earlier]
        return _AllAtOnce(lesson, heads, lessons, seeds.order)


class _AllAtOnce(Together):
    """The lessons of several sets, their batches shuffled.

    Args:
        earlier: all lessons but the last set's.
        seed: of the order stream.
    """

    def __init__(
        self,
        lesson: Classification,
        heads: Mapping[str, ClassifierHead],
        earlier: list[Classification],
        seed: int,
    ) -> None:
        super().__init__(lesson, heads)
        self._lessons = [*earlier, lesson]
        self._seed = seed

    def batches(self, epoch: int) -> list[Batch]:
        """Those of every set, in one order."""
        found = [(place, batch) for place, lesson in enumerate(self._lessons) for batch in lesson.batches(epoch)]
        return [found[place] for place in generator(self._seed, "sets", epoch).permutation(len(found))]

    def loss(self, batch: Batch, step: int) -> Tensor:
        """That of the batch's own set."""
        place, rows = batch
        return self._lessons[place].loss(rows, step)

    def dev_score(self) -> float | None:
        """The mean over the sets that have dev rows."""
        scores = [score for lesson in self._lessons if (score := lesson.dev_score()) is not None]
        return sum(scores) / len(scores) if scores else None
