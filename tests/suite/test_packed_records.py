"""Packed records: one file in place of many, and every reader reads both."""

from dataclasses import replace
from pathlib import Path

import pytest
from records_by_hand import make_record
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.errors import UserError
from thawbench.slurm.glance import Glances
from thawbench.suite.record_store import PACKED, RecordStore, published, read_packed, write_packed
from thawbench.suite.records import Record


def filled(folder: Path, records: list[Record]) -> RecordStore:
    store = RecordStore(folder)
    for record in records:
        store.write(record)
    return store


def some() -> list[Record]:
    records = [make_record(value=at / 10, seed=at) for at in range(5)]
    return sorted(records, key=lambda record: record.key)


def test_a_compact_folder_gives_the_records_that_it_had(tmp_path: Path) -> None:
    store = filled(tmp_path, some())
    assert store.compact() == (tmp_path / PACKED, 5)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [PACKED]
    for opened in (store, RecordStore(tmp_path), RecordStore(tmp_path, read_only=True)):
        assert opened.all() == some()
        assert opened.read(some()[0].key) == some()[0]
        assert opened.read("f" * 64) is None


def test_what_is_run_again_stands_before_what_is_packed_and_is_packed_the_next_time(tmp_path: Path) -> None:
    store = filled(tmp_path, some())
    store.compact()
    again = replace(some()[2], attempts=2)
    fresh = make_record(value=0.9, seed=9)
    filled(tmp_path, [again, fresh])
    assert again in store.all()
    assert store.compact()[1] == 6
    assert {record.attempts for record in read_packed(tmp_path / PACKED)[0].values()} == {1, 2}
    assert RecordStore(tmp_path).read(again.key) == again


def test_a_compressed_file_in_the_folder_is_read_and_becomes_a_plain_one(tmp_path: Path) -> None:
    write_packed(tmp_path / f"{PACKED}.gz", some())
    store = RecordStore(tmp_path)
    assert store.all() == some()
    store.compact()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [PACKED]
    assert RecordStore(tmp_path).all() == some()


def test_of_a_plain_and_a_compressed_file_the_plain_one_is_the_newer(tmp_path: Path) -> None:
    """As after a `compact` that was killed before it removed the compressed one."""
    old = some()
    new = [replace(old[0], attempts=2), *old[1:]]
    write_packed(tmp_path / f"{PACKED}.gz", old)
    write_packed(tmp_path / PACKED, new)
    assert RecordStore(tmp_path).all() == new
    assert {found.attempts for found in Glances(tmp_path).all() if found.key == old[0].key} == {2}


def test_a_damaged_single_file_is_set_aside_and_not_packed(tmp_path: Path) -> None:
    records = some()
    store = filled(tmp_path, records)
    store.path(records[1].key).write_bytes(b"{")
    assert RecordStore(tmp_path).compact()[1] == 4
    assert [path.read_bytes() for path in (tmp_path / "records").rglob("*.json*")] == [b"{"]


def test_a_damaged_packed_record_is_noted_by_a_board_and_refused_by_a_run(tmp_path: Path) -> None:
    filled(tmp_path, some()).compact()
    path = tmp_path / PACKED
    path.write_bytes(path.read_bytes().replace(b'"value":0.3', b'"value":0.8'))
    board = RecordStore(tmp_path, read_only=True)
    assert [record.main.value for record in board.all() if record.main] != [0.0, 0.1, 0.2, 0.3, 0.4]
    assert len(board.all()) == 4
    line, whole = board.damaged.values()
    assert "not what its sum says" in line
    assert "lines are missing, or were changed" in whole
    with pytest.raises(UserError, match=r"records\.jsonl, line \d: not what its sum says; put a sound copy"):
        RecordStore(tmp_path).read(some()[0].key)


def test_a_record_whose_sum_is_right_and_content_wrong_is_damaged_too(tmp_path: Path) -> None:
    from thawbench.suite.checked_lines import write_lines

    wrong = {**make_record().to_json(), "mood": "good"}
    write_lines(tmp_path / "x.jsonl", [wrong, [], some()[0].to_json()])
    records, damaged = read_packed(tmp_path / "x.jsonl")
    assert list(records) == [some()[0].key]
    assert [what.partition(": ")[2] for what in damaged] == ["mood is unknown", "the whole is [], expected an object"]


def test_a_traceback_and_all_but_the_first_line_of_a_message_stay_behind(tmp_path: Path) -> None:
    record = make_record(status="failed", why="no room\nrow 7: a sentence of somebody")
    write_packed(tmp_path / "x.jsonl", [record])
    text = (tmp_path / "x.jsonl").read_text()
    assert "Traceback" not in text
    assert "sentence" not in text
    ((found,), _) = (list(read_packed(tmp_path / "x.jsonl")[0].values()), None)
    assert found == published(record)
    assert found.failure is not None
    assert (found.failure.type, found.failure.message) == ("ValueError", "no room")
    assert published(some()[0]) == some()[0]


def test_what_holds_no_records_is_not_packed_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty" / "records").mkdir(parents=True)
    (tmp_path / "my_idea.py").touch()
    there = sorted(tmp_path.rglob("*"))

    for name in ("tyop", "empty", "my_idea.py"):
        told = CliRunner().invoke(app, ["compact", str(tmp_path / name)]).exception
        assert isinstance(told, UserError)
        assert str(told).startswith(f"{tmp_path / name} is no folder with records; give the one that")
        assert "--" not in str(told)

    assert sorted(tmp_path.rglob("*")) == there


def test_what_is_packed_already_may_be_packed_again(tmp_path: Path) -> None:
    write_packed(tmp_path / f"{PACKED}.gz", some())
    for _ in range(2):
        done = CliRunner().invoke(app, ["compact", str(tmp_path)])
        assert done.output == f"{tmp_path / PACKED}: 5 records\n"
