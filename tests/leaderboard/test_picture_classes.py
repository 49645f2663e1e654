"""Pictures of classes: a line and a row of planes for each strategy, the same bytes each time, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context

from thawbench.errors import UserError
from thawbench.leaderboard.picture_classes import ClassSpace, ClassSpaces, draw_classes

CLASSES = ("negative", "positive")


def space(*ratios: float) -> ClassSpace:
    return ClassSpace(ratios, np.random.default_rng(int(1e6 * sum(ratios))).standard_normal((24, 2)), 0.48)


def spaces(names: tuple[str, ...] = ("frozen", "finetune"), classes: tuple[str, ...] = CLASSES) -> ClassSpaces:
    groups = tuple(classes[place % len(classes)] for place in range(24))
    tuned = (space(0.2, 0.4), space(1.5, 2.5))
    return ClassSpaces((20, 100), names, ((space(0.04),) * 2, *(tuned for _ in names[1:])), groups, 1 / 22)


def drawn(folder: Path, shown: ClassSpaces, name: str = "one.svg", theme: str = "light") -> str:
    draw_classes(folder / name, shown, "sst2: classes in the space of tiny", theme)  # type: ignore[arg-type]
    return (folder / name).read_text()


def comments(page: str) -> list[str]:
    """The texts of a picture: where letters are drawn as paths, the writer leaves the text as a comment."""
    return re.findall(r"<!-- (.*?) -->", page, re.DOTALL)


def test_every_strategy_has_a_plane_for_each_n_with_the_first_seeds_ratio(tmp_path: Path) -> None:
    told = comments(drawn(tmp_path, spaces()))

    assert [text for text in told if text.startswith("n = ")] == [
        "n = 20 · ratio 0.04 · 48 %",
        "n = 100 · ratio 0.04 · 48 %",
        "n = 20 · ratio 0.2 · 48 %",
        "n = 100 · ratio 1.5 · 48 %",
    ]
    assert told.count("frozen") == told.count("finetune") == 2  # beside the planes, and in the panel of lines
    assert {*CLASSES, "20", "100", "sst2: classes in the space of tiny"} <= set(told)


def test_it_says_what_is_drawn_and_of_seeds_only_where_there_are_several(tmp_path: Path) -> None:
    several = " ".join(comments(drawn(tmp_path, spaces()))).replace("\n", " ")
    one = " ".join(comments(drawn(tmp_path, spaces(("frozen",)), "single.svg"))).replace("\n", " ")

    assert "Variance between classes over variance within, tr(S_B) / tr(S_W), of 24 test rows" in several
    assert "labels at random have 0.045." in several
    assert "Lines: means over seeds. Bars: each seed." in several
    assert "each space in the plane of its first two principal components" in one
    assert "seed" not in one


def test_the_same_spaces_have_the_same_bytes_and_a_dark_page_has_others(tmp_path: Path) -> None:
    shown = spaces(("frozen",))
    one = drawn(tmp_path, shown)
    with rc_context({"axes.facecolor": "red", "font.size": 30}):
        two = drawn(tmp_path, shown, "two.svg")

    assert one == two != drawn(tmp_path, shown, "dark.svg", "dark")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dark.svg", "one.svg", "two.svg"]
    pngs = [tmp_path / "one.png", tmp_path / "two.png"]
    for png in pngs:
        draw_classes(png, shown, "a title")
    assert pngs[0].read_bytes() == pngs[1].read_bytes()


def test_long_names_are_cut_at_commas_and_pluses_and_long_legends_into_lines(tmp_path: Path) -> None:
    long = "finetune:recipe=mosbach,epochs=5,lr=1e-5"
    names = tuple(f"a long name of class {number}" for number in range(8))
    page = drawn(tmp_path, spaces(("frozen", long), names))
    width = float(re.findall(r'<svg .*?width="([\d.]+)pt"', page, re.DOTALL)[0])
    lefts = [float(x) for x in re.findall(r"<!-- a long name of class \d -->\s*<g [^>]*translate\(([-\d.]+)", page)]

    assert {"finetune:recipe=mosbach,", "epochs=5,lr=1e-5", long} <= set(comments(page))
    assert len(lefts) == 8
    assert min(lefts) > 0
    assert max(lefts) < width - 80
    assert len(set(lefts)) < 8


def test_ratios_of_all_sizes_find_room_on_the_axis(tmp_path: Path) -> None:
    far = ClassSpaces((20,), ("frozen", "b"), ((space(1e-9),), (space(1e9),)), CLASSES * 12, 0.1)

    assert {"1e−06", "1", "5e+06"} <= set(comments(drawn(tmp_path, far)))


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="9 groups are more than there are colours; show 8 at most"):
        drawn(tmp_path, spaces(classes=tuple("abcdefghi")))
    with pytest.raises(UserError, match=r"one\.jpg is no \.svg or \.png"):
        drawn(tmp_path, spaces(), name="one.jpg")
    assert not list(tmp_path.iterdir())
