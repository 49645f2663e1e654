"""Publishing: every format for any name, blocks inside documents, and what is stale."""

import csv
import io
import json
import random
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from boards_by_hand import DOCUMENT, ODD, folder, invoke, worked
from records_by_hand import make_record

from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.json_page import render_json
from thawbench.leaderboard.latex import escape_latex, render_latex
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.publish import Page, edition_of
from thawbench.suite.records import MetricValue, Record


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return folder(tmp_path / "results", worked())


@pytest.mark.parametrize("render", [render_markdown, render_csv, render_latex, render_json])
def test_shuffled_records_give_the_same_bytes_in_every_format(render: object) -> None:
    assert callable(render)
    records = worked()
    pages = set()
    for shuffle in range(5):
        random.Random(shuffle).shuffle(records)
        pages.add(render(build_board(records)))
    assert len(pages) == 1


def test_csv_gives_every_name_and_number_back_with_its_records() -> None:
    records = worked()
    rows = list(csv.DictReader(io.StringIO(render_csv(build_board(records)))))
    assert {row["strategy"] for row in rows} == {ODD, "frozen", "1e5", "mlm", "tfidf"}
    (row,) = [row for row in rows if row["strategy"] == ODD and row["task"] == "sts/y"]
    behind = [record for record in records if record.strategy == ODD and record.task == "sts/y"]
    values = [record.main.value for record in behind if record.main and record.main.value is not None]
    assert float(row["mean"]) == pytest.approx(sum(values) / 3)
    assert float(row["low"]) < float(row["mean"]) < float(row["high"])
    assert row["records"].split() == sorted(record.key for record in behind)
    (failed,) = [row for row in rows if row["strategy"] == "mlm"]
    assert (failed["mean"], failed["outcome"], failed["rank"]) == ("", "failed", "")


def test_json_holds_every_comparison_and_profile() -> None:
    found = json.loads(render_json(build_board(worked())))
    tables = {table["title"]: table for table in found["sections"][0]["tables"]}
    assert len(tables["sts"]["comparisons"]) == 3
    assert [len(each["profile"]) for each in tables["fewshot"]["aggregates"]] == [21, 21, 21]


def test_latex_has_a_table_for_each_on_the_page_with_as_many_cells_in_each_line() -> None:
    page = render_latex(build_board(worked()))
    assert r"a\textbar{}b 1e5" in page
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", page, re.DOTALL):
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in table.splitlines() if line != r"\midrule"}) == 1
    assert page.count(r"\begin{tabular}") == page.count(r"\end{table}") == 6  # overall and sts twice, fewshot, cost


def test_latex_escapes_all_that_it_would_read() -> None:
    assert escape_latex("50%_#&$\n~^\\{}") == (r"50\%\_\#\&\$ \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}")
    assert escape_latex("[a]* ± †") == r"{[}a]{*} $\pm$ \dag{}"


