"""What is published is what the published records give."""

import re
from pathlib import Path

from thawbench.leaderboard.publish import edition_of

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "leaderboard" / "records" / "served"


def test_the_committed_boards_are_made_from_the_committed_records() -> None:
    edition = edition_of(RECORDS, [ROOT / "LEADERBOARD.md"], [ROOT / "README.md"])

    assert edition.damaged == ()
    assert [page.path.name for page in edition.pages if page.stale] == []


def test_published_records_hold_no_text_of_a_row() -> None:
    for path in RECORDS.rglob("*.json"):
        assert not re.search(r'"(text|sentence1|premise|hypothesis)"', path.read_text(encoding="utf-8")), path
