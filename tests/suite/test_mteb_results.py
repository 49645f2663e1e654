"""Result files for MTEB, read by mteb's own classes."""

import errno
import re
from pathlib import Path
from typing import Any

import pytest
from records_by_hand import make_record

from thawbench.errors import UserError
from thawbench.suite.mteb_results import model_name, revision_name, write_mteb_results
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import MetricValue, Record
from thawbench.tasks.mteb_bridge import mteb_calls
from thawbench.tasks.mteb_task import find

REVISIONS = {name: find(name, kind, family).metadata.revision for name, kind, family in (
    ("STS12", "STS", "sts"), ("SciFact", "Retrieval", "ir"), ("STS17", "STS", "sts"),
)}  # fmt: skip


def scored(name: str, task: str, value: float, **changes: Any) -> Record:
    metric = "ndcg_at_10" if task.startswith("ir/") else "spearman"
    cosine = () if metric == "ndcg_at_10" else (MetricValue("cosine_spearman", value / 2, lower=-1.0),)
    revision = REVISIONS.get(task.partition("/")[2].partition(":")[0], "r1")
    changes = {"metric": metric, "others": cosine, "revision": revision, "packages": {"mteb": "2.26.24"}, **changes}
    return make_record(name, task, value, **changes)


def filled(folder: Path, *records: Record) -> Path:
    store = RecordStore(folder)
    for record in records:
        store.write(record)
    return folder


def loaded(folder: Path) -> Any:
    with mteb_calls():
        import mteb

        return mteb.ResultCache(folder).load_results(include_remote=False, validate_and_filter=True)


def test_mteb_loads_what_was_written(tmp_path: Path) -> None:
    records = [scored("frozen_ebm:loss=mnr", "sts/STS12", 0.4 + seed / 10, seed=seed) for seed in range(3)]
    records += [scored("frozen_ebm:loss=mnr", "ir/SciFact", 0.25, seed=1), scored("frozen", "ir/SciFact", 0.6451)]
    given = write_mteb_results(filled(tmp_path / "results", *records), tmp_path / "out")
    assert (given.files, given.left_out) == (5, ())
    found = loaded(tmp_path / "out")
    scores = {
        (result.model_name, result.model_revision, task.task_name): task.get_score()
        for result in found.model_results
        for task in result.task_results
    }
    ebm, frozen = model_name(records[0]), model_name(records[-1])
    assert re.fullmatch(r"thawbench/frozen_ebm-loss-mnr-[0-9a-f]{8}", ebm)
    assert scores == pytest.approx(
        {
            **{(ebm, f"init{seed}", "STS12"): (0.4 + seed / 10) / 2 for seed in range(3)},  # MTEB takes the cosine
            (ebm, "init1", "SciFact"): 0.25,
            (frozen, "no-seeds", "SciFact"): 0.6451,
        }
    )
    table = found.to_dataframe()
    assert table.set_index("task_name").loc["SciFact", frozen] == pytest.approx(0.6451)


def test_a_file_is_as_it_was_if_the_disk_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, out = filled(tmp_path / "results", scored("frozen", "sts/STS12", 0.7)), tmp_path / "out"
    write_mteb_results(results, out)
    before = {path: path.read_bytes() for path in out.rglob("*.json")}

    def half(path: Path, text: str, encoding: str) -> int:
        path.write_bytes(text[: len(text) // 2].encode(encoding))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(UserError, match="cannot be written"):
        write_mteb_results(results, out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_file_holds_all_metrics_and_where_they_are_from(tmp_path: Path) -> None:
    write_mteb_results(filled(tmp_path / "results", scored("frozen", "sts/STS12", 0.7)), tmp_path / "out")
    with mteb_calls():
        from mteb.results import TaskResult

        (path,) = (tmp_path / "out").rglob("STS12.json")
        result = TaskResult.from_disk(path, load_historic_data=False)
    assert (result.dataset_revision, result.mteb_version) == (REVISIONS["STS12"], "2.26.24")
    assert result.date is not None
    ((scores,),) = result.scores.values()
    assert scores["spearman"] == 0.7
    assert (scores["main_score"], scores["hf_subset"], scores["languages"]) == (0.35, "default", ["eng-Latn"])


def test_what_mteb_does_not_have_and_what_a_record_does_not_tell_apart_is_left_out_and_named(tmp_path: Path) -> None:
    results = filled(
        tmp_path / "results",
        scored("frozen", "sts/STS12", 0.7),
        scored("frozen", "ir/world", 0.7),
        scored("frozen", "ir/SciFact", 0.7, revision="r1"),
        scored("constant", "sts/STS12", 0.7, status="degenerate", why="constant"),
        make_record("frozen", "fewshot/sst2@20"),
    )
    given = write_mteb_results(results, tmp_path / "out")
    assert given.files == 1
    other, unknown = given.left_out
    assert other.startswith("ir/SciFact is MTEB's task on other data: revision r1, not ")
    assert unknown.startswith("unknown task of ir 'world'")


def test_records_on_other_data_stand_apart_from_those_on_mteb_s_own(tmp_path: Path) -> None:
    for at in range(6):  # whichever comes first
        results = filled(
            tmp_path / f"results{at}",
            scored("frozen", "ir/SciFact", 0.7),
            scored(f"old{at}", "ir/SciFact", 0.1, revision="old"),
        )
        given = write_mteb_results(results, tmp_path / f"out{at}")
        assert given.files == 1
        (written,) = (tmp_path / f"out{at}").rglob("SciFact.json")
        assert '"main_score": 0.7' in written.read_text()
        assert "revision old, not" in given.left_out[0]


def test_a_task_whose_main_score_is_not_measured_here_is_left_out(tmp_path: Path) -> None:
    revision = find("LIMITSmallRetrieval", "Retrieval", "ir").metadata.revision
    limit = scored("frozen", "ir/LIMITSmallRetrieval", 0.7, revision=revision)
    given = write_mteb_results(
        filled(tmp_path / "results", limit, scored("frozen", "sts/STS12", 0.7)), tmp_path / "out"
    )
    assert given.files == 1
    assert "is ranked by recall_at_2 in MTEB" in given.left_out[0]


def test_where_nothing_is_left_to_write_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can be a result file of MTEB: there are none of sts or ir"):
        write_mteb_results(filled(tmp_path / "a", make_record("frozen", "fewshot/sst2@20")), tmp_path / "out")
    with pytest.raises(UserError, match="unknown task of ir 'world'"):
        write_mteb_results(filled(tmp_path / "b", scored("frozen", "ir/world", 0.7)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_seeds_are_revisions_and_everything_else_is_another_model() -> None:
    first, second = (scored("a", "sts/STS12", 0.5, seed=seed) for seed in (0, 1))
    assert model_name(first) == model_name(second)
    assert (revision_name(first), revision_name(second)) == ("init0", "init1")
    for change in ({"train": "stsb"}, {"weights": "ffff"}, {"version": "2"}):
        assert model_name(scored("a", "sts/STS12", 0.5, seed=0, **change)) != model_name(first)
    assert "__" not in model_name(make_record("a|b\n1__5"))