def test_a_board_of_some_tasks_has_their_records_alone(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "B.md"
    assert invoke("--results", results, "--task", "sts/*", "--out", out)[0] == 0
    text = out.read_text(encoding="utf-8")
    assert text == render_markdown(build_board([each for each in worked() if each.task.startswith("sts/")]))
    assert "fewshot" not in text
    code, output = invoke("--results", results, "--task", "fewshot/z@20", "--out", out, "--check")
    assert (code, f"leaderboard --results {results} --task fewshot/z@20 --out" in output) == (1, True)
    with pytest.raises(UserError, match=r"unknown task in the records of .* 'sts/z'; did you mean sts/y or sts/x"):
        edition_of(results, [out], tasks=["sts/z"])


def test_a_board_by_another_metric_ranks_the_tasks_that_have_it_in_its_direction(tmp_path: Path) -> None:
    lost = MetricValue("drop", None, "down", None, None, None, main=False)
    records = [make_record("majority", "ir/x", 0.9)]
    for name, score, drop in (("far", 0.8, 0.3), ("near", 0.6, 0.1)):
        record = make_record(name, "shift/a@9~b", score)
        records.append(replace(record, metrics=(*record.metrics, replace(lost, value=drop))))
    out = tmp_path / "B.csv"
    options = ("--results", folder(tmp_path / "results", records), "--metric")

    assert invoke(*options, "drop", "--out", out)[0] == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert {row["metric"] for row in rows} == {"drop"}
    assert {row["task"] for row in rows} == {"shift/a@9~b"}
    assert [row["strategy"] for row in rows if row["rank"] == "1"] == ["near"]
    with pytest.raises(UserError, match=r"unknown metric in the records of .* 'drpo'; did you mean drop"):
        edition_of(tmp_path / "results", [out], metric="drpo")


def test_a_run_whose_metric_was_not_taken_has_no_place_in_a_board_by_that_metric(tmp_path: Path) -> None:
    def run(name: str, drop: float | None) -> Record:
        record = make_record(name, "shift/a@9~b", 0.8)
        return replace(record, metrics=(*record.metrics, MetricValue("drop", drop, "down")))

    results = folder(tmp_path / "results", [run("far", 0.3), run("near", 0.1), run("none", None)])
    (page,) = edition_of(results, [tmp_path / "B.csv"], metric="drop").pages
    rows = {row["strategy"]: row for row in csv.DictReader(io.StringIO(page.text))}
    assert (rows["near"]["rank"], rows["far"]["rank"]) == ("1", "2")
    assert (rows["none"]["rank"], rows["none"]["mean"]) == ("", "")
    (page,) = edition_of(results, [tmp_path / "B.md"], metric="drop").pages
    assert "drop was not taken" in page.text


def test_json_holds_no_traceback_and_survives_half_of_a_surrogate_pair() -> None:
    failed = make_record("b", status="failed", why="no such file: caf\udce9\nrow: a secret text")
    page = render_json(build_board([make_record("a"), failed]))
    assert "no such file: caf?" in page
    assert "secret" not in page
    assert "Traceback" not in page
    assert json.loads(page)


def test_check_writes_nothing_and_names_what_is_stale(results: Path, tmp_path: Path) -> None:
    document, board = tmp_path / "README.md", tmp_path / "B.csv"
    document.write_text(DOCUMENT, encoding="utf-8")
    options = ("--results", results, "--out", board, "--into", document)
    code, output = invoke(*options, "--check")
    assert code == 1
    assert f"{board} is stale; renew it: thawbench leaderboard --results {results} --out {board}" in output
    assert f"--into {document}" in output
    assert not board.exists()
    assert document.read_text(encoding="utf-8") == DOCUMENT
    assert invoke(*options)[0] == 0
    assert invoke(*options, "--check") == (0, "")
    folder(results, [make_record("new", "sts/x", 0.9)])
    assert invoke(*options, "--check")[0] == 1


def test_the_command_that_renews_is_what_a_shell_takes(tmp_path: Path) -> None:
    results, out = folder(tmp_path / "my results", worked()), tmp_path / "my board.md"
    _, output = invoke("--results", results, "--task", "sts/*", "--metric", "spearman", "--out", out, "--check")
    expected = ["thawbench", "leaderboard", "--results", str(results), "--task", "sts/*", "--metric", "spearman"]
    assert shlex.split(output.partition("renew it: ")[2]) == [*expected, "--out", str(out)]


def test_by_another_metric_nobody_stands_overall(tmp_path: Path) -> None:
    lost = MetricValue("drop", 0.1, "down")
    records = [
        make_record(name, task, value, others=(lost,))
        for name, value in (("a", 0.2), ("b", 0.4))
        for task in ("shift/x@9~y", "noise/x")
    ]
    results, pages = folder(tmp_path / "results", records), [tmp_path / "B.md", tmp_path / "B.json"]
    assert all("verall" in page.text for page in edition_of(results, pages[:1]).pages)
    page, data = edition_of(results, pages, metric="drop").pages
    assert "Overall" not in page.text
    assert [section["overall"] for section in json.loads(data.text)["sections"]] == [None]


def test_an_unknown_format_and_a_missing_document_are_one_line(results: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown format of .*board.mdx '.mdx'; did you mean .md"):
        edition_of(results, [tmp_path / "board.mdx"])
    with pytest.raises(UserError, match=r"the document .*none.md cannot be read"):
        edition_of(results, [], [tmp_path / "none.md"])


def test_half_of_a_surrogate_pair_can_be_published(tmp_path: Path) -> None:
    page = Page(tmp_path / "b.csv", "a\ud800b\n")
    page.write()
    assert page.path.read_bytes() == b"a?b\n"
    assert not page.stale


def test_a_page_is_put_where_a_link_leads_and_is_as_it_was_when_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("before")
    (tmp_path / "link.md").symlink_to("real.md")
    Page(tmp_path / "link.md", "after").write()
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "after"

    with pytest.raises(UserError, match=r"none.b.md cannot be written \(No such file or directory\)"):
        Page(tmp_path / "none" / "b.md", "x").write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.md", "real.md"]
