import json
import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from thawbench.contracts import Provides
from thawbench.errors import DataUnavailableError, UserError
from thawbench.strategies import backbone
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import EMBEDDED_SHA256, load_backbone, resolve_backbone

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
hub = pytest.mark.skipif("HF_ENDPOINT" not in os.environ, reason="HF_ENDPOINT is not set")


@pytest.fixture
def copy(tiny_folder: Path, tmp_path: Path) -> Path:
    """A folder of the tiny encoder, to be spoiled."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "copy"))


def test_embedded_is_all_minilm_read_as_its_folder_says(embedded: AdaptedEncoder) -> None:
    info = resolve_backbone("embedded", precision="float32", device="cpu")
    assert info.weights_hash == EMBEDDED_SHA256
    assert (info.name, info.revision, info.pooling, info.layer, info.max_length) == ("embedded", "", "mean", 6, 256)
    assert embedded.source is not None
    assert (embedded.source.dim, embedded.source.total_parameters) == (384, 22_713_216)


def test_a_backbone_has_vectors_and_layers_and_no_heads(tiny: AdaptedEncoder) -> None:
    assert tiny.provides == {Provides.VECTORS, Provides.LAYERS}
    assert tiny.heads == {}
    assert not tiny.state.tensors


def test_what_is_resolved_is_plain_json_with_nothing_left_open(tiny_folder: Path) -> None:
    info = asdict(resolve_backbone(str(tiny_folder)))
    assert json.loads(json.dumps(info)) == info
    assert "auto" not in info.values()


def test_the_name_keeps_the_options_that_differ_from_the_defaults(tiny_folder: Path) -> None:
    spelled = f"{tiny_folder}:layer=1,pooling=cls"
    assert resolve_backbone(spelled).name == f"{tiny_folder}:pooling=cls,layer=1"
    assert resolve_backbone(f"{tiny_folder}:pooling=auto").name == str(tiny_folder)


def test_weights_of_another_hash_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, copy: Path, tmp_path: Path
) -> None:
    package = tmp_path / "impostor"
    shutil.copytree(copy, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(backbone, "_EMBEDDED_PACKAGE", "impostor")
    with pytest.raises(UserError) as raised:
        resolve_backbone("embedded")
    message = str(raised.value)
    assert str(package / "model" / "model.safetensors") in message
    assert EMBEDDED_SHA256 in message
    assert resolve_backbone(str(copy)).weights_hash in message
    assert "\n" not in message


def test_weights_that_changed_since_they_were_resolved_are_refused(copy: Path) -> None:
    info = resolve_backbone(str(copy))
    tensors = load_file(copy / "model.safetensors")
    tensors["pooler.dense.bias"] = tensors["pooler.dense.bias"] + 1
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=f"changed since.*{info.weights_hash}"):
        load_backbone(info)


def test_a_missing_pooler_is_drawn_without_touching_the_generator_and_a_missing_layer_is_refused(copy: Path) -> None:
    whole = load_backbone(resolve_backbone(str(copy))).encode(["the cat"])
    tensors = load_file(copy / "model.safetensors")
    without_pooler = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler")}
    save_file(without_pooler, copy / "model.safetensors", {"format": "pt"})
    assert np.array_equal(load_backbone(resolve_backbone(str(copy))).encode(["the cat"]), whole)
    lacking = {name: tensor for name, tensor in tensors.items() if "layer.1" not in name}
    save_file(lacking, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"lack \d+ tensors.*encoder\.layer\.1"):
        load_backbone(resolve_backbone(str(copy)))


def test_damaged_weights_are_refused_in_one_line(copy: Path) -> None:
    data = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match="cannot be loaded"):
        load_backbone(resolve_backbone(str(copy)))


def test_pickled_weights_are_refused_with_the_reason(copy: Path) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"pickle only \(pytorch_model\.bin\), which runs code"):
        resolve_backbone(str(copy))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("embeded", "did you mean embedded"),
        ("bert", "known: embedded.*org/name"),
        ("./no/such/folder", "no folder here"),
        ("a/b/c", "no folder here, and no id of the Hub"),
        ("embedded:layer=7", r"layer=7 is out of range; it has 0 \(embeddings\) to 6"),
        ("embedded:max_length=513", "max_length=513 is out of range; expected 3 to 512"),
        ("embedded:max_length=2", "max_length=2 is out of range"),
        ("embedded:pooling=first_last_mean,layer=0", "needs layer=1"),
        ("embedded:pooling=sum", "is not one of auto, mean, cls, max, first_last_mean, sequence_summary"),
        ("embedded:pool=cls", "did you mean pooling"),
        ("embedded:layer=-1", "layer=-1 is out of range"),
    ],
)
def test_a_wrong_name_or_option_is_refused_with_the_way_out(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve_backbone(name)


@pytest.mark.parametrize("what", [{"device": "tpu"}, {"precision": "float16"}])
def test_an_unknown_device_or_precision_is_refused(what: dict[str, str]) -> None:
    with pytest.raises(UserError, match="unknown"):
        resolve_backbone("embedded", **what)


def test_a_folder_that_is_no_encoder_is_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(UserError, match="t5, not an encoder"):
        resolve_backbone(str(copy))
    (copy / "config.json").write_text(json.dumps(config | {"model_type": "no_such_type"}))
    with pytest.raises(UserError, match=r"config\.json that transformers can read"):
        resolve_backbone(str(copy))


@pytest.mark.parametrize(
    ("declared", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_pooling_and_length_default_to_what_the_folder_says(
    copy: Path, declared: dict[str, bool | str], pooling: str
) -> None:
    (copy / "1_Pooling").mkdir()
    (copy / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32} | declared))
    (copy / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 17}))
    info = resolve_backbone(str(copy))
    assert (info.pooling, info.max_length) == (pooling, 17)


def test_a_pooling_that_is_none_of_ours_must_be_chosen(copy: Path) -> None:
    (copy / "1_Pooling").mkdir()
    (copy / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(UserError, match=r"weightedmean_tokens.*choose with pooling="):
        resolve_backbone(str(copy))
    assert resolve_backbone(f"{copy}:pooling=cls").pooling == "cls"


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("modules.json", "{", "modules.json is not JSON"),
        ("modules.json", '{"a": 1}', "modules.json is no list of modules with their types"),
        ("sentence_bert_config.json", '{"max_seq_length": "long"}', "max_seq_length is 'long', no number of tokens"),
        ("adapter_config.json", "{}", "has an adapter beside its weights .* merge it into model.safetensors"),
    ],
)
def test_what_a_folder_says_and_cannot_mean_is_one_line(copy: Path, file: str, content: str, told: str) -> None:
    (copy / file).write_text(content)
    with pytest.raises(UserError, match=told):
        resolve_backbone(str(copy))


def test_what_sentence_transformers_would_do_and_we_do_not_is_said(
    copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    declared = {"similarity_fn_name": "dot", "default_prompt_name": "query"}
    (copy / "config_sentence_transformers.json").write_text(json.dumps(declared))
    (copy / "sentence_bert_config.json").write_text(json.dumps({"do_lower_case": True}))
    resolve_backbone(str(copy))
    for told in ("it declares dot, and its vectors are compared by cosine", "prompt query is not put", "do_lower_case"):
        assert told in caplog.text


def test_positions_of_roberta_count_from_two(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    roberta = {"model_type": "roberta", "max_position_embeddings": 34, "pad_token_id": 1}
    (copy / "config.json").write_text(json.dumps(config | roberta))
    assert resolve_backbone(str(copy)).max_length == 32
    with pytest.raises(UserError, match="expected 3 to 32"):
        resolve_backbone(f"{copy}:max_length=33")


def test_loading_prints_nothing_and_warns_of_nothing(tiny_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_backbone(resolve_backbone(str(tiny_folder)))
    assert capfd.readouterr() == ("", "")


def test_an_unreachable_hub_says_which_weights_and_the_way_out(tmp_path: Path) -> None:
    program = (
        "from thawbench.errors import DataUnavailableError\n"
        "from thawbench.strategies.backbone import resolve_backbone\n"
        "try:\n    resolve_backbone('some-org/some-encoder')\n"
        "except DataUnavailableError as error:\n    print(error)\n"
    )
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=180)
    for part in ("some-org/some-encoder", "http://127.0.0.1:9", "HF_ENDPOINT", "local folder", "--backbone embedded"):
        assert part in done.stdout
    assert done.stdout.count("\n") == 1


@hub
@pytest.mark.hub
def test_an_id_of_the_hub_is_pinned_to_its_commit_and_gives_the_embedded_vectors(embedded: AdaptedEncoder) -> None:
    info = resolve_backbone(HUB_ID, precision="float32", device="cpu")
    assert len(info.revision) == 40
    assert info.weights_hash == EMBEDDED_SHA256
    pinned = resolve_backbone(f"{HUB_ID}@{info.revision}:layer=5")
    assert (pinned.name, pinned.revision) == (f"{HUB_ID}@{info.revision}:layer=5", info.revision)
    texts = ["a cat", "two dogs"]
    assert np.array_equal(load_backbone(info).encode(texts), embedded.encode(texts))


@hub
@pytest.mark.hub
def test_an_id_that_the_hub_does_not_have_is_a_mistake_of_the_user() -> None:
    with pytest.raises(UserError, match="no backbone 'no-such-org/no-such-encoder'") as raised:
        resolve_backbone("no-such-org/no-such-encoder")
    assert not isinstance(raised.value, DataUnavailableError)
