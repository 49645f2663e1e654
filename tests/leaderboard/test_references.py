"""Published scores: read strictly, shown beside what was measured, never ranked and never records."""

import csv
import io

import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.latex import render_latex
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.references import Published, parse_references, published_references, reference_rows
from thawbench.leaderboard.tables import Table
from thawbench.suite.records import Record

ONE = """
[[reference]]
model = "big | model"
source = "Somebody 2020, table 1"
protocol = "five seeds"
metrics = ["spearman", "cosine_spearman"]
[reference.scores]
"sts/STS12" = [0.99, 0.01]
"sts/other" = 0.5
"""


def table_of(*records: Record) -> Table:
    (section,) = build_board(records, parse_references(ONE)).sections
    return section.tables[0]


def test_the_committed_ones_are_read_and_agree_with_what_is_known() -> None:
    found = {(each.model, task): score for each in published_references() for task, score in each.scores.items()}
    assert found["all-MiniLM-L6-v2", "sts/STSBenchmark"] == Published(0.8203)
    assert found["all-MiniLM-L6-v2", "ir/SciFact"] == Published(0.6451)
    assert found["RoBERTa-large, cross-entropy and SCL", "fewshot/sst2@100"] == Published(0.928, 0.013)
    models = [(each.model, each.source, each.metrics) for each in published_references()]
    assert len(models) == len(set(models))


def test_a_reference_stands_where_task_and_metric_are_the_same() -> None:
    references = parse_references(ONE)
    columns = [("sts/STS12:train=nli", "spearman"), ("sts/other", "pearson"), ("sts/none", "spearman")]
    (row,) = reference_rows(references, columns)
    assert row.scores == (Published(0.99, 0.01), None, None)
    assert reference_rows(references, [("sts/STS12", "accuracy"), ("ir/x", "spearman")]) == ()


def test_it_moves_nobody_and_is_no_record() -> None:
    records = [
        make_record(name, value=value, crossed=Seeds(k, k, k))
        for name, value in (("a", 0.4), ("b", 0.3))
        for k in range(3)
    ]
    table, without = table_of(*records), build_board(records).sections[0].tables[0]
    assert (table.complete, table.comparisons, table.aggregates) == (
        without.complete,
        without.comparisons,
        without.aggregates,
    )
    assert build_board(records, parse_references(ONE)).records == 6
    assert without.references == ()


def test_every_form_shows_it_with_its_source_and_without_a_rank() -> None:
    board = build_board([make_record(weights=name, backbone=name) for name in ("one", "two")], parse_references(ONE))
    page = render_markdown(board)
    assert page.count("Published by others, not measured here and not ranked:") == 2
    cells = [[cell.strip() for cell in line.split(" | ")] for line in page.splitlines() if "Somebody" in line]
    assert cells == [[r"| big \| model", "99.00 ± 1.00", "five seeds", "Somebody 2020, table 1 |"]] * 2
    assert r"big \textbar{} model & 99.00 $\pm$ 1.00 & five seeds" in render_latex(board)
    rows = [row for row in csv.DictReader(io.StringIO(render_csv(board))) if row["outcome"] == "published"]
    assert [
        (row["strategy"], row["mean"], row["std"], row["rank"], row["records"], row["backbone"]) for row in rows
    ] == [("big | model", "0.99", "0.01", "", "", "")]
    assert rows[0]["source"] == "Somebody 2020, table 1; five seeds"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[reference]]", "[[reference", "is no TOML"),
        ('model = "big | model"', "", "reference 1: model is missing, empty or no str"),
        ("protocol =", "year = 2020\nprotocol =", "year is unknown; it has model, source"),
        ("0.5", "50.0", r"sts/other is 50\.0, expected a fraction"),
        ("0.5", "50", "sts/other is 50, expected a fraction"),
        ("0.5", "[0.5, 0.1, 0.1]", "expected a fraction"),
        ("0.5", "nan", "sts/other is nan, expected a fraction"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_what_is_wrong(old: str, new: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_references(ONE.replace(old, new))
