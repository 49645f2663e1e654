"""A control: the answer that looks at no text. What stays at its score has learnt nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Provides,
    Seeds,
    Signal,
    State,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of
from thawbench.strategies.readout import ABSENT_LOGIT, gold, score_of, target_from_json, target_to_json, with_head


@dataclass(frozen=True)
class ConstantHead:
    """The same row of logits, or the same score, for every input."""

    target: Target
    row: FloatArray

    def predict(self, adapted: Adapted, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes), or (inputs, 1)."""
        return np.tile(self.row, (len(inputs), 1))


@strategies.register("majority")
class Majority(BaseStrategy):
    """Log frequencies of the train rows' classes as logits (the first of equals wins), or their mean score."""

    consumes = frozenset({Signal.LABELS})
    provides = frozenset({Provides.CLASSES})
    control = True

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Count.

        Raises:
            NotApplicableError: no labelled rows.
        """
        target = data.target
        if target is None or not data.labelled:
            raise NotApplicableError(f"{data.name} has no labelled rows")
        truth = gold(data.labelled, target)
        if isinstance(target, ClassTarget):
            counts = np.bincount(truth, minlength=len(target.classes))
            row = np.full(len(counts), ABSENT_LOGIT, np.float32)
            row[counts > 0] = np.log(counts[counts > 0] / len(truth))
        else:
            row = np.array([truth.mean()], np.float32)
        dev = data.dev.labelled
        dev_score = score_of(np.tile(row, (len(dev), 1)), gold(dev, target), target) if dev else None
        values = {"head": data.name, "target": target_to_json(target)}
        return Learned({"row": row}, values, dev_score=dev_score)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The heads so far and this one, without vectors."""
        head = ConstantHead(target_from_json(state.values["target"]), state.tensors["row"])
        blind = replace(encoder_of(start), source=None, has_layers=False, state=state, trace=())
        return with_head(blind, str(state.values["head"]), head)
