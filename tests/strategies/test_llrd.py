"""Which layer moves at which rate."""

import pytest
from small_fits import fit, weights

from thawbench.contracts import Budget
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.llrd import Llrd, LlrdConfig
from thawbench.strategies.trainable import Body


def test_each_layer_below_the_head_moves_at_the_factor_of_the_one_above(tiny: AdaptedEncoder) -> None:
    blocks = Llrd(LlrdConfig(factor=0.5)).blocks(Body.of(tiny.source))

    assert {block.name: block.lr_scale for block in blocks} == {"embeddings": 0.125, "layer.0": 0.25, "layer.1": 0.5}


def test_the_first_update_of_adam_is_as_long_as_the_rate(tiny: AdaptedEncoder) -> None:
    tuned = fit("llrd", tiny, budget=Budget(steps=1), lr=1e-3, factor=0.5, weight_decay=0.0)
    longest = {
        layer: max(
            (now - weights(tiny)[name]).abs().max().item()
            for name, now in weights(tuned).items()
            if name.startswith(f"encoder.layer.{layer}.")
        )
        for layer in (0, 1)
    }

    assert longest == pytest.approx({0: 0.25e-3, 1: 0.5e-3}, rel=0.01)
