"""Frozen layers stay, are read once a text, and give what they would give if they were read in every step."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, inputs_of, moods, moved, pairs, weights
from transformers import (
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PretrainedConfig,
    PreTrainedModel,
    XLNetConfig,
    XLNetModel,
)

from thawbench.contracts import Budget, Seeds
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.finetune import Finetune
from thawbench.strategies.freeze_lower import FreezeLower, FreezeLowerConfig
from thawbench.strategies.optimizer import BETAS, EPS
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body

SMALL: dict[str, Any] = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}


class Recomputed(FreezeLower):
    """The same weights trained, and every layer run in every step."""

    in_training = Finetune.in_training


def recomputed(start: AdaptedEncoder, data: Any, **config: Any) -> AdaptedEncoder:
    made = Recomputed(FreezeLowerConfig(**config)).fit(start, data, seeds=Seeds(), budget=Budget(epochs=3), adapt=_none)
    assert isinstance(made, AdaptedEncoder)
    return made


def test_embeddings_and_lower_layers_are_bit_equal_afterwards(tiny: AdaptedEncoder) -> None:
    names = {name for name in weights(tiny) if not name.startswith("pooler.")}
    tuned = fit("freeze_lower", tiny, k=1)

    assert moved(tuned, tiny) == {name for name in names if name.startswith("encoder.layer.1.")}
    assert set(tuned.trace[0].gradient_norm) == {"layer.1", "head"}
    assert fit("freeze_lower", tiny, k=2).source is tiny.source


@pytest.mark.parametrize("reading", ["texts", "joint", "siamese"])
@pytest.mark.parametrize("k", [1, 2])
def test_it_is_what_it_would_be_with_every_layer_run_in_every_step(tiny: AdaptedEncoder, k: int, reading: str) -> None:
    data = moods(dev=True) if reading == "texts" else pairs()
    config: dict[str, Any] = {"k": k, "dropout": 0.0, "lr": 1e-3}
    if reading == "siamese":
        config["pairs"] = "siamese"
    kept, again = fit("freeze_lower", tiny, data, **config), recomputed(tiny, data, **config)

    assert np.allclose(
        kept.predict(inputs_of(data), data.name), again.predict(inputs_of(data), data.name), rtol=1e-4, atol=1e-5
    )
    assert [row.loss for row in kept.trace] == pytest.approx([row.loss for row in again.trace], rel=1e-4)
    assert kept.trace[0].loss != pytest.approx(kept.trace[-1].loss, rel=1e-3)


@pytest.mark.parametrize("pooling", ["cls", "max", "first_last_mean", "sequence_summary"])
def test_so_it_is_under_every_pooling(tiny: AdaptedEncoder, pooling: Any) -> None:
    assert isinstance(tiny.source, Encoder)
    source = Encoder(dataclasses.replace(tiny.source.info, pooling=pooling), tiny.source.model, tiny.source.tokenizer)
    start = dataclasses.replace(tiny, source=source)
    kept, again = (make(start, moods(), k=1, dropout=0.0) for make in (_fit, recomputed))

    assert np.allclose(kept.predict(TEXTS, "moods"), again.predict(TEXTS, "moods"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (MPNetModel, MPNetConfig(intermediate_size=64, pad_token_id=0, **SMALL)),
        (DistilBertModel, DistilBertConfig(hidden_dim=64, **SMALL)),
        (XLNetModel, XLNetConfig(vocab_size=100, d_model=32, n_layer=3, n_head=2, d_inner=64)),
    ],
    ids=["layers that give tuples", "layers that give tensors", "layers that see batches turned round"],
)
def test_so_it_is_for_other_architectures(
    tiny: AdaptedEncoder, kind: type[PreTrainedModel], config: PretrainedConfig
) -> None:
    assert isinstance(tiny.source, Encoder)
    with seeded(0, "test"):
        model = kind(config).train(False)
    info = dataclasses.replace(tiny.source.info, layer=3)
    start = AdaptedEncoder(Encoder(info, model, tiny.source.tokenizer), has_layers=True)
    kept, again = (make(start, moods(), k=2, dropout=0.0, lr=1e-2) for make in (_fit, recomputed))

    assert np.allclose(kept.predict(TEXTS, "moods"), again.predict(TEXTS, "moods"), rtol=1e-4, atol=1e-5)
    assert {name.split("layer.")[1][0] for name in moved(kept, start)} == {"2"}


def test_a_text_is_read_by_frozen_layers_once_however_many_epochs(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    token_states = Encoder.token_states

    def counted(encoder: Encoder, *arguments: Any) -> Any:
        read.extend(arguments[0])
        return token_states(encoder, *arguments)

    monkeypatch.setattr(Encoder, "token_states", counted)
    fit("freeze_lower", tiny, moods(dev=True), budget=Budget(epochs=20), k=1)

    assert len(read) == len(TEXTS)


def test_with_all_layers_frozen_it_is_a_head_on_frozen_features(tiny: AdaptedEncoder) -> None:
    """Trained here by torch alone: full batches, so that their order does not matter; warm-up over 2 of 20 steps."""
    data = moods()
    found = fit("freeze_lower", tiny, data, budget=Budget(epochs=20), k=2, lr=1e-2, dropout=0.0, weight_decay=0.0)
    with seeded(0, "head"):
        head = Classifier("linear", "texts", 32, 2)
    vectors = torch.from_numpy(tiny.encode([str(item) for item in inputs_of(data)]))
    gold = torch.tensor([["bad", "good"].index(row.label or "") for row in data.labelled])
    optimizer = torch.optim.AdamW(head.parameters(), betas=BETAS, eps=EPS, weight_decay=0.0)
    for step in range(20):
        optimizer.param_groups[0]["lr"] = 1e-2 * ((step + 1) / 2 if step < 2 else (20 - step) / 18)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(head(vectors), gold).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        expected = head(torch.from_numpy(tiny.encode(TEXTS))).numpy()

    assert np.allclose(found.predict(TEXTS, "moods"), expected, atol=1e-5)
    assert found.state.cost.trainable_parameters == 2 * 32 + 2


def test_two_thirds_are_frozen_unless_it_is_told_otherwise(tiny: AdaptedEncoder) -> None:
    assert {name.split(".")[2] for name in moved(fit("freeze_lower", tiny), tiny)} == {"1"}


def test_there_is_dropout_above_and_none_below(tiny: AdaptedEncoder) -> None:
    start = Body.of(tiny.source)
    body = start.copy(0.3)
    with FreezeLower(FreezeLowerConfig(k=1, dropout=0.3)).in_training(body, start, Seeds(), 0):
        pass
    rates = [
        {module.p for module in part.modules() if isinstance(module, torch.nn.Dropout)}
        for part in (body.encoder.model.get_submodule("embeddings"), *body.layers())
    ]
    assert rates == [{0.0}, {0.0}, {0.3}]


def test_layers_that_are_one_block_cannot_be_told_apart(tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "layer_prefix", None)
    for name in ("freeze_lower", "drop_top", "reinit_top"):
        with pytest.raises(NotApplicableError, match="one and the same block"):
            fit(name, tiny, k=1)


def _fit(start: AdaptedEncoder, data: Any, **config: Any) -> AdaptedEncoder:
    return fit("freeze_lower", start, data, **config)


def _none(*_: Any) -> Any:
    raise AssertionError("not asked for")
