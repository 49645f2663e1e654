"""What is published is what the published records give."""

import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from thawbench.leaderboard.figures import draw_figures
from thawbench.leaderboard.publish import edition_of
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "leaderboard" / "records" / "served"


def test_the_committed_boards_are_made_from_the_committed_records() -> None:
    edition = edition_of(RECORDS, [ROOT / "LEADERBOARD.md"], [ROOT / "README.md"])

    assert edition.damaged == ()
    assert [page.path.name for page in edition.pages if page.stale] == []


@pytest.mark.parametrize(
    ("page", "records", "tasks"),
    [
        ("costs.md", "served", ["fewshot/sst2@100"]),
        ("findings.md", "served", []),
        ("forgetting.md", "served", ["forgetting/*subj*"]),
        ("layers.md", "inward", []),
        ("shifts.md", "outward", []),
        ("structure.md", "outward", []),
    ],
)
def test_the_tables_of_the_docs_are_made_from_the_committed_records(page: str, records: str, tasks: list[str]) -> None:
    edition = edition_of(RECORDS.parent / records, [], [ROOT / "docs" / page], tasks)

    assert edition.damaged == ()
    assert not edition.pages[0].stale


@pytest.mark.parametrize(
    ("folder", "records", "only", "tasks"),
    [
        (".", "served", ["sizes"], []),
        (".", "served", ["drift", "forgetting"], ["forgetting/*subj*"]),
        (".", "inward", ["fields"], ["fewshot/druglib", "fewshot/snli"]),
        ("shifts", "outward", ["sizes"], ["fewshot/sst2*", "shift/sst2*"]),
    ],
)
def test_the_figures_of_the_docs_are_drawn_from_the_committed_records(
    folder: str, records: str, only: list[str], tasks: list[str], tmp_path: Path
) -> None:
    """Not by their bytes, which may be others with another release of matplotlib."""
    drawn = draw_figures(RECORDS.parent / records, tmp_path, only, tasks=tasks)

    assert drawn.damaged == ()
    assert [each.path for each in drawn.outcomes] == [tmp_path / f"{name}.svg" for name in only]
    for name in only:
        light, dark = (ROOT / "docs" / "figures" / folder / f"{name}{end}.svg" for end in ("", "-dark"))
        new = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        for published in (light, dark):
            text = published.read_text(encoding="utf-8")
            assert written(new) == written(text), f"{published} is stale; draw it anew"
            assert places(new) == pytest.approx(places(text), abs=0.01), f"{published} is stale; draw it anew"
        assert styles(new) == styles(light.read_text(encoding="utf-8")), f"{light} is stale; draw it anew"


def written(svg: str) -> list[str]:
    return re.findall(r"<!-- (.*?) -->", svg)


def places(svg: str) -> list[float]:
    lines = re.findall(r'<g id="line2d_\d+">\s*<path d="([^"]*)"', svg)
    return [float(number) for line in lines for number in re.findall(r"-?\d+(?:\.\d+)?", line)]


def styles(svg: str) -> list[str]:
    return re.findall(r'<g id="line2d_\d+">\s*<path [^>]*style="([^"]*)"', svg)


def test_the_same_boards_are_made_from_the_records_in_one_file(tmp_path: Path) -> None:
    shutil.copytree(RECORDS, tmp_path / "served")
    _, count = RecordStore(tmp_path / "served").compact()
    edition = edition_of(tmp_path / "served", [ROOT / "LEADERBOARD.md"], [ROOT / "README.md"])

    assert [path.name for path in (tmp_path / "served").rglob("*") if path.is_file()] == ["records.jsonl"]
    assert f"{count} records" in edition.pages[0].text
    assert [page.path.name for page in edition.pages if page.stale] == []


def test_nothing_published_of_real_data_was_adapted_to_the_embedded_world() -> None:
    """As happens where the profile is forgotten: `mini` has its own train sets for `sts` and `ir`."""
    trained = {
        (record.task, name) for record in RecordStore(RECORDS, read_only=True).all() for name in trained_on(record)
    }
    assert ("sts/STS12", "nli") in trained
    assert {(task, name) for task, name in trained if name.startswith("world/")} == set()


def trained_on(record: Record) -> set[str]:
    steps = cast("list[dict[str, Any]]", cast("dict[str, Any]", record.cell["adaptation"])["steps"])
    return {str((step["train"] or {}).get("name")) for step in steps}


def test_published_records_hold_no_text_of_a_row() -> None:
    paths = [path for path in RECORDS.parent.rglob("*") if path.suffix in (".json", ".jsonl")]
    assert paths
    for path in paths:
        assert not re.search(r'"(text|sentence1|premise|hypothesis)"', path.read_text(encoding="utf-8")), path
