"""The masked-language-model objective beside transformers' own loss, and what it trains."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

from thawbench.errors import NotApplicableError
from thawbench.strategies.backbone import load_backbone, quiet_transformers, resolve_backbone
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.masking import Masking
from thawbench.strategies.mlm_head import own_head
from thawbench.strategies.mlm_objective import MaskedLanguageModel, score_mlm
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule, train

TEXTS = ["the cat sat on the mat", "a dog ran under the rug", "the film was not good", "", "who sat on the rug?"]


@pytest.fixture(scope="module")
def folder(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared tiny encoder's architecture and tokenizer, with a masked-language-model head in its checkpoint."""
    folder = tmp_path_factory.mktemp("tiny_mlm")
    for file in tiny_folder.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    with quiet_transformers(), seeded(1, "test"):
        BertForMaskedLM(BertConfig.from_pretrained(tiny_folder)).save_pretrained(folder)
    return folder


@pytest.fixture
def encoder(folder: Path) -> Encoder:
    """A copy to be trained."""
    source = load_backbone(resolve_backbone(str(folder), precision="float32", device="cpu")).source
    return Body.of(source).copy(dropout=0.0).encoder


def objective(encoder: Encoder, **options: Any) -> MaskedLanguageModel:
    head = own_head(encoder)
    assert head is not None
    return MaskedLanguageModel(encoder, head, TEXTS, **{"batch_size": 2, "seed": 0, **options})


def test_the_loss_is_the_one_that_transformers_computes(encoder: Encoder, folder: Path) -> None:
    with quiet_transformers():
        model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    rows = [tokens.ids for tokens in encoder.tokenize([text for text in TEXTS if text])]
    ids = np.array([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    masked = Masking(encoder.tokenizer)(ids, generator(0, "masks", 7))
    labels = np.full(ids.size, -100)
    labels[masked.places] = masked.targets
    with torch.inference_mode():
        expected = model(
            input_ids=torch.from_numpy(masked.ids),
            attention_mask=torch.from_numpy((ids > 0).astype(np.int64)),
            labels=torch.from_numpy(labels.reshape(ids.shape)),
        ).loss
        got = objective(encoder).loss(np.arange(4), step=7)
    assert got.item() == pytest.approx(expected.item(), abs=1e-5)


def test_a_text_without_a_word_is_left_out_and_all_of_them_are_refused(encoder: Encoder) -> None:
    assert sorted(np.concatenate(objective(encoder).batches(0)).tolist()) == [0, 1, 2, 3]
    head = own_head(encoder)
    assert head is not None
    with pytest.raises(NotApplicableError, match="no text has a word"):
        score_mlm(encoder, head, [""])


def test_masks_differ_from_step_to_step_and_are_those_of_seed_and_step(encoder: Encoder) -> None:
    batch = np.arange(4)
    losses = [objective(encoder, seed=seed).loss(batch, step).item() for seed, step in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert losses[0] == losses[1]
    assert len(set(losses)) == 3


def test_all_layers_and_the_head_are_trained_whatever_layer_is_read(folder: Path) -> None:
    source = load_backbone(resolve_backbone(f"{folder}:layer=1", precision="float32", device="cpu")).source
    encoder = Body.of(source).copy().encoder
    blocks = objective(encoder).blocks()
    assert [block.name for block in blocks] == ["embeddings", "layer.0", "layer.1", "mlm_head"]
    trained = sum(weight.numel() for block in blocks for weight in block.parameters.values())
    with quiet_transformers():
        assert trained == sum(weight.numel() for weight in AutoModelForMaskedLM.from_pretrained(folder).parameters())


def test_training_by_it_lowers_the_loss_and_raises_the_accuracy(encoder: Encoder) -> None:
    aim = objective(encoder)
    head = own_head(encoder)
    assert head is not None
    before = score_mlm(encoder, head, TEXTS)
    trained = train(aim, Schedule(lr=3e-3, steps=60), seed=0, info=encoder.info)
    after = score_mlm(encoder, aim.module["mlm_head"], TEXTS)  # type: ignore[index]
    assert before.hidden == after.hidden >= 4
    assert after.loss < 0.5 * before.loss
    assert after.accuracy > before.accuracy
    assert trained.trace[-1].gradient_norm.keys() == {"embeddings", "layer.0", "layer.1", "mlm_head"}


def test_scores_are_the_same_twice_and_leave_the_model_as_it_was(encoder: Encoder) -> None:
    head = own_head(encoder)
    assert head is not None
    encoder.model.train()
    assert score_mlm(encoder, head, TEXTS) == score_mlm(encoder, head, TEXTS)
    assert encoder.model.training
