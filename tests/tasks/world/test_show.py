"""`thawbench world`."""

import pytest
from typer.testing import CliRunner

from thawbench.cli import app


def shown(*arguments: str) -> list[str]:
    done = CliRunner().invoke(app, ["world", *arguments])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_without_show_one_line_tells_of_each_part() -> None:
    lines = shown()
    assert lines[0].startswith("world of seed 0: ")
    assert [line.split()[0] for line in lines[1:]] == [
        *["sentiment,"] * 3,
        *["topics", "inference", "similarity", "retrieval", "documents", "trees"],
    ]


@pytest.mark.parametrize("seed", ["0", "3"])
def test_rows_are_shown_whole_in_a_narrow_terminal(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = shown("--show", "--seed", seed)
    assert lines[0].startswith(f"world of seed {seed}: ")
    assert max(map(len, lines)) > 100
    assert set(shown("--seed", seed)) < set(lines)
