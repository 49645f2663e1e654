"""`scl` is `finetune` with one loss more."""

import numpy as np
import pytest
import torch
from small_fits import MOODS, TEXTS, fit, inputs_of, moods, pairs, restored, same_bytes, scores

from thawbench.contracts import Budget, Seeds
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.label_contrast import supervised_contrast
from thawbench.strategies.scl import Scl, SclConfig


@pytest.mark.parametrize("reading", ["joint", "siamese"])
def test_with_no_weight_it_is_finetune_to_the_last_bit(tiny: AdaptedEncoder, reading: str) -> None:
    for data in (moods(dev=True), pairs()):
        plain = fit("finetune", tiny, data, pairs=reading)
        assert same_bytes(fit("scl", tiny, data, weight=0.0, pairs=reading), plain, inputs_of(data), data.name)
        other = fit("scl", tiny, data, pairs=reading)
        assert not np.array_equal(other.predict(inputs_of(data), data.name), plain.predict(inputs_of(data), data.name))


def test_the_weight_divides_between_the_mean_of_one_loss_and_the_sum_of_the_other() -> None:
    # two rows of one class at a right angle, with nothing else to choose: SCL = 0; logits of (0, 0): CE = log 2
    answers = Answers(
        np.arange(3), torch.tensor([[1.0, 0], [0, 1], [2, 0]]), torch.zeros(3, 2), torch.tensor([0, 0, 1])
    )
    head = Classifier("linear", "texts", 2, 2)
    contrast = np.log(1 + np.exp(1 / 0.5)) + np.log(2)  # as in test_label_contrast
    for weight in (0.0, 0.25, 0.9):
        found = Scl(SclConfig(weight=weight, tau=0.5)).loss(head, MOODS, answers)
        assert found.item() == pytest.approx((1 - weight) * np.log(2) + weight * contrast, abs=1e-6)


def test_training_lowers_the_contrastive_loss_on_rows_that_it_never_saw(tiny: AdaptedEncoder) -> None:
    def contrast(adapted: AdaptedEncoder) -> float:
        classes = torch.tensor([row.label == "good" for row in moods(dev=True).dev.labelled]).long()
        unseen = [str(row.input) for row in moods(dev=True).dev.labelled]
        return supervised_contrast(torch.from_numpy(adapted.encode(unseen)), classes, tau=0.3).item()

    assert contrast(fit("scl", tiny, moods(), budget=Budget(epochs=20), lr=1e-3)) < 0.9 * contrast(tiny)


def test_restored_it_is_the_same_and_seeds_matter(tiny: AdaptedEncoder) -> None:
    one = fit("scl", tiny)
    again = restored("scl", tiny, one)
    assert np.array_equal(again.encode(TEXTS), one.encode(TEXTS))
    assert np.array_equal(again.predict(TEXTS, "moods"), one.predict(TEXTS, "moods"))
    for other in (Seeds(order=1), Seeds(init=1)):
        assert not np.array_equal(fit("scl", tiny, seeds=other).encode(TEXTS), one.encode(TEXTS))


def test_scores_have_no_classes_to_contrast(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="scores and no classes"):
        fit("scl", tiny, scores())


@pytest.mark.parametrize("wrong", [{"weight": 1.0}, {"weight": 1.1}, {"weight": -0.1}, {"tau": 0.0}, {"batch_size": 0}])
def test_a_configuration_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        strategies.get("scl").Config(**wrong)
