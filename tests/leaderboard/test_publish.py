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
from figures_by_hand import seeded
from records_by_hand import make_record
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import Curve, Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.json_page import render_json
from thawbench.leaderboard.latex import escape_latex, render_latex
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.publish import Page, edition_of
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import MetricValue, Record

ODD = "a|b\n1e5"
DOCUMENT = "# Mine\n\n<!-- board: sts -->\nold\n<!-- /board -->\n\nmy words\n"


def worked() -> list[Record]:
    """Three strategies on three tasks at three seeds, one with an odd name; a failure and a control."""
    records = [
        make_record(name, task, (0.31 * at + 0.07 * k + len(task)) % 1, crossed=Seeds(k, k, k), train=task)
        for at, name in enumerate((ODD, "frozen", "1e5"))
        for task in ("sts/x", "sts/y", "fewshot/z@20")
        for k in range(3)
    ]
    records += [make_record("mlm", "sts/x", status="failed", why="no"), make_record("tfidf", "sts/x", control=True)]
    return records


def folder(path: Path, records: list[Record]) -> Path:
    store = RecordStore(path)
    for record in records:
        store.write(record)
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return folder(tmp_path / "results", worked())


def invoke(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["leaderboard", *map(str, arguments)])
    return found.exit_code, found.output


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


def test_a_block_is_renewed_and_nothing_around_it_touched(results: Path, tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    assert invoke("--results", results, "--into", document) == (0, f"wrote {document}\n")
    text = document.read_text(encoding="utf-8")
    before, block, after = re.split(r"<!-- board: sts -->|<!-- /board -->", text)
    assert (before, after) == ("# Mine\n\n", "\n\nmy words\n")
    lines = block.strip().splitlines()
    assert lines[0].startswith("| #   | Strategy   | sts/x ")
    page = render_markdown(build_board(worked()))
    assert set(lines) <= set(page.splitlines())
    assert invoke("--results", results, "--into", document)[0] == 0
    assert document.read_text(encoding="utf-8") == text
    assert not (tmp_path / "LEADERBOARD.md").exists()


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


def test_a_block_has_every_metric_of_one_task_with_its_direction(tmp_path: Path) -> None:
    task = "forgetting/a+b"

    def run(strategy: str, seed: int, kept: float, bwt: float, *, control: bool = False) -> Record:
        others = (
            MetricValue("bwt", bwt, "up", lower=-1.0),
            MetricValue("lost", -bwt, "down"),
            MetricValue("none", None),
        )
        record = make_record(strategy, task, kept, metric="kept", others=others, crossed=Seeds(seed, seed, seed))
        return replace(record, control=control)

    records = [run("tuned", 0, 0.6, -0.1), run("tuned", 1, 0.8, -0.3), run("idle", 0, 0.5, 0.0, control=True)]
    records += [run("best", 0, 0.9, 0.0), make_record("lost", task, status="failed", why="no")]
    document = tmp_path / "forgetting.md"
    document.write_text(f"<!-- board: metrics of {task} -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", records), [], [document]).pages

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.text.splitlines() if line.startswith("|")]
    assert rows[0] == ["Strategy", "kept ↑", "bwt ↑", "lost ↓"]
    assert rows[2:] == [
        ["best", "90.00 (1)", "0.00 (1)", "0.00 (1)"],
        ["tuned", "70.00 ± 14.14 (2)", "-20.00 ± 14.14 (2)", "20.00 ± 14.14 (2)"],
        ["idle †", "50.00 (1)", "0.00 (1)", "0.00 (1)"],
        ["lost", "failed", "failed", "failed"],
    ]


def test_a_block_can_hold_one_set_at_its_sizes_and_where_each_strategy_overtakes_freezing(tmp_path: Path) -> None:
    def runs(strategy: str, n: int, *scores: float, control: bool = False) -> list[Record]:
        home = seeded(strategy, f"fewshot/sst2@{n}", scores, control=control)
        away = seeded(strategy, f"shift/sst2@{n}~imdb", [each - 0.1 for each in scores], metric="shifted")
        return [*home, *(replace(record, control=control) for record in away)]

    records = [*runs("frozen", 20, 0.6, 0.61, 0.62), *runs("frozen", 100, 0.7, 0.71, 0.72)]
    records += [*runs("finetune", 20, 0.5, 0.52, 0.51), *runs("finetune", 100, 0.75, 0.77, 0.79)]
    records += [*runs("once", 20, 0.9), *runs("none", 20, 0.4, control=True), *runs("none", 100, 0.5, control=True)]
    document = tmp_path / "sizes.md"
    blocks = (f"<!-- board: sizes of {name} -->\n<!-- /board -->\n" for name in ("sst2", "sst2~imdb"))
    document.write_text("\n".join(blocks), encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", records), [], [document]).pages

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.text.splitlines() if line.startswith("|")]
    home, away = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert home[0] == away[0] == ["Strategy", "n = 20", "n = 100", "Overtakes frozen"]
    # the differences, paired, are -.1, -.09, -.11 and .05, .06, .07: 0 at 20 * 5 ** (.1 / .16) = 55
    assert [row[:3] for row in home[2:]] == [
        ["finetune", "51.00 ± 1.00 (3)", "77.00 ± 2.00 (3)"],
        ["frozen", "61.00 ± 1.00 (3)", "71.00 ± 1.00 (3)"],
        ["none †", "40.00 (1)", "50.00 (1)"],
        ["once", "90.00 (1)", "–"],
    ]
    assert home[2][3].startswith("n ≈ 55 (95 %: ")
    assert [row[3] for row in home[3:]] == ["–"] * 3
    assert away[2][1:3] == ["41.00 ± 1.00 (3)", "67.00 ± 2.00 (3)"]


