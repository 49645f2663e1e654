"""The picture of classes from names to a file: what is fitted, on which rows it is measured, what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.errors import UserError
from thawbench.leaderboard.picture_classes import ClassSpaces, draw_classes
from thawbench.strategies.backbone import load_backbone
from thawbench.suite import class_picture
from thawbench.suite.class_picture import picture_classes
from thawbench.suite.store import AdaptationStore
from thawbench.tasks.class_separation import class_separation
from thawbench.tasks.layer_points import by_class
from thawbench.tasks.trainsets import load_trainset

TUNED = "finetune:epochs=1"


@pytest.fixture(autouse=True)
def _no_fakes(_fakes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Here encoders have vectors, and sets rows."""
    monkeypatch.setenv("THAWBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("thawbench.suite.store.load_backbone", load_backbone)
    monkeypatch.setattr("thawbench.suite.store.load_trainset", load_trainset)


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[AdaptationStore]:
    """Those that pictures were fitted in."""
    made: list[AdaptationStore] = []

    def remembered(folder: Path) -> AdaptationStore:
        made.append(AdaptationStore(folder))
        return made[-1]

    monkeypatch.setattr(class_picture, "AdaptationStore", remembered)
    return made


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[ClassSpaces]:
    """What was drawn."""
    seen: list[ClassSpaces] = []

    def watched(out: Path, spaces: ClassSpaces, *rest: Any) -> None:
        seen.append(spaces)
        draw_classes(out, spaces, *rest)

    monkeypatch.setattr(class_picture, "draw_classes", watched)
    return seen


def comments(file: Path) -> list[str]:
    return re.findall(r"<!-- (.*?) -->", file.read_text(), re.DOTALL)


def test_the_frozen_backbone_stands_first_and_each_strategy_is_fitted_once_for_each_n_and_seed(
    tiny_folder: Path, tmp_path: Path, stores: list[AdaptationStore], shown: list[ClassSpaces]
) -> None:
    asked = ["picture", "classes", "world/meals@40", "--strategy", TUNED, "--sizes", "20,10", "--seeds", "2"]
    out = tmp_path / "classes.svg"
    result = CliRunner().invoke(app, [*asked, "--backbone", str(tiny_folder), "--out", str(out)])

    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.output.replace("\n", "")
    (store,), (drawn,) = stores, shown
    assert store.fitted == 1 + 2 * 2
    assert not list(store._checkpoints.glob("*"))
    assert (drawn.sizes, drawn.strategies, len(drawn.groups)) == ((10, 20), ("frozen", TUNED), 40)
    assert [[len(space.ratios) for space in row] for row in drawn.spaces] == [[1, 1], [2, 2]]
    frozen, tuned = drawn.spaces
    assert frozen[0].points.tolist() == frozen[1].points.tolist()
    assert len({ratio for space in tuned for ratio in space.ratios}) == 4
    told = comments(out)
    assert f"n = 10 · ratio {tuned[0].ratios[0]:.3g} · {100 * tuned[0].share:.0f} %" in told
    assert sum(text.startswith("n = ") for text in told) == 4


def test_it_is_measured_on_test_rows_that_no_strategy_learns_from(
    tiny_folder: Path, tmp_path: Path, stores: list[AdaptationStore], shown: list[ClassSpaces]
) -> None:
    picture_classes(tmp_path / "one.svg", "world/meals@40", (), "20", str(tiny_folder))
    rows = by_class("world/meals@40")
    (backbone,) = stores[0]._backbones.values()
    expected = class_separation(backbone.encode(rows.texts), rows.groups)
    learnt = load_trainset("world/meals", 0)

    assert list(shown[0].spaces[0][0].ratios) == pytest.approx([expected.ratio], rel=1e-6)
    assert shown[0].groups == rows.groups
    assert not {*rows.texts} & {*(row.input for row in (*learnt.labelled, *learnt.dev.labelled)), *learnt.texts}


def test_the_same_request_gives_the_same_bytes_and_sparse_vectors_are_drawn(tiny_folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.svg", "two.svg", "dark.svg")]
    for file in files:
        theme = "dark" if file.stem == "dark" else "light"
        picture_classes(file, "world/meals@30", ("tfidf",), "20", str(tiny_folder), theme=theme)  # type: ignore[arg-type]
    one, two, dark = (file.read_bytes() for file in files)

    assert one == two != dark
    assert "tfidf" in comments(files[0])


@pytest.mark.parametrize(
    ("labelled", "strategies", "sizes", "told"),
    [
        ("world/sts", (), "20", "world/sts has no texts of 2 to 8 classes to colour by; take a set such as sst2"),
        ("world/nli", (), "20", "world/nli has no texts of 2 to 8 classes to colour by; take a set such as sst2"),
        ("world/meal", (), "20", "did you mean world/meals"),
        ("world/meals", ("finetun",), "20", "did you mean finetune"),
        ("world/meals", ("bert_qt",), "20", "bert_qt makes no picture of world/meals: bert_qt learns from documents"),
        ("world/meals", ("majority",), "20", "majority makes no picture of world/meals: it makes no vectors"),
        ("world/meals", (), "20,99999", "world/meals@99999 asks for more rows than the"),
        ("world/meals", (), "20,2", "world/meals@2 cannot hold a train row of each of its"),
        ("world/meals", (), "20,", "--sizes 20, is no list of numbers of train rows, such as 20,100"),
        ("world/meals", (), "1,2,3,4,5,6,7", "7 sizes are more than stand side by side; take 6 at most"),
        ("world/meals", ("scl", "lora", "ebm", "setfit"), "20", "5 strategies .*; take 3 beside frozen at most"),
        ("world/meals", ("constant",), "20", "constant makes no picture of world/meals@20: .* one and the same"),
        ("world/meals@1", (), "20", "frozen makes no picture of world/meals@20: .* the 1 rows are all of"),
    ],
)
def test_what_makes_no_picture_is_told(
    tiny_folder: Path, tmp_path: Path, labelled: str, strategies: tuple[str, ...], sizes: str, told: str
) -> None:
    with pytest.raises(UserError, match=told):
        picture_classes(tmp_path / "one.svg", labelled, strategies, sizes, str(tiny_folder))
    assert not (tmp_path / "one.svg").exists()


@pytest.mark.parametrize("out", ["one.jpg", "nowhere/one.svg", "folder.svg"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_fitted(
    tiny_folder: Path, tmp_path: Path, stores: list[AdaptationStore], out: str
) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(UserError, match=r"is no \.svg or \.png|cannot write .*choose another place with --out"):
        picture_classes(tmp_path / out, "world/meals@40", (TUNED,), "20", str(tiny_folder))
    assert stores == []
