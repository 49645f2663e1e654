"""The page: it reads back as it was meant, and the same records give the same bytes."""

import random
import re
from pathlib import Path

import pytest
from records_by_hand import make_record

from thawbench import __version__
from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import escape, render_markdown
from thawbench.leaderboard.publish import Page, edition_of
from thawbench.leaderboard.references import published_references
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record


def read_tables(page: str) -> list[list[list[str]]]:
    """Every table of a page as GitHub reads it: cells by unescaped bars, then backslashes taken off."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in page.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            tables.append([])
        inside = True
        cells = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
        if not all(re.fullmatch(r":?-+:?", cell.strip()) for cell in cells):
            tables[-1].append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
    return tables


def page_of(*records: Record) -> str:
    return render_markdown(build_board(records))


def test_a_table_reads_back_as_it_was_meant() -> None:
    page = page_of(
        make_record("frozen_ebm:norm=l2", "sts/STS12", 0.7, seed=0),
        make_record("frozen_ebm:norm=l2", "sts/STS12", 0.9, seed=1),
        make_record("frozen_ebm:norm=l2", "sts/STS13", 0.6, seed=0),
        make_record("frozen", "sts/STS12", 0.7237),
        make_record("frozen", "sts/STS13", 0.65),
        make_record("tfidf", "sts/STS12", 0.9, control=True),
        make_record("tfidf", "sts/STS13", 0.9, control=True),
        make_record("mlm", "sts/STS12", status="failed", why="out of memory"),
    )
    complete, incomplete, over_tasks, costs = read_tables(page)
    assert complete == [
        ["#", "Strategy", "sts/STS12", "sts/STS13", "Mean"],
        ["", "tfidf †", "90.00 (1)", "90.00 (1)", "90.00"],
        ["1", "frozen_ebm:norm=l2", "**80.00 ± 14.14 (2)**", "60.00 (1)", "**70.00**"],
        ["2", "frozen", "72.37 (1)", "**65.00 (1)**", "68.69"],
    ]
    assert incomplete == [["Strategy", "Done", "sts/STS12", "sts/STS13"], ["mlm", "0/2", "failed", "–"]]
    assert over_tasks == [
        ["Strategy", "IQM", "95 %", "Mean rank", "Borda", "Failed"],
        ["frozen_ebm:norm=l2", "65.00", "–", "1.50", "1.0", "–"],
        ["frozen", "68.69", "68.69 to 68.69", "1.50", "1.0", "–"],
    ]
    assert [row[0] for row in costs] == ["Strategy", "frozen", "frozen_ebm:norm=l2", "tfidf"]


@pytest.mark.parametrize("name", ["a|b", "a`b", "a\\|b", "*a*", "<b>a", "_a_", "a~b~c", "[a](b)", "1e5", "007"])
def test_any_name_comes_back_from_a_table(name: str) -> None:
    table = read_tables(page_of(make_record(name)))[0]
    assert table[1][1] == name
    assert len(table[1]) == len(table[0])


def test_a_line_break_in_a_name_or_a_reason_stays_inside_its_line() -> None:
    page = page_of(make_record("a\nb"), make_record("c", status="failed", why="first\nsecond"))
    assert read_tables(page)[0][1][1] == "a b"
    assert "second" not in page
    assert re.search(r"^- c on sts/STS12: failed: ValueError: first \(`[0-9a-f]{12}`\)$", page, re.MULTILINE)


def test_escape_leaves_ordinary_names_as_they_are() -> None:
    for name in ("frozen_ebm:norm=l2,dim=64", "mlm+frozen_ebm", "sts/STS12:train=sst2@1000"):
        assert escape(name) == name


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("TypeError: __init__() got", r"TypeError: \_\_init\_\_() got"),
        ("a&lt;b and R&D", r"a\&lt;b and R&D"),
        ("- x", r"\- x"),
        ("# y", r"\# y"),
        (">50 % of it", r"\>50 % of it"),
        ("12. z", r"12\. z"),
        ("-0.51 (3)", "-0.51 (3)"),
        ("1.5 a", "1.5 a"),
    ],
)
def test_escape_leaves_nothing_that_markdown_would_read(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_escape_drops_half_of_a_surrogate_pair() -> None:
    assert escape("a\ud800b") == "a?b"


def test_the_header_states_version_records_backbone_and_weights() -> None:
    page = page_of(make_record(weights="53aa51172d142c89d9012cce", precision="bfloat16"))
    assert f"Thawbench {__version__}, 1 record. " in page
    assert "\n## embedded\n" in page
    assert "Weights `53aa51172d14`; precision bfloat16, device cpu, processor some cpu, threads 2." in page


def test_the_direction_is_said() -> None:
    assert "Metric: loss; lower is better." in page_of(make_record(metric="loss", direction="down"))


def test_a_negative_score_that_rounds_to_nothing_has_no_sign() -> None:
    assert "-0.00" not in page_of(make_record(value=-0.00001))


def test_the_same_records_give_the_same_bytes_in_any_order() -> None:
    records = [
        make_record(strategy, task, value / 7, seed=seed, weights=weights, backbone=weights)
        for weights in ("aaaa", "bbbb")
        for strategy in ("a", "b", "c")
        for task in ("sts/x", "sts/y", "ir/z")
        for seed, value in enumerate((0.1, 0.2, 0.3))
    ]
    records += [make_record("d", "ir/z", status="failed", seed=seed, why="no") for seed in range(3)]
    pages = set()
    for shuffle in range(20):
        random.Random(shuffle).shuffle(records)
        pages.add(page_of(*records))
    assert len(pages) == 1


def test_an_edition_is_the_page_of_a_folder_and_names_damaged_records(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "results")
    good, bad = make_record("a"), make_record("b")
    store.write(good)
    store.write(bad)
    store.path(bad.key).write_bytes(b"{")
    out = tmp_path / "LEADERBOARD.md"
    edition = edition_of(tmp_path / "results", [out])
    assert [bad.key in line for line in edition.damaged] == [True]
    (page,) = edition.pages
    page.write()
    assert out.read_text(encoding="utf-8") == page.text == render_markdown(build_board([good], published_references()))


def test_an_empty_folder_says_which_command_fills_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no records in .*: pytest suite/ --strategy=frozen --results="):
        edition_of(tmp_path / "results", [tmp_path / "LEADERBOARD.md"])
    assert list(tmp_path.iterdir()) == []


def test_a_board_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        Page(tmp_path / "no" / "LEADERBOARD.md", "").write()
