"""A change of low rank: nothing at the start, what A and B say in the end, and an encoder like any other after that."""

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, moved, weights

from thawbench.contracts import Budget, Seeds
from thawbench.errors import NotApplicableError
from thawbench.strategies import lora
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.lora import Lora, LoraConfig
from thawbench.strategies.trainable import Body

PROJECTIONS = {f"encoder.layer.{place}.attention.self.{kind}.weight" for place in (0, 1) for kind in ("query", "value")}


def test_at_its_start_it_is_the_backbone(tiny: AdaptedEncoder) -> None:
    start = Body.of(tiny.source)
    body = start.copy()
    assert isinstance(tiny.source, Encoder)
    ids = [text.ids for text in tiny.source.tokenize(TEXTS)]
    with Lora(LoraConfig()).in_training(body, start, Seeds(), 0) as network:
        assert any("lora_A" in name for name, _ in network.encoder.model.named_parameters())
        assert np.array_equal(network.vectors(ids), tiny.encode(TEXTS))

    untrained = fit("lora", tiny, budget=Budget(steps=0))
    assert untrained.source is tiny.source


def test_only_queries_and_values_change_and_by_no_more_than_the_rank(tiny: AdaptedEncoder) -> None:
    tuned = fit("lora", tiny, lr=1e-2, r=2, alpha=2)

    assert moved(tuned, tiny) == PROJECTIONS
    for name in PROJECTIONS:
        change = (weights(tuned)[name] - weights(tiny)[name]).detach()
        assert torch.linalg.matrix_rank(change, rtol=1e-3) <= 2
        assert change.abs().max() > 1e-4
    assert tuned.state.cost.trainable_parameters == 4 * 2 * (32 + 32) + 2 * 32 + 2


def test_merged_it_makes_what_it_made_in_training(tiny: AdaptedEncoder) -> None:
    start = Body.of(tiny.source)
    body = start.copy()
    assert isinstance(tiny.source, Encoder)
    ids = [text.ids for text in tiny.source.tokenize(TEXTS)]
    with Lora(LoraConfig(r=4, alpha=8)).in_training(body, start, Seeds(), 0) as network:
        parts = dict(network.encoder.model.named_parameters())
        with torch.no_grad():
            for name, weight in parts.items():
                if "lora_B" in name:
                    weight.copy_(torch.linspace(-1, 1, weight.numel()).reshape(weight.shape))
        before, a, b = (parts[f"{_first(kind)}"].clone() for kind in ("base_layer", "lora_A.default", "lora_B.default"))
        apart = network.vectors(ids)

    assert not np.allclose(apart, tiny.encode(TEXTS), atol=0.1)
    assert np.allclose(body.vectors(ids), apart, atol=1e-4)
    merged = body.encoder.model.get_parameter("encoder.layer.0.attention.self.query.weight")
    assert torch.allclose(merged, before + 8 / 4 * b @ a, atol=1e-6)


def test_a_later_step_tunes_it_on(tiny: AdaptedEncoder) -> None:
    tuned = fit("finetune", fit("lora", tiny, lr=1e-2))
    assert set(weights(tuned)) == set(weights(tiny))


def test_an_encoder_whose_projections_have_other_names_is_none_for_it(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawbench.strategies.lora._PROJECTIONS", frozenset())
    with pytest.raises(NotApplicableError, match="no linear query and value projections"):
        fit("lora", tiny)


def test_peft_waits_for_a_fit() -> None:
    """Importing it takes seconds; that it warns of nothing is seen by every test here, since warnings are errors."""
    assert "peft" not in vars(lora)


def _first(kind: str) -> str:
    return f"encoder.layer.0.attention.self.query.{kind}.weight"


def test_on_a_chain_each_set_has_an_a_of_its_own(tiny: AdaptedEncoder) -> None:
    start = Body.of(tiny.source)

    def drawn(place: int) -> torch.Tensor:
        with Lora(LoraConfig()).in_training(start.copy(), start, Seeds(init=3), place) as network:
            return dict(network.encoder.model.named_parameters())[_first("lora_A.default")].clone()

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.allclose(drawn(0), drawn(1), atol=1e-2)
