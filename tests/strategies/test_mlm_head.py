"""The masked-language-model head beside transformers' own, for every layout of checkpoint that is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AlbertConfig,
    AutoModelForMaskedLM,
    BertConfig,
    DistilBertConfig,
    MPNetConfig,
    PretrainedConfig,
    RobertaConfig,
)

from thawbench.strategies.backbone import load_backbone, quiet_transformers, resolve_backbone
from thawbench.strategies.encoder import Encoder, with_random_weights
from thawbench.strategies.mlm_head import head_of, new_head, own_head, word_table
from thawbench.strategies.randomness import seeded

SHAPE: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
CONFIGS = [
    BertConfig(vocab_size=90, hidden_act="relu", **SHAPE),
    RobertaConfig(vocab_size=90, pad_token_id=0, **SHAPE),
    MPNetConfig(vocab_size=90, pad_token_id=0, **SHAPE),
    DistilBertConfig(vocab_size=90, dim=32, n_layers=2, n_heads=2, hidden_dim=64),
    AlbertConfig(vocab_size=90, embedding_size=16, **SHAPE),
]


def with_mlm_model(tiny_folder: Path, folder: Path, config: PretrainedConfig) -> tuple[Encoder, Any]:
    """A folder with a checkpoint of the config's masked language model, as an encoder and as transformers' model."""
    folder.mkdir()
    for file in tiny_folder.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    with quiet_transformers():
        with seeded(5, "test"):
            model = AutoModelForMaskedLM.from_config(config)  # type: ignore[no-untyped-call]
            with torch.no_grad():
                for weight in model.parameters():
                    weight.add_(0.2 * torch.randn_like(weight))  # so that no bias is 0 and no norm is 1
        model.save_pretrained(folder)
    source = load_backbone(resolve_backbone(str(folder), precision="float32", device="cpu")).source
    assert isinstance(source, Encoder)
    return source, model.eval()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.model_type)
def test_a_checkpoints_own_head_gives_the_logits_that_transformers_gives(
    config: PretrainedConfig, tiny_folder: Path, tmp_path: Path
) -> None:
    encoder, model = with_mlm_model(tiny_folder, tmp_path / "model", config)
    head = own_head(encoder)
    assert head is not None
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 90, (3, 7)))
    with torch.inference_mode():
        expected = model(input_ids=ids).logits
        got = head(encoder.model(input_ids=ids).last_hidden_state, word_table(encoder))
    assert got.shape == expected.shape
    assert torch.allclose(got, expected, atol=1e-5)
    assert expected.std() > 0.1
    assert own_head(with_random_weights(encoder, 1)) is None  # for all else of it was drawn at random


def test_the_names_of_the_first_berts_are_read_too(tiny_folder: Path, tmp_path: Path) -> None:
    encoder, _ = with_mlm_model(tiny_folder, tmp_path / "model", BertConfig(vocab_size=90, **SHAPE))
    head = own_head(encoder)
    assert head is not None
    file = tmp_path / "model" / "model.safetensors"
    old = {"weight": "gamma", "bias": "beta"}
    renamed = {
        f"{place}.LayerNorm.{old[end]}" if (place := name.removesuffix(f".LayerNorm.{end}")) != name else name: tensor
        for name, tensor in load_file(file).items()
        for end in [name.rpartition(".")[2]]
    }
    assert "cls.predictions.transform.LayerNorm.gamma" in renamed
    save_file(renamed, file, {"format": "pt"})
    again = own_head(encoder)
    assert again is not None
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in head.state_dict().items())


def test_a_decoder_that_is_not_tied_counts_as_none(tiny_folder: Path, tmp_path: Path) -> None:
    config = BertConfig(vocab_size=90, tie_word_embeddings=False, **SHAPE)
    encoder, _ = with_mlm_model(tiny_folder, tmp_path / "model", config)
    assert own_head(encoder) is None


def test_a_backbone_without_a_head_gets_one_by_seed(tiny: Any) -> None:
    encoder = tiny.source
    assert own_head(encoder) is None
    first, again, other = (new_head(encoder, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["dense.weight"], other["dense.weight"])
    assert torch.equal(head_of(tiny, encoder, 1).state_dict()["dense.weight"], other["dense.weight"])


def test_the_decoder_is_the_encoders_table_and_no_copy_of_it(tiny: Any) -> None:
    encoder = tiny.source
    head = new_head(encoder, 0)
    assert not any(weight.shape == word_table(encoder).shape for weight in head.parameters())
    states = torch.ones(1, encoder.dim)
    table = word_table(encoder).detach()
    assert torch.allclose(head(states, 2 * table), 2 * head(states, table), atol=1e-6)  # its bias begins at 0
