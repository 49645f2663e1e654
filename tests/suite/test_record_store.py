"""The records of a folder: whole or not there, strict on both sides, and nothing lost among processes."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from full_record import files_of, make_record

from thawbench.errors import UserError
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import (
    DamagedRecordError,
    Failure,
    Usage,
)

# a writer in a process of its own: the record in argv[2] into the folder argv[1], under the seeds in argv[3:]
WRITER = """
import dataclasses, json, pathlib, sys
from thawbench.contracts import Seeds
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record, key_of
record = Record.from_json(json.loads(pathlib.Path(sys.argv[2]).read_text()))
store = RecordStore(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
attempts = 0
for seed in map(int, sys.argv[3:]):
    cell = json.loads(json.dumps(record.cell))
    cell["adaptation"]["steps"][0]["seeds"] = {"init": seed % 1000}
    attempts += 1
    store.write(dataclasses.replace(
        record, cell=cell, key=key_of(cell), seeds=Seeds(0, seed % 1000, 0), attempts=attempts))
"""


# ---- reading and writing --------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record(
        failure=Failure("OSError", "línea\n\ud800", "…"), status="failed", trace="traces/a.parquet", reason="x"
    )
    store.write(record)
    assert store.read(record.key) == record
    assert files_of(tmp_path) == [tmp_path / "records" / record.key[:2] / f"{record.key}.json"]


def test_all_gives_every_record_by_key(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    records = [make_record(seed) for seed in range(20)]
    for record in records:
        store.write(record)
    assert store.all() == sorted(records, key=lambda record: record.key)
    assert store.read("f" * 64) is None


def test_a_later_write_replaces_the_record(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.write(make_record(attempts=1))
    store.write(make_record(attempts=2))
    assert [record.attempts for record in store.all()] == [2]


def test_a_value_of_a_wrong_type_is_refused_at_the_write(tmp_path: Path) -> None:
    with pytest.raises(DamagedRecordError, match=r"usage\.texts is True, expected int"):
        RecordStore(tmp_path).write(make_record(usage=Usage(texts=True)))
    assert files_of(tmp_path) == []


def edited(edit: str) -> bytes:
    """A record's bytes with one thing wrong."""
    value = make_record().to_json()
    text = json.dumps(value)
    match edit:
        case "empty":
            return b""
        case "truncated":
            return text[: len(text) // 2].encode()
        case "zeros":
            return bytes(len(text))
        case "not utf-8":
            return text.encode().replace(b"embedded", b"embedd\xff\xfe")
        case "a list":
            return f"[{text}]".encode()
        case "nan":
            return text.replace("0.8203", "NaN").encode()
        case "infinite":
            return text.replace("0.8203", "1e999").encode()
        case "out of bounds":
            return text.replace("0.8203", "8.203").encode()
        case "a key twice":
            return text.replace('"status": "ok"', '"status": "ok", "status": "ok"').encode()
        case "deep":
            return b"[" * 100_000
        case "missing":
            del value["dev_score"]
        case "unknown":
            value["mood"] = "good"
        case "nested missing":
            del value["metrics"][0]["upper"]
        case "wrong type":
            value["attempts"] = "1"
        case "bool for a number":
            value["usage"]["fit_s"] = True
        case "no such status":
            value["status"] = "fine"
        case "edited cell":
            value["cell"]["task"]["version"] = 2
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("empty", "no JSON"),
        ("truncated", "no JSON"),
        ("zeros", "no JSON"),
        ("not utf-8", "no JSON.*utf-8"),
        ("a list", "the whole is"),
        ("nan", "NaN is no JSON number"),
        ("infinite", r"metrics\[0\]\.value is inf, expected float"),
        ("out of bounds", r"metrics\[0\]\.metric spearman is 8\.203, outside its bounds"),
        ("a key twice", "stands twice"),
        ("deep", "no JSON"),
        ("missing", "dev_score is missing"),
        ("unknown", "mood is unknown"),
        ("nested missing", r"metrics\[0\]\.upper is missing"),
        ("wrong type", "attempts is '1', expected int"),
        ("bool for a number", r"usage\.fit_s is True, expected float"),
        ("no such status", "status is 'fine', expected Literal"),
        ("edited cell", "key is not the SHA-256 of cell"),
    ],
)
def test_a_damaged_record_is_named_set_aside_and_makes_room(edit: str, message: str, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record()
    store.write(record)
    path = store.path(record.key)
    path.write_bytes(edited(edit))
    assert store.read(record.key) is None
    aside = path.with_name(f"{path.name}.damaged-1")
    assert list(store.damaged) == [aside]
    assert store.damaged[aside].startswith(f"{aside}: ")
    assert re.search(message, store.damaged[aside])
    assert aside.read_bytes() == edited(edit)
    assert store.all() == []
    store.write(record)
    assert store.all() == [record]


def test_a_second_damaged_record_of_one_name_does_not_overwrite_the_first(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    path = store.path(make_record().key)
    for content in (b"first", b"second"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        assert store.read(make_record().key) is None
    assert [path.with_name(f"{path.name}.damaged-{n}").read_bytes() for n in (1, 2)] == [b"first", b"second"]


def test_a_record_under_another_ones_name_is_damaged(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record, other = make_record(0), make_record(1)
    store.write(record)
    store.path(other.key).parent.mkdir(exist_ok=True)
    shutil.copy(store.path(record.key), store.path(other.key))
    assert store.all() == [record]
    assert len(store.damaged) == 1


def test_a_record_written_anew_between_look_and_rename_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    record = make_record()
    store.write(record)
    store.path(record.key).write_bytes(b"{")
    replace = os.replace

    def late(source: Path, target: Path) -> None:
        if "damaged" in str(target):
            monkeypatch.undo()
            RecordStore(tmp_path).write(record)
        replace(source, target)

    monkeypatch.setattr(os, "replace", late)
    assert store.read(record.key) == record
    assert store.damaged == {}
    assert files_of(tmp_path) == [store.path(record.key)]


def test_a_record_of_another_schema_is_no_damage_and_is_left_alone(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record()
    store.write(record)
    path = store.path(record.key)
    path.write_text(path.read_text().replace('\n "schema": 1', '\n "schema": 2'))
    with pytest.raises(UserError, match=r"has schema 2, and this version of Thawbench reads 1"):
        store.read(record.key)
    assert files_of(tmp_path) == [path]


def test_a_read_only_store_leaves_everything_where_it_is(tmp_path: Path) -> None:
    assert RecordStore(tmp_path / "nowhere", read_only=True).all() == []
    assert files_of(tmp_path) == []
    assert not (tmp_path / "nowhere").exists()
    writable = RecordStore(tmp_path)
    writable.write(make_record())
    path = writable.path(make_record().key)
    path.write_bytes(b"{")
    store = RecordStore(tmp_path, read_only=True)
    assert store.all() == []
    assert len(store.damaged) == 1
    assert files_of(tmp_path) == [path]


# ---- what the disk does ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_record_and_names_the_path(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordStore(tmp_path)
    store.write(make_record(attempts=1))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(UserError, match=r"cannot be written \(No space left on device\)") as caught:
            store.write(make_record(attempts=2))
    path = store.path(make_record().key)
    assert str(path) in str(caught.value)
    assert files_of(tmp_path) == [path]
    assert [record.attempts for record in store.all()] == [1]


def test_an_interrupt_in_the_middle_of_a_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordStore(tmp_path)

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.write(make_record())
    assert files_of(tmp_path) == []


def test_a_disk_that_is_really_full_leaves_the_old_record(tmp_path: Path) -> None:
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_text(json.dumps(make_record().to_json()))
    large.write_text(json.dumps(make_record(reason="x" * 50_000).to_json()))
    (tmp_path / "writer.py").write_text(WRITER)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=256k tmpfs {disk}"
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "sh", "-c", mount]).returncode:
        pytest.skip("no file system of one's own may be mounted here")
    script = f"""
        {mount}
        {sys.executable} {tmp_path}/writer.py {disk} {small} 7 || exit 3
        before=$(cat {disk}/records/*/*.json | sha256sum)
        head -c 1000000 /dev/zero > {disk}/filler 2> /dev/null
        truncate -s -20000 {disk}/filler
        {sys.executable} {tmp_path}/writer.py {disk} {large} 7 && exit 4
        test "$before" = "$(cat {disk}/records/*/*.json | sha256sum)" || exit 5
        find {disk}/records -type f | wc -l"""
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done
    assert "cannot be written (No space left on device)" in done.stderr
    assert done.stdout.split() == ["ready", "ready", "1"]


def test_a_folder_that_cannot_be_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written to .*--results"):
        RecordStore(tmp_path / "file" / "results")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_refused_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="Permission denied"):
        RecordStore(tmp_path / "results")


# ---- processes ------------------------------------------------------------------------------------------------------


def start_writer(folder: Path, template: Path, seeds: range) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(template), *map(str, seeds)], stdout=subprocess.PIPE
    )


