"""Replay: a few rows of each earlier set are kept, and learnt again beside the new ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from thawbench.contracts import Adapt, Adapted, Budget, Json, Labelled, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, Memory
from thawbench.strategies.base import Learned
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.randomness import generator
from thawbench.strategies.together import Together, heads_of_others
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Objective


@dataclass(frozen=True)
class ReplayConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        rows: how many train rows of each set are kept; 0 is `finetune`.
    """

    rows: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows < 0:
            raise ValueError("rows must not be negative")


@dataclass(frozen=True)
class KeptRows(Memory):
    """Some train rows of a set."""

    rows: tuple[Labelled, ...]


@strategies.register("replay")
class Replay(Finetune):
    """`finetune` on batches of new rows and as many kept ones, each under the head of its own set.

    Chaudhry et al., "On Tiny Episodic Memories in Continual Learning", 2019, algorithm 1: at each step as many rows are
    drawn out of all that are kept as the new batch has, if there are so many, and all rows of the step count alike. Of
    a set its first rows are kept, which the sample seed has put there, classes in turn. Without kept rows it is
    `finetune` to the bit. They lie in the step's state, texts and all, and nowhere else.
    """

    Config: ClassVar[type[ReplayConfig]] = ReplayConfig
    config: ReplayConfig

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Tune, and keep some rows."""
        learned = super().learn(start, data, seeds=seeds, budget=budget, adapt=adapt)
        kept = data.labelled[: self.config.rows]
        if not kept:
            return learned
        return replace(learned, values={**learned.values, "kept": [_to_json(row) for row in kept]})

    def objective(
        self, lesson: Classification, body: Body, start: AdaptedEncoder, data: TrainSet, seeds: Seeds
    ) -> Objective[Any]:
        """The lesson, and one beside it for each earlier set of which there are rows and a head."""
        heads = heads_of_others(start, data.name, self.config.dropout)
        kept = [each for each in start.remembered(KeptRows, data.name) if each.train_set in heads]
        if not kept or not self.config.rows:
            return lesson
        heads = {each.train_set: heads[each.train_set] for each in kept}
        lessons = [
            self.lesson(body, head, TrainSet(each.train_set, 0, "", head.target, each.rows), seeds)
            for each, head in zip(kept, heads.values(), strict=True)
        ]
        return _Replayed(lesson, heads, lessons, seeds.order)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """As `finetune`, and the rows that were kept."""
        adapted = super().restore(start, state)
        rows = cast("list[Json]", state.values.get("kept", []))
        if not rows:
            return adapted
        return adapted.remembering(KeptRows(str(state.values["set"]), tuple(_from_json(row) for row in rows)))


class _Replayed(Together):
    """A lesson, and rows of earlier ones in each of its batches.

    Args:
        earlier: the lessons of kept rows.
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
        self._earlier, self._seed = earlier, seed
        self._ends = np.cumsum([each.rows for each in earlier])

    def loss(self, batch: NDArray[np.intp], step: int) -> Tensor:
        """The mean over all rows of the step, new and old."""
        total = len(batch) * self.lesson.loss(batch, step)
        drawn = self._drawn(len(batch), step)
        for each, rows in zip(self._earlier, drawn, strict=True):
            if len(rows):
                total = total + len(rows) * each.loss(rows, step)
        return total / (len(batch) + sum(map(len, drawn)))

    def _drawn(self, count: int, step: int) -> list[NDArray[np.intp]]:
        """The rows of this step, by lesson."""
        kept = int(self._ends[-1])
        places = generator(self._seed, "replay", step).choice(kept, min(count, kept), replace=False)
        starts = [0, *self._ends[:-1]]
        return [
            np.sort(places[(start <= places) & (places < end)]) - start
            for start, end in zip(starts, self._ends, strict=True)
        ]


def _to_json(row: Labelled) -> Json:
    given: Json = row.input if isinstance(row.input, str) else list(row.input)
    return {"input": given, "label": row.label, "score": row.score, "path": list(row.path)}


def _from_json(value: Json) -> Labelled:
    row = cast("dict[str, Any]", value)
    given = row["input"] if isinstance(row["input"], str) else tuple(row["input"])
    return Labelled(given, row["label"], row["score"], tuple(row["path"]))
