"""Boards of what is rare, in every form: odd names, one seed, nothing, NaN, a missing family, 40 that are the same."""

import csv
import io
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.board import Board, build_board
from thawbench.leaderboard.exchange import export_records, import_records
from thawbench.leaderboard.publish import FORMATS, edition_of
from thawbench.suite.checked_lines import write_lines
from thawbench.suite.record_store import RecordStore, write_packed
from thawbench.suite.records import Record

ODD = "a|b\n1e5"


def matrix(names: Sequence[str], seeds: int = 3, tasks: Sequence[str] = ("ir/x", "sts/y")) -> list[Record]:
    """Strategies that are all the same on these tasks."""
    return [
        make_record(name, task, 0.3 + 0.1 * k, crossed=Seeds(k, k, k), train=task)
        for name in names
        for task in tasks
        for k in range(seeds)
    ]


def forms(board: Board) -> dict[str, str]:
    """The board in every form; the tables of each are whole."""
    found = {name: render(board) for name, render in FORMATS.items()}
    lines = found[".md"].splitlines()
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", above)) == len(re.findall(r"(?<!\\)\|", line)), line
    assert json.loads(found[".json"])["records"] == board.records
    assert len({len(row) for row in csv.reader(io.StringIO(found[".csv"]))}) == 1
    for text in found.values():
        assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    return found


def test_forty_identical_strategies_share_every_place_in_every_form() -> None:
    board = build_board(matrix([f"s{number:02}" for number in range(40)]))
    (section,) = board.sections
    assert section.overall is not None
    assert {(each.place, each.mean_rank, each.groups) for each in section.overall.standings} == {(1, 20.5, ("a", "a"))}
    assert board.relevance is not None
    assert {(each.relevance_rank, each.similarity_rank) for each in board.relevance.points} == {(20.5, 20.5)}
    assert {each.correlation.spearman for each in board.relevance.agreements} == {None}
    page = forms(board)[".md"]
    assert "| embedded        | 40  | –          | –      | –         | –      |" in page


def test_an_odd_name_comes_through_every_table_and_every_form(tmp_path: Path) -> None:
    records = [*matrix([ODD, "1e5"]), make_record(ODD, "sts/z", status="failed", why="a|b\nc")]
    found = forms(build_board(records))
    assert "1e5" in found[".md"]
    assert "100000" not in "".join(found.values())
    assert r"a\|b 1e5" in found[".md"]
    assert r"a\textbar{}b 1e5" in found[".tex"]
    assert ODD in {row["strategy"] for row in csv.DictReader(io.StringIO(found[".csv"]))}
    write_packed(tmp_path / "x.jsonl", records)
    import_records(tmp_path / "x.jsonl", tmp_path / "there")
    assert {record.strategy for record in RecordStore(tmp_path / "there").all()} == {ODD, "1e5"}


def test_one_seed_gives_order_and_neither_letters_nor_intervals() -> None:
    board = build_board(matrix(["a", "b"], seeds=1))
    (section,) = board.sections
    for table in section.tables:
        assert [(row.rank, row.group, row.entries[0] and row.entries[0].interval) for row in table.complete] == [
            (1, "", None),
            (1, "", None),
        ]
        assert table.comparisons == ()
    found = forms(board)
    assert "| Group" not in found[".md"]
    assert "30.00 (1)" in found[".md"]


def test_a_missing_family_is_named_and_nobody_is_ranked_by_what_he_lacks() -> None:
    board = build_board([*matrix(["a", "b"]), *matrix(["c"], tasks=("sts/y",)), *matrix(["d"], tasks=("ir/x",))])
    (section,) = board.sections
    assert section.overall is not None
    assert [each.strategy for each in section.overall.standings] == ["a", "b"]
    assert [(each.strategy, each.missing) for each in section.overall.partial] == [("c", ("ir",)), ("d", ("sts",))]
    page = forms(board)[".md"]
    assert "Not ranked here yet: fewshot, noise, shift, forgetting." in page
    assert re.search(r"\| c +\| 1/2 +\| ir +\|", page)


def test_nothing_is_no_board_and_no_export(tmp_path: Path) -> None:
    write_packed(tmp_path / "records.jsonl", [])
    for make in (
        lambda: build_board([]),
        lambda: edition_of(tmp_path, [tmp_path / "b.md"]),
        lambda: export_records(tmp_path, tmp_path / "x.jsonl"),
    ):
        with pytest.raises(UserError, match="there are no records"):
            make()
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_a_score_that_is_no_number_is_left_out_and_named_even_if_its_sum_is_right(tmp_path: Path) -> None:
    good, bad = make_record("a"), make_record("b")
    write_lines(tmp_path / "records.jsonl", [good.to_json(), bad.to_json()])
    path = tmp_path / "records.jsonl"
    head, one, two, foot = path.read_bytes().splitlines(keepends=True)
    broken = two.replace(b'"value":0.5', b'"value":NaN')
    assert broken != two
    path.write_bytes(head + one + broken + foot)
    edition = edition_of(tmp_path, [tmp_path / "b.md"])
    assert "1 record." in edition.pages[0].text
    assert len(edition.damaged) == 2

    resummed = bad.to_json()
    resummed["metrics"][0]["value"] = 1e308 * 10
    with pytest.raises(ValueError, match="JSON compliant"):
        write_lines(path, [resummed])


def test_every_number_of_every_table_leads_to_its_records() -> None:
    records = [
        *matrix(["a", "b"]),
        *matrix(["a", "b"], tasks=("fewshot/z@20",)),
        make_record("t", "sts/y", control=True),
    ]
    board = build_board(records)
    keys = {record.key: record for record in records}
    page = json.loads(FORMATS[".json"](board))
    (section,) = page["sections"]
    seen = set()
    for table in section["tables"]:
        for row in (*table["complete"], *table["incomplete"]):
            for column, entry in zip(table["columns"], row["entries"], strict=True):
                if entry is not None:
                    behind = [keys[key] for key in entry["keys"]]
                    assert {(each.strategy, each.task) for each in behind} == {(row["strategy"], column["task"])}
                    assert entry["summary"]["n"] == len(behind)
                    seen |= set(entry["keys"])
        strategies = {row["strategy"] for row in table["complete"]}
        for each in (*table["comparisons"], *table["aggregates"]):
            assert {each.get("first", each.get("strategy")), each.get("second", "a")} <= strategies
        for each in table["stability"]:
            assert {(keys[key].strategy, keys[key].task) for key in each["keys"]} == {(each["strategy"], each["task"])}
    assert seen == set(keys)
    for cost in section["costs"]:
        assert {keys[key].strategy for key in cost["keys"]} == {cost["strategy"]}
    for point in page["relevance"]["points"]:
        assert {keys[key].strategy for key in point["keys"]} == {point["strategy"]}
    lines = list(csv.DictReader(io.StringIO(FORMATS[".csv"](board))))
    assert all(set(line["records"].split()) <= set(keys) and line["records"] for line in lines)
