"""From a vector per token to a vector per text."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from thawbench.errors import UserError

Pooling = Literal["mean", "cls", "max", "first_last_mean", "sequence_summary"]
"""
mean              mean over the text's tokens, padding left out
cls               the first token's vector
max               greatest value of each dimension over the text's tokens, padding left out
first_last_mean   masked mean of the average of two layers: after the first block, and the one that is read
sequence_summary  mean over all positions, padding included: what transformers' SequenceSummary does. There the vector
                  depends on how long the batch's longest text is; here every text is padded to `max_length`, so that
                  it does not depend on its neighbours. It does depend on `max_length`.
"""


def layers_read(pooling: Pooling, layer: int) -> tuple[int, ...]:
    """The hidden layers that `pool` wants, in order; 0 = embeddings.

    Raises:
        UserError: the pooling averages two layers, and `layer` lies below the first block.
    """
    if pooling != "first_last_mean":
        return (layer,)
    if layer < 1:
        raise UserError("pooling=first_last_mean needs layer=1 or above: it averages that layer and the first block's")
    return (1, layer)


def pool(pooling: Pooling, states: Sequence[Tensor], mask: Tensor | None) -> Tensor:
    """Vectors (batch, dim) in float32.

    Args:
        states: one tensor (batch, tokens, dim) per layer of `layers_read`; the first token is at position 0.
        mask: (batch, tokens), 1 for a token and 0 for padding; None if there is no padding.
    """
    tokens = states[-1].float()
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "sequence_summary":
        return tokens.mean(dim=1)
    if pooling == "max":
        if mask is not None:
            tokens = tokens.masked_fill(mask.unsqueeze(-1) == 0, -torch.inf)
        return tokens.amax(dim=1)
    if pooling == "first_last_mean":
        tokens = (states[0].float() + tokens) / 2
    if mask is None:
        return tokens.mean(dim=1)
    weights = mask.to(tokens.dtype).unsqueeze(-1)
    return (tokens * weights).sum(dim=1) / weights.sum(dim=1)
