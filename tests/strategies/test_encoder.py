import dataclasses
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import AutoModel, AutoTokenizer, XLNetConfig, XLNetModel
from transformers.models.bert.modeling_bert import BertLayer

from thawbench.contracts import FloatArray
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.encoder import Encoder, with_random_weights
from thawbench.strategies.feature_cache import FeatureCache
from thawbench.strategies.pooling import Pooling
from thawbench.strategies.randomness import seeded

SENTENCES = [
    "A man is playing a guitar.",
    "",
    "The wing's lift grows with the angle of attack until the flow separates.",
    "Zürich 🎉 — naïve façade",
    "cell " * 400,
    "ok",
]


@pytest.fixture(scope="module")
def reference(embedded: AdaptedEncoder) -> SentenceTransformer:
    return SentenceTransformer(_encoder(embedded).info.folder, device="cpu")


def test_vectors_equal_those_of_sentence_transformers(embedded: AdaptedEncoder, reference: SentenceTransformer) -> None:
    theirs = reference.encode(SENTENCES, show_progress_bar=False)
    ours = embedded.encode(SENTENCES)
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize(("precision", "bound"), [("float32", 2e-6), ("bfloat16", 5e-2)])
def test_a_vector_depends_on_its_neighbours_by_no_more_than_is_stated(
    embedded: AdaptedEncoder, tmp_path: Path, precision: str, bound: float
) -> None:
    info = resolve_backbone("embedded", precision=precision, device="cpu")
    model, tokenizer = _encoder(embedded).model, _encoder(embedded).tokenizer
    encoder = Encoder(info, model, tokenizer, FeatureCache(tmp_path))
    together = encoder.encode(SENTENCES)
    alone = np.concatenate([encoder.encode([text]) for text in SENTENCES])
    assert np.abs(together - alone).max() <= bound


def test_bfloat16_gives_nearly_the_directions_of_float32(embedded: AdaptedEncoder) -> None:
    coarse = load_backbone(resolve_backbone("embedded", precision="bfloat16", device="cpu")).encode(SENTENCES)
    fine = embedded.encode(SENTENCES)
    assert coarse.dtype == np.float32
    assert not np.array_equal(coarse, fine)
    cosines = (coarse * fine).sum(1) / np.linalg.norm(coarse, axis=1) / np.linalg.norm(fine, axis=1)
    assert cosines.min() > 0.999


def test_order_is_kept_whatever_the_batch(tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat " * (place % 13) + chr(ord("a") + place % 26) for place in range(60)]
    random.Random(0).shuffle(texts)
    alone = np.concatenate([tiny.encode([text]) for text in texts])
    for budget in (1, 50, 10_000):
        monkeypatch.setitem(Encoder.encode.__globals__["BATCH_TOKENS"], "cpu", budget)
        monkeypatch.setattr(FeatureCache, "get", lambda *_: None)
        np.testing.assert_allclose(tiny.encode(texts), alone, atol=5e-6)


def test_no_texts_give_no_rows_and_the_empty_text_a_finite_vector(tiny: AdaptedEncoder) -> None:
    assert tiny.encode([]).shape == (0, 32)
    assert tiny.encode([]).dtype == np.float32
    vector = tiny.encode([""])
    assert np.isfinite(vector).all()
    assert np.abs(vector).max() > 0


def test_odd_texts_are_encoded_and_lone_surrogates_read_as_question_marks(tiny: AdaptedEncoder) -> None:
    odd = ["\0", " \n\t", "a" * 10_000, "\ud800 cat", "🎉", "العربية", "e\u0301"]
    vectors = tiny.encode(odd)
    assert vectors.shape == (len(odd), 32)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[3], tiny.encode(["? cat"])[0], atol=1e-6)


def test_what_is_cut_off_is_counted_and_not_read(tiny: AdaptedEncoder) -> None:
    exact, longer = "cat " * 62, "cat " * 62 + "dog"  # with the two marks: 64 tokens, the limit, and 65
    with metered() as meter:
        vectors = tiny.encode([exact, longer])
    assert (meter.texts, meter.truncated, meter.tokens) == (2, 1, 128)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


