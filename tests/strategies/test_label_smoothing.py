"""The loss, worked by hand, and what it does not take."""

import math

import numpy as np
import pytest
import torch
from small_fits import fit, inputs_of, moods, scores

from thawbench.contracts import Budget, ClassTarget
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.label_smoothing import LabelSmoothing, LabelSmoothingConfig


def test_the_loss_of_two_rows_is_what_it_is_by_hand() -> None:
    """p = (.6, .3, .1), y = 0, and p = (.2, .2, .6), y = 1; e = .3, so that q' = (.8, .1, .1) and (.1, .8, .1)."""
    probabilities = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    answers = Answers(np.arange(2), torch.zeros(2, 4), probabilities.log(), torch.tensor([0, 1]))
    target = ClassTarget(("a", "b", "c"))
    first = -(0.8 * math.log(0.6) + 0.1 * math.log(0.3) + 0.1 * math.log(0.1))
    second = -(0.1 * math.log(0.2) + 0.8 * math.log(0.2) + 0.1 * math.log(0.6))

    loss = LabelSmoothing(LabelSmoothingConfig(smoothing=0.3)).loss(
        Classifier("linear", "texts", 4, 3), target, answers
    )

    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-6)


def test_it_holds_the_logits_back(tiny: AdaptedEncoder) -> None:
    """The best that it can do is to be sure by q'(y) / q'(k) = .8 / .2, whose logarithm is 1.39."""
    sure, less_sure = (fit("label_smoothing", tiny, budget=Budget(epochs=60), lr=3e-3, smoothing=e) for e in (0.0, 0.4))
    margins = [np.abs(np.diff(adapted.predict(inputs_of(moods()), "moods"))) for adapted in (sure, less_sure)]

    assert margins[0].min() > 3
    assert margins[1].max() < 2


def test_scores_have_nothing_to_smooth(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="scores has scores and no classes"):
        fit("label_smoothing", tiny, scores())
