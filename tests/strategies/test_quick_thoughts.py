"""Quick-Thoughts' parts by hand: who stands beside whom, what that costs, and the readers."""

import math

import numpy as np
import pytest
import torch

from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.quick_thoughts import (
    QuickThoughtsSource,
    Reader,
    ReaderKind,
    neighbours,
    quick_thoughts_loss,
    two_readers,
)
from thawbench.strategies.randomness import seeded

TEXTS = ["the cat sat on the mat", "a dog ran", "the film was not good at all", ""]


def test_neighbours_in_a_batch_of_four_end_where_a_document_ends() -> None:
    whole = neighbours(np.arange(4), np.zeros(4, dtype=np.intp)).astype(int)
    assert whole.tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    # two sentences of one document and two of the next
    split = neighbours(np.arange(4), np.array([0, 0, 1, 1])).astype(int)
    assert split.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    # document 2 comes before document 1 in this batch, of which the last sentence lies in the next one
    shuffled = neighbours(np.array([7, 8, 9, 4]), np.array([2, 2, 2, 1])).astype(int)
    assert shuffled.tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def share(row: list[float], wanted: list[int]) -> float:
    """The mean over the wanted ones of -log softmax."""
    total = math.log(sum(math.exp(score) for score in row))
    return sum(total - row[place] for place in wanted) / len(wanted)


def test_the_loss_of_four_sentences_worked_by_hand_for_each_self_score() -> None:
    scores = [[5.0, 1.0, 0.0, 2.0], [1.0, 3.0, 2.0, 0.0], [0.0, 1.0, 9.0, 4.0], [2.0, 2.0, 2.0, 7.0]]
    beside = torch.from_numpy(neighbours(np.array([0, 1, 2, 9]), np.array([0, 0, 0, 1])))
    # the last sentence is alone in its document: a candidate, but with nothing to find
    by_hand = {
        "keep": [share([5, 1, 0, 2], [1]), share([1, 3, 2, 0], [0, 2]), share([0, 1, 9, 4], [1])],
        "zero": [share([0, 1, 0, 2], [1]), share([1, 0, 2, 0], [0, 2]), share([0, 1, 0, 4], [1])],
        "exclude": [share([1, 0, 2], [0]), share([1, 2, 0], [0, 1]), share([0, 1, 4], [1])],
    }
    for self_score, rows in by_hand.items():
        found = quick_thoughts_loss(torch.tensor(scores), beside, self_score)  # type: ignore[arg-type]
        assert found.item() == pytest.approx(sum(rows) / 3, rel=1e-6), self_score


def test_an_excluded_self_score_has_no_gradient_that_is_no_number() -> None:
    scores = torch.zeros(3, 3, requires_grad=True)
    beside = torch.from_numpy(neighbours(np.arange(3), np.zeros(3, dtype=np.intp)))
    quick_thoughts_loss(scores, beside, "exclude").backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad.diagonal() == 0).all()


@pytest.mark.parametrize("kind", ["gru", "linear"])
def test_a_reader_does_not_read_padding(kind: ReaderKind) -> None:
    with seeded(0, "test"):
        reader = Reader(kind, 6, 4)
        states = torch.randn(2, 5, 6)
    lengths = torch.tensor([3, 5])
    with torch.inference_mode():
        both = reader(states, lengths)
        alone = reader(states[:1, :3], lengths[:1])
        assert both.shape == (2, 4)
        assert torch.allclose(both[0], alone[0], atol=1e-6)
        assert not torch.allclose(both[0], reader(states, torch.tensor([4, 5]))[0], atol=1e-4)


def test_a_linear_reader_is_the_map_of_the_mean_state() -> None:
    with seeded(0, "test"):
        reader = Reader("linear", 6, 4)
        states = torch.randn(1, 5, 6)
    assert reader.linear is not None
    expected = states[0, :3].mean(dim=0) @ reader.linear.weight.T + reader.linear.bias
    assert torch.allclose(reader(states, torch.tensor([3]))[0], expected, atol=1e-6)


def test_vectors_are_f_beside_g_in_input_order_and_known_by_their_weights(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    with seeded(0, "test"):
        readers, others = two_readers("gru", 32, 8), two_readers("gru", 32, 8)
    source = QuickThoughtsSource(tiny.source, readers)
    vectors = source.encode(TEXTS)
    assert vectors.shape == (4, source.dim) == (4, 16)
    for place, text in enumerate(TEXTS):
        states, lengths = tiny.source.token_states([tiny.source.tokenize([text])[0].ids])
        with torch.inference_mode():
            alone = torch.cat([readers["f"](states, lengths), readers["g"](states, lengths)], dim=1)[0]
        assert vectors[place] == pytest.approx(alone.numpy(), abs=1e-5)
    assert source.encode([]).shape == (0, 16)
    keys = {each.key for each in (source, QuickThoughtsSource(tiny.source, others), tiny.source)}
    assert len(keys) == 3
    extra = sum(weight.numel() for weight in readers.parameters())
    assert source.total_parameters == tiny.source.total_parameters + extra
    assert next(source.hidden_states(TEXTS[:1])).states.shape[0] == 3
