"""Defaults by size of the backbone, out of committed files."""

from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.strategies.tuned import FOLDER, read_choices, tuned

FILE = """
[[choice]]
weights = "a"
parameters = 1000
field = "lr"
value = 1e-3
trials = []

[[choice]]
weights = "b"
parameters = 100000
field = "lr"
value = 1e-5
trials = []
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One strategy's choices on two backbones."""
    (tmp_path / "some.toml").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (1000, {"lr": 1e-3}),
        (2999, {"lr": 1e-3}),
        (10_000, {}),
        (40_000, {"lr": 1e-5}),
        (290_000, {"lr": 1e-5}),
        (0, {}),
    ],
)
def test_the_choice_of_the_nearest_size_counts_if_it_is_near(folder: Path, size: int, found: dict[str, float]) -> None:
    assert tuned("some", size, folder) == found


def test_a_strategy_that_was_never_tuned_has_no_choice(folder: Path) -> None:
    assert tuned("other", 1000, folder) == {}


@pytest.mark.parametrize("text", ["[[choice]", "a = 1", "[[choice]]\nfield = 'lr'", "choice = 3"])
def test_a_damaged_file_is_one_line_that_says_what_to_do(folder: Path, text: str) -> None:
    (folder / "some.toml").write_text(text)
    with pytest.raises(UserError, match=r"some\.toml is not as `thawbench tune` writes it .*; remove it"):
        tuned("some", 1000, folder)


def test_committed_choices_can_be_read() -> None:
    for path in FOLDER.glob("*.toml"):
        for choice in read_choices(path.stem):
            assert choice["value"] in choice["values"]  # type: ignore[operator]
