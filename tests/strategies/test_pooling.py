from typing import get_args

import pytest
import torch

from thawbench.errors import UserError
from thawbench.strategies.pooling import Pooling, layers_read, pool

FIRST = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [9.0, 9.0]]])
LAST = torch.tensor([[[3.0, -4.0], [5.0, -8.0], [100.0, 100.0]]])
MASK = torch.tensor([[1, 1, 0]])

# two tokens and one of padding; by hand
EXPECTED: dict[Pooling, list[float]] = {
    "mean": [4.0, -6.0],
    "cls": [3.0, -4.0],
    "max": [5.0, -4.0],
    "first_last_mean": [3.0, -2.5],
    "sequence_summary": [36.0, 88 / 3],
}


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_each_pooling_gives_what_is_worked_out_by_hand(pooling: Pooling) -> None:
    states = [FIRST, LAST] if pooling == "first_last_mean" else [LAST]
    torch.testing.assert_close(pool(pooling, states, MASK), torch.tensor([EXPECTED[pooling]]))


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_a_full_mask_and_no_mask_give_the_same(pooling: Pooling) -> None:
    states = [FIRST, LAST] if pooling == "first_last_mean" else [LAST]
    torch.testing.assert_close(pool(pooling, states, torch.ones_like(MASK)), pool(pooling, states, None))


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "first_last_mean"])
def test_only_sequence_summary_looks_at_padding(pooling: Pooling) -> None:
    other = LAST.clone()
    other[0, 2] = -7.0
    assert torch.equal(pool(pooling, [FIRST, LAST], MASK), pool(pooling, [FIRST, other], MASK))
    assert not torch.equal(pool("sequence_summary", [LAST], MASK), pool("sequence_summary", [other], MASK))


def test_pooled_vectors_are_float32_whatever_the_states_are() -> None:
    assert pool("mean", [LAST.bfloat16()], MASK).dtype == torch.float32


def test_first_last_mean_reads_the_first_block_and_the_chosen_layer() -> None:
    assert layers_read("first_last_mean", 4) == (1, 4)
    assert layers_read("mean", 4) == (4,)
    with pytest.raises(UserError, match="needs layer=1 or above"):
        layers_read("first_last_mean", 0)
