"""Blocks inside documents: which tables they take, and that all around them stays."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from boards_by_hand import DOCUMENT, folder, invoke, worked
from figures_by_hand import seeded
from records_by_hand import make_record

from thawbench.contracts import Curve, Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.publish import edition_of
from thawbench.suite.records import MetricValue, Record


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return folder(tmp_path / "results", worked())


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