def test_several_processes_on_one_folder_lose_nothing(tmp_path: Path) -> None:
    template = tmp_path / "record.json"
    template.write_text(json.dumps(make_record().to_json()))
    # two write the same fifty keys, one other ones
    writers = [start_writer(tmp_path / "results", template, seeds) for seeds in (range(50), range(50), range(50, 100))]
    assert [writer.communicate() and writer.returncode for writer in writers] == [0, 0, 0]
    store = RecordStore(tmp_path / "results")
    assert sorted(record.seeds.init for record in store.all()) == list(range(100))
    assert store.damaged == {}
    assert len(files_of(tmp_path / "results")) == 100


def test_kill_9_in_the_middle_of_writes_leaves_only_whole_records(tmp_path: Path) -> None:
    template = tmp_path / "record.json"
    template.write_text(json.dumps(make_record().to_json()))
    folder = tmp_path / "results"
    for wait_s in (0.0, 0.05, 0.1):
        writer = start_writer(folder, template, range(10_000))
        assert writer.stdout is not None
        with writer.stdout:
            writer.stdout.readline()
            time.sleep(wait_s)
            writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
    store = RecordStore(folder)
    assert store.all()
    assert store.damaged == {}


def test_records_need_neither_torch_nor_mteb_nor_transformers() -> None:
    script = (
        "import sys, thawbench.suite.record_store as _; "
        "print([m for m in ('torch', 'mteb', 'transformers', 'scipy') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
