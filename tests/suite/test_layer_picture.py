"""The picture of layers from names to a file, and the command line's `picture`."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.errors import UserError
from thawbench.strategies.backbone import load_backbone
from thawbench.suite import layer_picture
from thawbench.suite.layer_picture import picture_layers
from thawbench.suite.store import AdaptationStore
from thawbench.tasks.trainsets import load_trainset


@pytest.fixture(autouse=True)
def _no_fakes(_fakes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Here encoders have layers, and sets rows."""
    monkeypatch.setenv("THAWBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("thawbench.suite.store.load_backbone", load_backbone)
    monkeypatch.setattr("thawbench.suite.store.load_trainset", load_trainset)


def comments(file: Path) -> list[str]:
    return re.findall(r"<!-- (.*?) -->", file.read_text())


def test_a_strategys_layers_stand_below_the_backbones(tiny_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "layers.svg"

    picture_layers(out, "world/meals@40", "class", "drop_top:k=1,epochs=1", "world/meals@20", str(tiny_folder))
    told = comments(out)

    assert [text.partition(" ·")[0] for text in told if text.startswith("layer")] == [
        *("layer 0", "layer 1", "layer 2"),
        *("layer 0", "layer 1"),
    ]
    assert "drop_top:k=1,epochs=1" in told
    assert "world/meals: texts by class, every layer in its own plane" in told


def test_words_are_coloured_by_the_number_of_their_sentence_and_no_text_is_in_the_picture(
    tiny_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "words.svg"
    asked = ["picture", "layers", "--texts", "world/sts@2", "--by", "sentence", "--backbone", str(tiny_folder)]
    result = CliRunner().invoke(app, [*asked, "--out", str(out), "--theme", "dark"])

    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.output.replace("\n", "")
    told = comments(out)
    assert {"sentence 1", "sentence 2", str(tiny_folder)} <= set(told)
    assert all(re.match(r"layer \d|sentence \d|world/sts|/", text) for text in told)


def test_what_a_strategy_lacks_is_told(tiny_folder: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "layers.svg", str(tiny_folder)

    with pytest.raises(UserError, match="finetune learns; say from what, as in --train world/meals@100"):
        picture_layers(out, "world/meals", "class", "finetune", "", folder)
    with pytest.raises(UserError, match=r"tfidf makes no picture: .* measures layers"):
        picture_layers(out, "world/meals", "class", "tfidf", "world/meals@20", folder)
    with pytest.raises(UserError, match=r"a picture is of one strategy, and frozen\* names several"):
        picture_layers(out, "world/meals", "class", "frozen*", "world/meals@20", folder)
    assert not out.exists()


@pytest.mark.parametrize("out", ["one.jpg", "nowhere/one.svg"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_fitted(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    def unwanted(folder: Path) -> AdaptationStore:
        raise AssertionError(folder)

    monkeypatch.setattr(layer_picture, "AdaptationStore", unwanted)
    with pytest.raises(UserError, match=r"is no \.svg or \.png|cannot write .*choose another place with --out"):
        picture_layers(tmp_path / out, "world/meals@40", "class", "frozen", "", str(tiny_folder))


def test_the_energies_are_drawn_by_a_command(tmp_path: Path) -> None:
    out = tmp_path / "energy.svg"
    result = CliRunner().invoke(app, ["picture", "energy", "--out", str(out)])

    assert result.exit_code == 0, result.output
    assert {"L1", "L2", "cosine"} <= set(comments(out))
