"""Biases move, and nothing else does."""

from typing import Any

import pytest
from small_fits import fit, moved, weights

from thawbench.contracts import Budget
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body


def test_every_bias_that_takes_part_moves_and_no_other_weight(tiny: AdaptedEncoder) -> None:
    tuned = fit("bitfit", tiny)
    biases = {name for name in weights(tiny) if name.endswith("bias") and not name.startswith("pooler.")}
    # the softmax does not see what is added to all keys
    unseen = {name for name in biases if name.endswith("key.bias")}

    assert biases - unseen <= moved(tuned, tiny) <= biases
    assert len(biases) == 1 + 2 * 8
    assert tuned.state.cost.trainable_parameters == sum(weights(tiny)[name].numel() for name in biases) + 2 * 32 + 2


def test_its_own_rate_holds_unless_another_is_given() -> None:
    kind = strategies.get("bitfit")
    for config, lr in (({}, 1e-3), ({"lr": 1e-2}, 1e-2), ({"recipe": "mosbach"}, 2e-5)):
        strategy: Any = kind(kind.Config(**config))
        assert strategy.schedule(80, Budget()).lr == lr


def test_an_encoder_without_biases_is_none_for_it(tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Body, "blocks", lambda self: [Block("embeddings", {})])
    with pytest.raises(NotApplicableError, match="has no biases to tune"):
        fit("bitfit", tiny)
