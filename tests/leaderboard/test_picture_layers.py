"""Pictures of layers: as many panels as layers, the same bytes each time, and what cannot be drawn is told."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context

from thawbench.errors import UserError
from thawbench.leaderboard.picture_layers import Strip, draw_layers


def strip(layers: int, groups: tuple[str, ...] = ("no", "yes"), name: str = "frozen") -> Strip:
    draws = np.random.default_rng(5)
    each = tuple(groups[place % len(groups)] for place in range(24))
    return Strip(name, draws.standard_normal((layers, 24, 2)), np.linspace(0.1, 0.9, layers), each)


def drawn(folder: Path, *strips: Strip, name: str = "one.svg", theme: str = "light") -> str:
    draw_layers(folder / name, strips, "sst2: texts by class", theme)  # type: ignore[arg-type]
    return (folder / name).read_text()


def comments(page: str) -> list[str]:
    """The texts of a picture: where letters are drawn as paths, the writer leaves the text as a comment."""
    return re.findall(r"<!-- (.*?) -->", page)


def test_every_layer_of_every_encoder_has_a_panel_and_every_group_a_key(tmp_path: Path) -> None:
    told = comments(drawn(tmp_path, strip(3), strip(3, name="finetune")))

    assert [text for text in told if text.startswith("layer")] == [
        "layer 0 · 10 %",
        "layer 1 · 50 %",
        "layer 2 · 90 %",
    ] * 2
    assert {"frozen", "finetune", "no", "yes", "sst2: texts by class"} <= set(told)


def test_more_than_seven_layers_go_on_in_another_line(tmp_path: Path) -> None:
    told = comments(drawn(tmp_path, strip(13), strip(7)))

    assert sum(text.startswith("layer") for text in told) == 20
    assert told.count("frozen") == 3


def test_the_same_points_have_the_same_bytes_and_a_dark_page_has_others(tmp_path: Path) -> None:
    one, two = drawn(tmp_path, strip(2)), drawn(tmp_path, strip(2), name="two.svg")

    assert one == two != drawn(tmp_path, strip(2), name="dark.svg", theme="dark")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dark.svg", "one.svg", "two.svg"]


def test_groups_are_sorted_as_people_count(tmp_path: Path) -> None:
    told = comments(drawn(tmp_path, strip(1, ("sentence 3", "sentence 1", "sentence 2"))))

    assert [text for text in told if text.startswith("sentence")] == ["sentence 1", "sentence 2", "sentence 3"]


def test_names_may_hold_any_signs_and_a_users_own_settings_change_nothing(tmp_path: Path) -> None:
    odd = strip(1, ("$5 to $6", "映画"))
    once = drawn(tmp_path, odd)
    with rc_context({"axes.facecolor": "red", "font.size": 30}):
        again = drawn(tmp_path, odd, name="two.svg")

    assert "$5 to $6" in comments(once)
    assert once == again


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="9 groups are more than there are colours; show 8 at most"):
        drawn(tmp_path, strip(2, tuple("abcdefghi")))
    with pytest.raises(UserError, match=r"one\.jpg is no \.svg or \.png"):
        drawn(tmp_path, strip(2), name="one.jpg")
    with pytest.raises(UserError, match=r"cannot write .*one\.svg"):
        drawn(tmp_path / "nowhere", strip(2))
