"""Contrastive tension beside sentence-transformers, and which pairs a batch makes."""

import math

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveTensionLoss
from torch import nn

from thawbench.contracts import Seeds
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.ct import ContrastiveTension, Ct, CtConfig, contrastive_tension_loss
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import generator
from thawbench.strategies.trainable import Body

TEXTS = ["the cat sat", "a dog ran under the rug", "the film was not good", "who sat on the rug", "what is good"]


class Vectors(SentenceTransformer):
    """Stands in for a model: its features are the vectors themselves."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:  # type: ignore[override]
        return features


def theirs(left: torch.Tensor, right: torch.Tensor, same: torch.Tensor) -> float:
    loss = ContrastiveTensionLoss(Vectors())
    return float(loss([{"sentence_embedding": left}, {"sentence_embedding": right}], same.float()))


def objective(tiny: AdaptedEncoder, **options: int) -> ContrastiveTension:
    body = Body.of(tiny.source).copy(0.0)
    return Ct(CtConfig(**{"batch_size": 4, **options})).objective(tiny, body, TEXTS, Seeds())


def test_the_loss_of_three_pairs_worked_by_hand() -> None:
    left = torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    right = torch.tensor([[1.0, 0.5], [2.0, -1.0], [-1.0, -1.0]])
    # products 2, 0, -3: -log sigmoid(2), -log sigmoid(0), -log sigmoid(3)
    expected = math.log(1 + math.exp(-2)) + math.log(2) + math.log(1 + math.exp(-3))
    found = contrastive_tension_loss(left, right, torch.tensor([True, False, False]))
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_the_loss_is_sentence_transformers_on_one_batch(tiny: AdaptedEncoder) -> None:
    aim = objective(tiny, negatives=2)
    rng = generator(0, "noise", 3)
    order = rng.permutation(4)
    ids = [aim._train[place].tokens.ids for place in order]
    body = Body.of(tiny.source)
    with torch.no_grad():
        vectors = body.forward(ids)
        left = vectors[[0, 0, 2, 2]]  # two groups of two: 4 texts in groups of at most K + 1 = 3
        expected = theirs(left, vectors, torch.tensor([True, False, True, False]))
        assert aim.loss(np.arange(4), 3).item() == pytest.approx(expected, rel=1e-5)


def test_the_two_copies_are_trained_apart_and_the_right_one_is_kept(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    aim = objective(tiny)
    names = [block.name for block in aim.blocks()]
    assert names == ["embeddings", "layer.0", "layer.1", "other.embeddings", "other.layer.0", "other.layer.1"]
    weights = [weight for block in aim.blocks() for weight in block.parameters.values()]
    assert len({id(weight) for weight in weights}) == len(weights)
    aim.loss(np.arange(4), 0).backward()  # type: ignore[no-untyped-call]
    gradients = [sum(float(w.grad.norm()) for w in b.parameters.values() if w.grad is not None) for b in aim.blocks()]
    assert min(gradients) > 0
    assert aim._right.encoder.model is not aim._left.encoder.model
    assert tiny.source.model not in (aim._right.encoder.model, aim._left.encoder.model)


def test_a_group_needs_a_negative() -> None:
    with pytest.raises(ValueError, match="negatives must be at least 1"):
        CtConfig(negatives=0)
