"""Classes by energy: how far an item is, on average, from the train rows of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from thawbench.contracts import Adapted, ClassTarget, FloatArray, Input
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.energy import Norm, energies
from thawbench.strategies.energy_head import EnergyHead
from thawbench.strategies.pair_features import item_features
from thawbench.strategies.pair_sampling import Places
from thawbench.strategies.readout import ABSENT_LOGIT

_ROWS_AT_ONCE = 512


def class_logits(items: FloatArray, train: FloatArray, classes: Places, count: int, norm: Norm) -> FloatArray:
    """Minus the mean energy of each item to the train rows of each class.

    Args:
        items: (n, dim).
        train: (m, dim).
        classes: (m,) the train rows' classes.
        count: how many classes there are; one without a row gets `ABSENT_LOGIT`.

    Returns:
        (n, count).
    """
    rows_of = np.bincount(classes, minlength=count)
    member = np.zeros((len(train), count), np.float32)
    member[np.arange(len(train)), classes] = 1
    logits = np.full((len(items), count), ABSENT_LOGIT, np.float32)
    present = rows_of > 0
    for start in range(0, len(items), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        found = energies(torch.from_numpy(items[rows]), torch.from_numpy(train), norm).numpy()
        logits[rows, present] = -(found @ member[:, present]) / rows_of[present]
    return logits


@dataclass(frozen=True)
class EnergyClassifier:
    """A head of a train set.

    It reads the start that it was fitted on and not the encoder as later steps leave it: it holds all weights that it
    needs, so that nothing can be forgotten.
    """

    target: ClassTarget
    start: AdaptedEncoder
    head: EnergyHead
    train: FloatArray
    classes: Places
    norm: Norm

    def predict(self, adapted: Adapted, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes)."""
        count = len(self.target.classes)
        if not len(inputs):
            return np.zeros((0, count), np.float32)
        features = item_features(self.start, inputs, normalised=False)
        if features.shape[1] != self.head.shape.inputs:
            raise NotApplicableError(
                f"the head was fitted on {self.head.shape.inputs} features and got {features.shape[1]}: "
                "pairs were put to a head for texts, or texts to one for pairs"
            )
        return class_logits(self.head.project(features), self.train, self.classes, count, self.norm)
