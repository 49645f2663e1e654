"""The losses of the pair strategies, worked by hand and beside sentence-transformers."""

import math
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
    SoftmaxLoss,
    TripletLoss,
)
from torch import Tensor, nn

from thawbench.contracts import ClassTarget, Labelled, Pair, ScoreTarget, Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.mnr import Mnr, MnrConfig, ranking_loss
from thawbench.strategies.sbert_cosine import SbertCosine, cosine_regression
from thawbench.strategies.sbert_softmax import SbertSoftmax, classified, softmax_loss
from thawbench.strategies.triplet import Triplet, TripletConfig, negatives_of, triplet_loss

NLI = TrainSet(
    "nli",
    1,
    "n",
    pairs=(
        Pair("a", "b", "entailment"),
        Pair("a", "c", "contradiction"),
        Pair("d", "e", "neutral"),
        Pair("f", "g", "entailment"),
    ),
)


class Vectors(SentenceTransformer):
    """Stands in for a model: its features are the vectors themselves."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:  # type: ignore[override]
        return features


def theirs(loss: Any, columns: list[Tensor], labels: Tensor | None = None) -> float:
    given = torch.zeros(len(columns[0])) if labels is None else labels
    return float(loss([{"sentence_embedding": column} for column in columns], given).detach())


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_ranking_three_rows_by_hand() -> None:
    anchors = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    candidates = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    # cosines, the last column a hard negative: (1 0 0 -1), (0 1 1 0), (1 0 0 -1); times 2
    rows = [
        math.log(math.exp(2) + 2 + math.exp(-2)) - 2,
        math.log(2 * math.exp(2) + 2) - 2,
        math.log(math.exp(2) + 2 + math.exp(-2)),
    ]
    assert ranking_loss(anchors, candidates, 2.0).item() == pytest.approx(sum(rows) / 3, rel=1e-6)


def test_ranking_is_sentence_transformers_with_and_without_hard_negatives() -> None:
    anchors, positives, negatives = drawn(8, 5), drawn(8, 5) + drawn(8, 5).roll(1), drawn(8, 6)[:, :5]
    reference = MultipleNegativesRankingLoss(Vectors())
    assert ranking_loss(anchors, positives, 20.0).item() == pytest.approx(
        theirs(reference, [anchors, positives]), rel=1e-5
    )
    everyone = torch.cat([positives, negatives])
    assert ranking_loss(anchors, everyone, 20.0).item() == pytest.approx(
        theirs(reference, [anchors, positives, negatives]), rel=1e-5
    )


def test_mnr_ranks_the_contradiction_of_one_premise_for_all_anchors() -> None:
    lesson = Mnr(MnrConfig(scale=3.0)).lesson(NLI, 4, Seeds())
    assert [example.texts for example in lesson.examples] == [("a", "b", "c"), ("f", "g")]
    assert lesson.distinct
    anchors, positives, negatives = drawn(2, 4), drawn(2, 5)[:, :4], drawn(1, 4)
    found = lesson.loss([anchors, positives, negatives], torch.tensor([1.0, 0.0]))
    assert found.item() == ranking_loss(anchors, torch.cat([positives, negatives]), 3.0).item()


def test_a_triplet_of_three_rows_by_hand() -> None:
    anchors = torch.zeros(3, 2)
    positives = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    negatives = torch.tensor([[0.0, 5.5], [0.0, 3.0], [1.0, 0.0]])
    # 5 - 5.5 + 1, 1 - 3 + 1 < 0, 2 - 1 + 1
    assert triplet_loss(anchors, positives, negatives, 1.0).item() == pytest.approx((0.5 + 0 + 2) / 3)


def test_a_triplet_is_sentence_transformers() -> None:
    anchors, positives, negatives = columns = [drawn(8, 5), drawn(8, 6)[:, :5], drawn(8, 7)[:, :5]]
    assert triplet_loss(anchors, positives, negatives, 1.0).item() == pytest.approx(
        theirs(TripletLoss(Vectors(), triplet_margin=1), columns), rel=1e-5
    )


def test_who_has_no_negative_of_its_own_takes_the_positive_before() -> None:
    positives = torch.tensor([[1.0], [2.0], [3.0]])
    own = torch.tensor([[9.0]])
    assert negatives_of(positives, [own], torch.tensor([0.0, 1.0, 0.0])).tolist() == [[3], [9], [2]]
    assert negatives_of(positives, [], torch.zeros(3)).tolist() == [[3], [1], [2]]
    assert positives.tolist() == [[1], [2], [3]]


def test_triplet_learns_from_them() -> None:
    lesson = Triplet(TripletConfig(margin=0.5)).lesson(NLI, 4, Seeds())
    anchors, positives, negatives = drawn(2, 4), drawn(2, 5)[:, :4], drawn(1, 4)
    found = lesson.loss([anchors, positives, negatives], torch.tensor([1.0, 0.0]))
    expected = triplet_loss(anchors, positives, torch.stack([negatives[0], positives[0]]), 0.5)
    assert found.item() == expected.item()


def test_cosine_regression_of_three_rows_by_hand() -> None:
    left = torch.tensor([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    right = torch.tensor([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]])
    # cosines 1, 0 and .6
    found = cosine_regression(left, right, torch.tensor([0.5, 0.5, 1.0]))
    assert found.item() == pytest.approx((0.25 + 0.25 + 0.16) / 3, rel=1e-6)


def test_cosine_regression_is_sentence_transformers() -> None:
    left, right, gold = drawn(8, 5), drawn(8, 6)[:, :5], drawn(8).sigmoid()
    expected = theirs(CosineSimilarityLoss(Vectors()), [left, right], gold)
    assert cosine_regression(left, right, gold).item() == pytest.approx(expected, rel=1e-5)


def test_scores_go_from_0_to_1_and_so_do_relations_without_the_neutral_one() -> None:
    scored = (Pair("a", "b", score=1.0), Pair("a", "c", score=5.0), Pair("a", "d", score=4.0))
    data = TrainSet("stars", 1, "s", ScoreTarget(1.0, 5.0), pairs=scored)
    assert [example.gold for example in SbertCosine().lesson(data, 4, Seeds()).examples] == [0, 1, 0.75]
    related = SbertCosine().lesson(NLI, 4, Seeds()).examples
    assert [(example.texts[1], example.gold) for example in related] == [("b", 1), ("c", 0), ("g", 1)]


def test_equal_scores_teach_no_cosine() -> None:
    data = TrainSet("same", 1, "s", pairs=(Pair("a", "b"), Pair("c", "d")))
    with pytest.raises(NotApplicableError, match="same has no pairs of different scores"):
        SbertCosine().lesson(data, 4, Seeds())


def test_a_softmax_of_three_rows_by_hand() -> None:
    left, right = torch.tensor([[1.0], [2.0], [0.0]]), torch.tensor([[3.0], [2.0], [1.0]])
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))  # u, and |u - v|
        layer.bias.zero_()
    # logits (1, 2), (2, 0), (0, 1)
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 3
    assert softmax_loss(left, right, torch.tensor([1, 0, 0]), layer).item() == pytest.approx(expected, rel=1e-6)


def test_a_softmax_is_sentence_transformers() -> None:
    left, right, classes = drawn(8, 5), drawn(8, 6)[:, :5], torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    reference = SoftmaxLoss(Vectors(), embedding_dimension=5, num_labels=3)
    expected = theirs(reference, [left, right], classes)
    assert softmax_loss(left, right, classes, reference.classifier).item() == pytest.approx(expected, rel=1e-5)


def test_classes_are_the_relations_or_else_those_of_labelled_pairs() -> None:
    assert classified(NLI, NLI.target)[1:3] == [(("a", "c"), "contradiction"), (("d", "e"), "neutral")]
    lesson = SbertSoftmax().lesson(NLI, 4, Seeds())
    assert [example.gold for example in lesson.examples] == [1, 0, 2, 1]
    assert isinstance(lesson.head, nn.Linear)
    assert lesson.head.weight.shape == (3, 12)
    labelled = (Labelled(("a", "b"), "equivalent"), Labelled(("c", "d"), "not_equivalent"))
    data = TrainSet("mrpc", 1, "m", ClassTarget(("not_equivalent", "equivalent")), labelled)
    assert classified(data, data.target) == [(("a", "b"), "equivalent"), (("c", "d"), "not_equivalent")]


def test_scores_are_no_classes() -> None:
    data = TrainSet("stars", 1, "s", ScoreTarget(0.0, 5.0), pairs=(Pair("a", "b", score=2.0),))
    with pytest.raises(NotApplicableError, match="stars has no pairs of two different relations or classes"):
        SbertSoftmax().lesson(data, 4, Seeds())


@pytest.mark.parametrize(("config", "options"), [(MnrConfig, {"scale": 0.0}), (TripletConfig, {"margin": 0.0})])
def test_scale_and_margin_must_be_positive(config: Any, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        config(**options)
