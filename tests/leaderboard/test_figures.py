"""Figures of a folder: which are drawn, which are not and why, and the same bytes for the same records."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from figures_by_hand import all_drawn_is_finite, every_family, seeded, texts_of
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.figure_style import Kind, render
from thawbench.leaderboard.figures import FIGURES, draw_figures
from thawbench.leaderboard.ink import Theme
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

ODD = "a|b\n1e5"
LIGHT: Theme = "light"
DARK: Theme = "dark"


def folder(where: Path, records: list[Record]) -> Path:
    store = RecordStore(where)
    for record in records:
        store.write(record)
    return where


@pytest.fixture(scope="module")
def whole() -> list[Record]:
    """All families, with a strategy that failed, one of an odd name, and one with a single seed."""
    records = [*every_family(("frozen", "finetune", ODD))]
    records += [
        replace(record, strategy="once") for record in every_family(("once",), seeds=1) if record.family != "forgetting"
    ]
    for task in sorted({record.task for record in records}):
        records.append(make_record("lost", task, crossed=Seeds(0, 0, 0), status="failed", why="no"))
    return records


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_numbers_only_whatever_is_missing(name: str, whole: list[Record]) -> None:
    kind = FIGURES[name]
    figure = kind.draw(kind.select(whole), "dark" if name in ("sizes", "forgetting") else "light")
    assert all_drawn_is_finite(figure)
    assert not any("nan" in text.split() or "None" in text for text in texts_of(figure))
    if name not in ("geometry", "layers", "probe", "noise"):
        assert any("a|b 1e5" in text for text in texts_of(figure))


@pytest.mark.parametrize("name", FIGURES)
def test_shuffled_records_have_the_same_points(name: str, whole: list[Record]) -> None:
    points = FIGURES[name].select(whole)
    assert points == FIGURES[name].select(whole[::-1]) == FIGURES[name].select(whole[1::2] + whole[::2])


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_points_have_the_same_bytes_and_others_on_a_dark_page(kind: Kind, whole: list[Record]) -> None:
    each = FIGURES["sizes"]
    one, two, dark = (
        render(each.draw(each.select(records), theme), kind)
        for records, theme in ((whole, LIGHT), (whole[::-1], LIGHT), (whole, DARK))
    )
    assert one == two != dark


@pytest.mark.parametrize("name", FIGURES)
def test_no_records_and_records_of_another_kind_have_no_points(name: str) -> None:
    assert not FIGURES[name].select([])
    assert not FIGURES[name].select([make_record("a", "senteval/x", status="failed", why="no")])


def test_one_seed_draws_what_needs_no_spread(tmp_path: Path) -> None:
    drawn = draw_figures(folder(tmp_path / "results", every_family(seeds=1)), tmp_path / "out")
    assert {each.name for each in drawn.outcomes if each.path is None} == {"overtaking", "spread", "ranks"}


def test_what_is_drawn_is_written_and_what_is_not_says_what_it_lacks(tmp_path: Path) -> None:
    results = folder(tmp_path / "results", seeded("frozen", "fewshot/sst2@20", (0.5, 0.6, 0.7)))
    drawn = draw_figures(results, tmp_path / "out", ["spread", "noise"], "dark", "png")
    assert [(each.name, each.path) for each in drawn.outcomes] == [
        ("spread", tmp_path / "out" / "spread-dark.png"),
        ("noise", None),
    ]
    assert drawn.outcomes[1].lacks == "noise on test texts: noise/sst2@100"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["spread-dark.png"]


def test_of_some_tasks_nothing_else_is_drawn(tmp_path: Path) -> None:
    records = seeded("frozen", "fewshot/sst2@20", (0.5, 0.6, 0.7)) + seeded("frozen", "fewshot/rte@20", (0.5, 0.6, 0.8))
    results = folder(tmp_path / "results", records)
    for place, tasks in (("all", ()), ("one", ["fewshot/sst2*"])):
        draw_figures(results, tmp_path / place, ["spread"], tasks=tasks)
    drawn = {place: (tmp_path / place / "spread.svg").read_text(encoding="utf-8") for place in ("all", "one")}
    assert [("rte@20" in each, "sst2@20" in each) for each in drawn.values()] == [(True, True), (False, True)]
    with pytest.raises(UserError, match=r"unknown task in the records of .*'fewshot/sts2@20'; did you mean"):
        draw_figures(results, tmp_path / "none", ["spread"], tasks=["fewshot/sts2@20"])


def test_each_backbone_has_files_of_its_own(tmp_path: Path) -> None:
    records = [
        record
        for name in ("one", "org/two")
        for record in seeded("frozen", "fewshot/sst2@20", (0.5, 0.6, 0.7), weights=name, backbone=name)
    ]
    drawn = draw_figures(folder(tmp_path / "results", records), tmp_path / "out", ["spread"])
    assert [each.path and each.path.name for each in drawn.outcomes] == ["spread-one.svg", "spread-org_two.svg"]


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there are no records in .*; make some"):
        draw_figures(tmp_path / "none", tmp_path)
    with pytest.raises(UserError, match="unknown figure 'size'; did you mean sizes"):
        draw_figures(tmp_path / "none", tmp_path, ["size"])
    results = folder(tmp_path / "results", seeded("frozen", "fewshot/sst2@20", (0.5, 0.6, 0.7)))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"the figure .*spread\.svg cannot be written"):
        draw_figures(results, tmp_path / "file", ["spread"])
    mixed = folder(tmp_path / "mixed", [make_record("a"), make_record("b", revision="r2")])
    with pytest.raises(UserError, match="mix versions of one task"):
        draw_figures(mixed, tmp_path / "out")


def test_figures_need_no_torch_and_nothing_else_needs_matplotlib() -> None:
    program = (
        "import sys, thawbench.cli, thawbench.leaderboard.publish\n"
        "assert not {'torch', 'matplotlib'} & set(sys.modules)\n"
        "import thawbench.leaderboard.figures\n"
        "assert not {'torch', 'matplotlib.pyplot'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).stderr == b""
