"""What is published is what the published records give."""

import re
from pathlib import Path

from thawbench.leaderboard.markdown import write_board

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "leaderboard" / "records" / "served"


def table_lines(text: str) -> list[str]:
    """Lines of Markdown tables."""
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_committed_board_is_made_from_the_committed_records(tmp_path: Path) -> None:
    damaged = write_board(RECORDS, tmp_path / "LEADERBOARD.md")

    assert list(damaged) == []
    assert (tmp_path / "LEADERBOARD.md").read_bytes() == (ROOT / "LEADERBOARD.md").read_bytes()


def test_the_board_in_the_readme_is_a_part_of_it() -> None:
    board = set(table_lines((ROOT / "LEADERBOARD.md").read_text(encoding="utf-8")))
    shown = table_lines((ROOT / "README.md").read_text(encoding="utf-8"))

    assert len(shown) > 5
    assert set(shown) <= board


def test_published_records_hold_no_text_of_a_row() -> None:
    for path in RECORDS.rglob("*.json"):
        assert not re.search(r'"(text|sentence1|premise|hypothesis)"', path.read_text(encoding="utf-8")), path