@pytest.mark.parametrize("pooling", get_args(Pooling))
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_each_layer_and_pooling_agrees_with_the_whole_model_run_by_hand(
    tiny_folder: Path, pooling: Pooling, layer: int
) -> None:
    if pooling == "first_last_mean" and layer == 0:
        pytest.skip("refused; see test_backbone")
    texts = ["the cat sat on the mat", "dog", ""]
    encoder = load_backbone(resolve_backbone(f"{tiny_folder}:pooling={pooling},layer={layer}", precision="float32"))
    model, tokenizer = AutoModel.from_pretrained(tiny_folder).eval(), AutoTokenizer.from_pretrained(tiny_folder)
    expected = np.stack([_by_hand(model, tokenizer, text, pooling, layer) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=2e-6)


def test_layers_above_the_one_that_is_read_are_not_computed(tiny_folder: Path) -> None:
    encoder = _encoder(load_backbone(resolve_backbone(f"{tiny_folder}:layer=1")))
    ran: list[int] = []
    blocks = [module for module in encoder.model.modules() if isinstance(module, BertLayer)]
    for place, block in enumerate(blocks):
        block.register_forward_hook(lambda *_, place=place: ran.append(place))
    encoder.encode(["a text that nobody encoded before"])
    assert ran == [0]
    assert not any(block._forward_pre_hooks for block in blocks)


def test_hidden_states_end_with_the_layer_that_is_read(tiny: AdaptedEncoder, tiny_folder: Path) -> None:
    whole = next(tiny.hidden_states(["the cat"])).states
    lower = next(
        load_backbone(resolve_backbone(f"{tiny_folder}:layer=1", precision="float32")).hidden_states(["the cat"])
    ).states

    assert (len(whole), len(lower)) == (3, 2)
    np.testing.assert_allclose(lower, whole[:2], atol=1e-6)


def test_hidden_states_hold_every_layer_of_every_token_in_input_order(tiny: AdaptedEncoder) -> None:
    texts = [*(f"{'cat ' * (place % 7)}dog" for place in range(40)), "", "Zü cat"]
    states = list(tiny.hidden_states(texts))
    assert len(states) == len(texts)
    for text, state in zip(texts, states, strict=True):
        assert state.states.shape == (3, len(state.offsets), 32)
        assert state.states.dtype == np.float32
        assert state.offsets.shape == (len(state.offsets), 2)
        words = [text[start:end] for start, end in state.offsets if start < end]
        assert "".join(words) == text.replace(" ", "")
    means = np.stack([state.states[-1].mean(axis=0) for state in states])
    np.testing.assert_allclose(means, tiny.encode(texts), atol=5e-6)


def test_encoding_draws_no_random_number_and_restores_the_mode(tiny: AdaptedEncoder) -> None:
    model = _encoder(tiny).model
    before = torch.get_rng_state()
    model.train()
    try:
        first = tiny.encode(["dropout would show here"])
        assert model.training
    finally:
        model.train(False)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(first, tiny.encode(["dropout would show here"]))


def test_dropout_is_off_even_if_the_model_is_in_training_mode(tiny: AdaptedEncoder, tmp_path: Path) -> None:
    encoder = Encoder(_encoder(tiny).info, _encoder(tiny).model, _encoder(tiny).tokenizer, FeatureCache(tmp_path))
    expected = encoder.encode(["the cat sat", "on"])[:1]
    encoder.model.train()
    try:
        np.testing.assert_allclose(encoder.encode(["the cat sat"]), expected, atol=1e-6)
    finally:
        encoder.model.train(False)


def test_the_key_changes_with_whatever_changes_a_vector(tiny: AdaptedEncoder, tiny_folder: Path) -> None:
    spellings = ["", ":layer=1", ":pooling=cls", ":max_length=32", ":pooling=max"]
    encoders = [
        _encoder(load_backbone(resolve_backbone(f"{tiny_folder}{spelled}", precision="float32")))
        for spelled in spellings
    ]
    coarse = _encoder(load_backbone(resolve_backbone(str(tiny_folder), precision="bfloat16")))
    keys = {encoder.key for encoder in [*encoders, coarse, *(with_random_weights(encoders[0], s) for s in (0, 1))]}
    assert len(keys) == 8
    assert _encoder(tiny).key == _encoder(load_backbone(resolve_backbone(str(tiny_folder), precision="float32"))).key


def test_the_key_changes_with_the_number_of_threads(tiny: AdaptedEncoder) -> None:
    threads, key = torch.get_num_threads(), _encoder(tiny).key
    try:
        torch.set_num_threads(threads + 1)
        assert _encoder(tiny).key != key
    finally:
        torch.set_num_threads(threads)


def test_random_weights_keep_the_architecture_and_follow_the_seed(tiny: AdaptedEncoder) -> None:
    before = torch.get_rng_state()
    drawn = [with_random_weights(_encoder(tiny), seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    vectors: list[FloatArray] = [encoder.encode(["the cat sat"]) for encoder in drawn]
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.allclose(vectors[0], vectors[2])
    assert not np.allclose(vectors[0], tiny.encode(["the cat sat"]))
    assert drawn[0].total_parameters == _encoder(tiny).total_parameters


def test_gradients_flow_through_forward(tiny: AdaptedEncoder) -> None:
    encoder = with_random_weights(_encoder(tiny), 0)
    ids = [tokens.ids for tokens in encoder.tokenize(["the cat", "dog"])]
    torch.autograd.backward(encoder.forward(ids).sum())
    embeddings = encoder.model.get_input_embeddings()
    assert isinstance(embeddings, nn.Embedding)
    assert embeddings.weight.grad is not None
    assert embeddings.weight.grad.abs().max() > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_tokenize_without_hanging_or_warning(tiny_folder: Path) -> None:
    program = (
        "import os, sys\n"
        "from thawbench.strategies.backbone import load_backbone, resolve_backbone\n"
        f"encoder = load_backbone(resolve_backbone({os.fspath(tiny_folder)!r})).source\n"
        "encoder.tokenize(['the cat'] * 500)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    encoder.tokenize(['the cat'] * 500)\n"
        "    os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_layer_below_the_top_is_read_where_blocks_see_batches_turned_round(tiny: AdaptedEncoder) -> None:
    given = _encoder(tiny)
    with seeded(0, "test"):
        model = XLNetModel(XLNetConfig(vocab_size=100, d_model=32, n_layer=3, n_head=2, d_inner=64)).train(False)
    encoder = Encoder(dataclasses.replace(given.info, layer=1, pooling="mean"), model, given.tokenizer)
    ids = [[2, 9, 8, 7, 3], [2, 6, 5, 4, 3]]

    with torch.inference_mode():
        read = model(input_ids=torch.tensor(ids), output_hidden_states=True).hidden_states[1]

    assert np.allclose(encoder.vectors(ids), read.mean(dim=1).numpy(), atol=1e-6)


def _encoder(adapted: AdaptedEncoder) -> Encoder:
    assert isinstance(adapted.source, Encoder)
    return adapted.source


def _by_hand(model: nn.Module, tokenizer: object, text: str, pooling: Pooling, layer: int) -> FloatArray:
    """One text by plain transformers, every layer computed."""
    assert callable(tokenizer)
    padding = {"padding": "max_length", "max_length": 64} if pooling == "sequence_summary" else {}
    batch = tokenizer(text, return_tensors="pt", **padding)
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states
    read = states[layer][0].numpy()
    reading = {
        "mean": read.mean(axis=0),
        "sequence_summary": read.mean(axis=0),
        "cls": read[0],
        "max": read.max(axis=0),
        "first_last_mean": (states[1][0].numpy() + read).mean(axis=0) / 2,
    }
    vector: FloatArray = reading[pooling]
    return vector