def test_a_block_can_hold_a_curve_of_one_task(tmp_path: Path) -> None:
    def run(strategy: str, seed: int, *y: float, name: str = "uuas") -> Record:
        curves = (Curve(name, "layer", (0.0, 1.0), y), Curve("by rank", "rank", (1.0,), (0.5,)))
        record = make_record(strategy, "probe/ewt", 0.5, crossed=Seeds(seed, seed, seed), control=strategy == "none")
        return replace(record, curves=curves)

    records = [run("tuned", 0, 0.5, 0.25), run("tuned", 1, 0.7, 0.35), run("none", 0, 0.4, 0.4)]
    records += [run("other", 0, 0.1, 0.2, name="root"), make_record("lost", "probe/ewt", status="failed", why="no")]
    document = tmp_path / "layers.md"
    document.write_text("<!-- board: uuas of probe/ewt -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", records), [], [document]).pages

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.text.splitlines() if line.startswith("|")]
    assert rows[0] == ["Strategy", "0", "1"]
    assert rows[2:] == [
        ["lost", "–", "–"],
        ["other", "–", "–"],
        ["tuned", "60.00", "30.00"],
        ["none †", "40.00", "40.00"],
    ]


def test_cosines_of_a_curve_are_shown_as_they_are(tmp_path: Path) -> None:
    curve = Curve("anisotropy", "layer", (0.0, 1.0), (0.061, -0.02))
    record = replace(make_record("frozen", "geometry/stsb", direction="none"), curves=(curve,))
    document = tmp_path / "layers.md"
    document.write_text("<!-- board: anisotropy of geometry/stsb -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", [record]), [], [document]).pages

    assert "| frozen     | 0.06 | -0.02 |" in page.text


@pytest.mark.parametrize(
    ("curve", "shown"),
    [
        (Curve("a@100 of forgetting/a@100+b@100", "sets trained", (1.0,), (0.71,)), "71.00"),
        (Curve("fresh a@100 of forgetting/a@100+b@100", "sets trained", (1.0,), (0.71,)), "71.00"),
        (Curve("drift after a@100 of forgetting/a@100+b@100", "layer", (1.0,), (0.98,)), "0.98"),
        (Curve("hidden words of forgetting/a@100+b@100", "sets trained", (1.0,), (2.5,)), "2.50"),
        (Curve("readout_s of layers/a@100", "layer", (1.0,), (0.0119,)), "0.01"),
        (Curve("accuracy of layers/a@100", "layer", (1.0,), (0.71,)), "71.00"),
    ],
)
def test_only_shares_and_correlations_of_curves_are_times_100(tmp_path: Path, curve: Curve, shown: str) -> None:
    name, _, task = curve.name.partition(" of ")
    record = replace(make_record("frozen", task), curves=(replace(curve, name=name),))
    document = tmp_path / "layers.md"
    document.write_text(f"<!-- board: {curve.name} -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", [record]), [], [document]).pages

    assert re.search(rf"^\| frozen +\| +{re.escape(shown)} +\|$", page.text, re.MULTILINE)


