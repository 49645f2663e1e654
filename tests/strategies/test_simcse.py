"""SimCSE beside its formula, and what makes two readings of one text differ."""

import math

import numpy as np
import pytest
import torch

from thawbench.contracts import Seeds
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.simcse import Simcse, SimcseConfig, TwoReadings, in_batch_softmax
from thawbench.strategies.trainable import Body

TEXTS = ["the cat sat on the mat", "a dog ran under the rug", "the film was not good", "who sat on the rug"]


def objective(tiny: AdaptedEncoder, dropout: float) -> TwoReadings:
    body = Body.of(tiny.source).copy(dropout)
    return Simcse(SimcseConfig(batch_size=4)).objective(tiny, body, TEXTS, Seeds())


def test_the_loss_of_three_rows_worked_by_hand() -> None:
    left = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    right = torch.tensor([[1.0, 0.0], [0.0, 5.0], [1.0, 0.0]])
    # cosines: (1, 0, 1), (0, 1, 0), (.6, .8, .6); at tau .5 their doubles are the logits
    rows = [
        -2 + math.log(2 * math.exp(2) + 1),
        -2 + math.log(math.exp(2) + 2),
        -1.2 + math.log(2 * math.exp(1.2) + math.exp(1.6)),
    ]
    assert in_batch_softmax(left, right, 0.5).item() == pytest.approx(sum(rows) / 3, rel=1e-6)


def test_the_loss_equals_a_loop_from_the_formula() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(5, 7)), rng.normal(size=(5, 7))
    total = 0.0
    for i in range(5):
        cosines = [left[i] @ right[j] / np.linalg.norm(left[i]) / np.linalg.norm(right[j]) for j in range(5)]
        total -= np.log(np.exp(cosines[i] / 0.05) / sum(np.exp(cosine / 0.05) for cosine in cosines))
    found = in_batch_softmax(torch.from_numpy(left).float(), torch.from_numpy(right).float(), 0.05)
    assert found.item() == pytest.approx(total / 5, rel=1e-5)


def test_the_loss_is_taken_in_float32_where_products_are_in_bfloat16() -> None:
    rng = np.random.default_rng(0)
    left, right = (torch.from_numpy(rng.normal(size=(5, 7))).float() for _ in range(2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = in_batch_softmax(left, right, 0.05)
    assert found.item() == in_batch_softmax(left, right, 0.05).item()


def test_the_two_readings_differ_by_dropout_alone(tiny: AdaptedEncoder) -> None:
    batch = np.arange(4)
    exact = objective(tiny, 0.0)
    exact.module.train()
    ids = [row.tokens.ids for row in exact._train]
    with torch.no_grad():
        once = Body.of(tiny.source).forward(ids)
        assert exact.loss(batch, 0).item() == pytest.approx(in_batch_softmax(once, once, 0.05).item(), abs=1e-4)
        dropped = objective(tiny, 0.3)
        dropped.module.train()
        losses = []
        for seed in (0, 0, 1):
            with seeded(seed, "test"):
                losses.append(dropped.loss(batch, 0).item())
    assert losses[0] == losses[1] != losses[2]
    assert losses[0] > exact.loss(batch, 0).item()


def test_held_out_texts_are_read_with_dropout_and_the_model_left_in_evaluation(tiny: AdaptedEncoder) -> None:
    texts = [f"{text} {word}" for text in TEXTS for word in ("cat", "dog", "film", "plot", "wing")]
    scores = {}
    for dropout in (0.0, 0.3):
        body = Body.of(tiny.source).copy(dropout)
        judged = Simcse(SimcseConfig(batch_size=4)).objective(tiny, body, texts, Seeds())
        judged.module.eval()
        scores[dropout] = judged.dev_score()
        assert judged.dev_score() == scores[dropout]
        assert not judged.module.training
    assert scores[0.3] is not None
    assert scores[0.0] is not None
    assert scores[0.3] < scores[0.0]
    assert generator(0, "held out").permutation(20)[:4].tolist() != [0, 1, 2, 3]


@pytest.mark.parametrize("wrong", [{"tau": 0.0}, {"dropout": 1.0}, {"batch_size": 1}])
def test_a_config_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SimcseConfig(**wrong)  # type: ignore[arg-type]
