"""Export and import: what comes in is sound, of the same versions, and never takes the place of another unasked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from records_by_hand import make_record
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.errors import UserError
from thawbench.leaderboard.exchange import Arrival, export_records, import_records
from thawbench.suite.record_store import RecordStore, write_packed
from thawbench.suite.records import Record


def filled(folder: Path, *records: Record) -> Path:
    store = RecordStore(folder)
    for record in records:
        store.write(record)
    return folder


def values(folder: Path) -> list[float]:
    mains = [record.main for record in RecordStore(folder, read_only=True).all()]
    return sorted(main.value for main in mains if main and main.value is not None)


def packed(path: Path, *records: Record) -> Path:
    write_packed(path, records)
    return path


def test_records_go_from_one_folder_to_another(tmp_path: Path) -> None:
    here = filled(tmp_path / "here", make_record(value=0.1, seed=0), make_record(value=0.2, seed=1))
    there = filled(tmp_path / "there", make_record(value=0.2, seed=1), make_record(value=0.3, seed=2))
    assert export_records(here, tmp_path / "x.jsonl.gz").records == 2
    assert import_records(tmp_path / "x.jsonl.gz", there) == Arrival(new=1, same=1, kept=0, replaced=0)
    assert values(there) == [0.1, 0.2, 0.3]
    assert values(here) == [0.1, 0.2]


def test_an_export_is_the_same_from_single_files_and_from_packed_ones(tmp_path: Path) -> None:
    here = filled(tmp_path / "here", *(make_record(value=0.1, seed=seed) for seed in range(4)))
    export_records(here, tmp_path / "a.jsonl")
    RecordStore(here).compact()
    export_records(here, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_damaged_file_is_refused_with_the_list_and_nothing_is_written(tmp_path: Path) -> None:
    source = packed(tmp_path / "x.jsonl", *(make_record(value=at / 10, seed=at) for at in range(1, 4)))
    content = source.read_bytes().replace(b'"value":0.1', b'"value":0.9').replace(b'"value":0.3', b'"value":0.4')
    source.write_bytes(content)
    with pytest.raises(
        UserError, match=r"is damaged, and nothing of it was taken.*line \d.*line \d.*were changed"
    ) as caught:
        import_records(source, tmp_path / "there")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "there").exists()


def test_a_disk_that_fills_up_leaves_whole_records_and_the_same_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = packed(tmp_path / "x.jsonl", *(make_record(value=at / 10, seed=at) for at in range(1, 4)))
    written: list[Record] = []
    write = RecordStore.write

    def full(store: RecordStore, record: Record) -> None:
        if len(written) == 2:
            raise UserError("no space")
        written.append(record)
        write(store, record)

    with monkeypatch.context() as patched:
        patched.setattr(RecordStore, "write", full)
        with pytest.raises(UserError, match="no space"):
            import_records(source, tmp_path / "there")
    assert len(values(tmp_path / "there")) == 2
    assert import_records(source, tmp_path / "there") == Arrival(new=1, same=2, kept=0, replaced=0)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(UserError, match="is no file of records"):
        import_records(tmp_path / "x.csv", tmp_path / "there")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"task_version": 2}, r"mix versions of one task.*sts/STS12 differs in version"),
        ({"fingerprint": "f2"}, r"mix versions of one task.*differs in fingerprint"),
        ({"version": "2"}, r"mix versions of one strategy.*frozen"),
        ({"packages": {"torch": "3.0"}}, r"mix major versions of a library.*torch 2\.13.*and 3\.0"),
    ],
)
def test_what_could_not_stand_on_one_board_is_refused_and_nothing_is_written(
    change: dict[str, Any], what: str, tmp_path: Path
) -> None:
    there = filled(tmp_path / "there", make_record(value=0.1, seed=0, packages={"torch": "2.13"}))
    coming = make_record(**{"value": 0.2, "seed": 1, "packages": {"torch": "2.12"}, **change})
    with pytest.raises(UserError, match=what):
        import_records(packed(tmp_path / "x.jsonl", coming), there)
    assert values(there) == [0.1]


def test_a_mixture_inside_the_file_is_refused_too(tmp_path: Path) -> None:
    source = packed(tmp_path / "x.jsonl", make_record(task_version=1), make_record("b", task_version=2))
    with pytest.raises(UserError, match="mix versions of one task"):
        import_records(source, tmp_path / "there")


def test_a_record_that_differs_is_never_overwritten_unasked(tmp_path: Path) -> None:
    mine, theirs = make_record(value=0.1, seed=0), make_record(value=0.2, seed=0)
    assert mine.key == theirs.key
    there = filled(tmp_path / "there", mine)
    source = packed(tmp_path / "x.jsonl", theirs, make_record(value=0.3, seed=1))
    with pytest.raises(
        UserError, match=r"1 of 2 records are in .* and differ.*frozen on sts/STS12 \(\w{12}\) in metrics"
    ):
        import_records(source, there)
    assert values(there) == [0.1]
    assert import_records(source, there, "keep") == Arrival(new=1, same=0, kept=1, replaced=0)
    assert values(there) == [0.1, 0.3]
    assert import_records(source, there, "replace") == Arrival(new=0, same=1, kept=0, replaced=1)
    assert values(there) == [0.2, 0.3]


def test_one_that_differs_in_its_packed_form_is_noticed_as_well(tmp_path: Path) -> None:
    there = filled(tmp_path / "there", make_record(value=0.1, seed=0))
    RecordStore(there).compact()
    source = packed(tmp_path / "x.jsonl", make_record(value=0.2, seed=0))
    with pytest.raises(UserError, match="and differ"):
        import_records(source, there)
    import_records(source, there, "replace")
    assert values(there) == [0.2]


def test_a_traceback_that_stayed_behind_is_no_difference(tmp_path: Path) -> None:
    there = filled(tmp_path / "there", make_record(status="failed", why="no\nmore"))
    export_records(there, tmp_path / "x.jsonl")
    assert import_records(tmp_path / "x.jsonl", there).same == 1
    (record,) = RecordStore(there).all()
    assert record.failure is not None
    assert record.failure.traceback == "Traceback …"


def test_a_damaged_record_in_the_folder_is_set_aside_and_not_lost(tmp_path: Path) -> None:
    record = make_record()
    there = filled(tmp_path / "there", record)
    RecordStore(there).path(record.key).write_bytes(b"{")
    assert import_records(packed(tmp_path / "x.jsonl", record), there).new == 1
    assert [path.read_bytes() for path in there.rglob("*.damaged-1")] == [b"{"]
    assert RecordStore(there).all() == [record]


def test_many_differences_are_cut_short_and_counted(tmp_path: Path) -> None:
    mine = [make_record(value=0.1, seed=seed) for seed in range(30)]
    there = filled(tmp_path / "there", *mine)
    source = packed(tmp_path / "x.jsonl", *(replace(record, attempts=2) for record in mine))
    with pytest.raises(UserError, match=r"30 of 30 records .* in attempts; … and 10 more"):
        import_records(source, there)


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    here, there, file = filled(tmp_path / "here", make_record()), tmp_path / "there", tmp_path / "x.jsonl"

    def say(*arguments: object) -> str:
        found = CliRunner().invoke(app, [str(each) for each in arguments])
        assert found.exit_code == 0, found.output
        return found.output

    assert say("export", "--results", here, "--out", file) == f"wrote {file}: 1 records\n"
    assert say("import", file, "--results", there).startswith(f"{there}: 1 new records, 0 were here already")
    assert say("compact", there) == f"{there / 'records.jsonl'}: 1 records\n"
    with pytest.raises(UserError, match=r"there are no records in .* to export"):
        export_records(tmp_path / "nowhere", file)