def test_metrics_that_are_counts_or_losses_are_shown_as_they_are(tmp_path: Path) -> None:
    others = (
        MetricValue("relation", 0.5, "none", lower=-1.0),
        MetricValue("adjusted", 0.5, "none", lower=-2.0, upper=2.0),
        MetricValue("distance_layer", 3.0, "none", upper=None),
        MetricValue("uniformity", -0.62, "none", lower=-8.0, upper=0.0),
        MetricValue("mae", 2.5, "down", upper=None),  # as docs/structure.md has it
        MetricValue("relative_drop", 0.1, "down", lower=None, upper=None),
    )
    record = make_record("frozen", "probe/ewt", 0.5, metric="uuas", others=others)
    document = tmp_path / "metrics.md"
    document.write_text("<!-- board: metrics of probe/ewt -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(folder(tmp_path / "results", [record]), [], [document]).pages

    shown = re.findall(r"-?\d+\.\d\d(?= \(1\))", page.text)
    assert shown == ["50.00", "50.00", "50.00", "3.00", "-0.62", "250.00", "10.00"]


def test_a_curve_that_no_task_has_is_named_with_the_nearest(tmp_path: Path) -> None:
    record = replace(make_record("frozen", "probe/ewt"), curves=(Curve("uuas", "layer", (0.0,), (0.5,)),))
    document = tmp_path / "layers.md"
    document.write_text("<!-- board: uuass of probe/ewt -->\n<!-- /board -->\n", encoding="utf-8")
    with pytest.raises(UserError, match="uuas of probe/ewt"):
        edition_of(folder(tmp_path / "results", [record]), [], [document])


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no block", "has no block for a table"),
        ("<!-- board: sts -->\nwithout an end\n", "has no block for a table, or one without an end"),
        (DOCUMENT + "<!-- board: ir -->\n", "or one without an end"),
        ("<!-- board: fewshots -->\n<!-- /board -->\n", "unknown table in .*'fewshots'; did you mean fewshot"),
    ],
)
def test_a_document_without_a_block_that_is_known_is_refused(
    results: Path, tmp_path: Path, text: str, message: str
) -> None:
    document = tmp_path / "README.md"
    document.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        edition_of(results, [], [document])


def test_of_several_backbones_one_is_named(tmp_path: Path) -> None:
    records = [make_record(weights=name, backbone=name, value=value) for name, value in (("one", 0.1), ("two", 0.2))]
    results, document = folder(tmp_path / "results", records), tmp_path / "README.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    with pytest.raises(UserError, match="several backbones have one; write sts on one or sts on two"):
        edition_of(results, [], [document])
    document.write_text(DOCUMENT.replace("sts", "sts on two"), encoding="utf-8")
    (page,) = edition_of(results, [], [document]).pages
    assert "20.00" in page.text
    assert "10.00" not in page.text


def test_of_several_backbones_of_one_name_what_differs_is_named(tmp_path: Path) -> None:
    records = [make_record(precision=name, value=value) for name, value in (("float32", 0.1), ("bfloat16", 0.2))]
    results, document = folder(tmp_path / "results", records), tmp_path / "README.md"
    choice = r"write sts on embedded \(precision bfloat16\) or sts on embedded \(precision float32\)"
    for asked in ("sts", "sts on embedded"):
        document.write_text(DOCUMENT.replace("sts", asked), encoding="utf-8")
        with pytest.raises(UserError, match=f"the table {asked}, and several backbones have one; {choice}"):
            edition_of(results, [], [document])
    document.write_text(DOCUMENT.replace("sts", "sts on embedded (precision bfloat16)"), encoding="utf-8")
    (page,) = edition_of(results, [], [document]).pages
    assert "20.00" in page.text
    assert "10.00" not in page.text


def test_every_titled_table_of_a_page_can_be_a_block(results: Path, tmp_path: Path) -> None:
    page = render_markdown(build_board(worked()))
    titles = re.findall(r"^#+ ((?:sts|fewshot)(?:: .+)?)$", page, re.MULTILINE)
    assert {"sts: over tasks", "fewshot: against the best", "fewshot: stability"} <= set(titles)
    document = tmp_path / "README.md"
    for title in titles:
        document.write_text(DOCUMENT.replace("sts", title), encoding="utf-8")
        (made,) = edition_of(results, [], [document]).pages
        lines = [line for line in made.text.splitlines() if line.startswith("|")]
        assert len(lines) > 2
        assert "\n".join(lines) in page.partition(f"# {title}\n")[2]


def test_a_block_is_found_with_other_white_space_and_line_ends_which_stay(results: Path, tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_bytes(b"# Mine\r\n\r\n  <!--board: sts-->\t\r\nold\r\n  <!--  /board-->\r\nmy words\r\n")
    assert invoke("--results", results, "--into", document) == (0, f"wrote {document}\n")
    written = document.read_bytes()
    lines = written.decode().split("\r\n")
    assert lines[:5] == ["# Mine", "", "  <!--board: sts-->\t", "", lines[4]]
    assert lines[4].startswith("  | #   | Strategy   | sts/x ")
    assert lines[-5:] == [lines[-5], "", "  <!--  /board-->", "my words", ""]
    assert b"\n" not in written.replace(b"\r\n", b"")
    assert invoke("--results", results, "--into", document, "--check") == (0, "")


def test_the_nearest_table_is_named_of_all_that_there_are(tmp_path: Path) -> None:
    records = [make_record("frozen", f"fewshot/sst2@{n}", metric="accuracy") for n in (20, 100)]
    document = tmp_path / "README.md"
    document.write_text(DOCUMENT.replace("sts", "size of sst2"), encoding="utf-8")
    with pytest.raises(UserError, match="'size of sst2'; did you mean sizes of sst2"):
        edition_of(folder(tmp_path / "results", records), [], [document])


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
