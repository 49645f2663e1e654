"""Records at a glance say what the whole records say."""

import json
import os
from pathlib import Path

from records_by_hand import make_record

from thawbench.slurm.glance import Glance, Glances
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Usage


def test_a_glance_agrees_with_the_record(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    records = [
        make_record("frozen", usage=Usage(wall_s=1.25)),
        make_record("tfidf:a=1", "ir/SciFact:train=nli", status="failed", why='a "quoted"\nline'),
        make_record("majority", value=None, status="not_applicable", why="it has no\nvectors, é"),
    ]
    for record in records:
        store.write(record)

    found = {glance.key: glance for glance in Glances(tmp_path).all()}

    assert len(found) == 3
    for record in records:
        expected = Glance(
            record.key,
            record.status,
            record.strategy,
            record.task,
            record.family,
            record.backbone,
            record.attempts,
            record.reason,
            record.usage.wall_s,
        )
        assert found[record.key] == expected == Glances(tmp_path).get(record.key)


def test_a_record_in_another_layout_is_read_all_the_same(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record("frozen", usage=Usage(wall_s=2.5))
    store.write(record)
    before = Glances(tmp_path).get(record.key)
    store.path(record.key).write_text(json.dumps(record.to_json()))

    assert Glances(tmp_path).get(record.key) == before
    assert before is not None
    assert before.wall_s == 2.5


def test_what_was_seen_is_kept_until_its_folder_changes(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record("frozen", status="failed", why="no\nway")
    store.write(record)
    (tmp_path / "sweep").mkdir()
    folder = store.path(record.key).parent
    kept = tmp_path / "sweep" / "glances" / f"{folder.name}.jsonl"
    first = list(Glances(tmp_path).all())
    assert not kept.exists()  # the folder has just changed
    os.utime(folder, (1000, 1000))
    assert list(Glances(tmp_path).all()) == first
    assert kept.exists()

    store.path(record.key).write_text("unseen")
    assert list(Glances(tmp_path).all()) == first
    assert Glances(tmp_path).get(record.key) is None  # one by one they are always read

    store.write(make_record("frozen"))
    assert [found.status for found in Glances(tmp_path).all()] == ["ok"]
    kept.write_text("damaged")
    assert [found.status for found in Glances(tmp_path).all()] == ["ok"]


def test_packed_records_are_seen_too_and_single_ones_go_before_them(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    old, kept = make_record("frozen", status="failed"), make_record("tfidf")
    store.write(old)
    store.write(kept)
    store.compact()
    assert not store.path(kept.key).exists()
    store.write(make_record("frozen"))

    assert {found.strategy: found.status for found in Glances(tmp_path).all()} == {"frozen": "ok", "tfidf": "ok"}
    glance = Glances(tmp_path).get(kept.key)
    assert glance is not None
    assert glance.task == kept.task
    assert Glances(tmp_path).get("0" * 64) is None


def test_what_is_no_record_counts_as_missing(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record()
    store.write(record)
    path = store.path(record.key)
    path.with_name(f".{path.name}.17-ab.tmp").write_bytes(path.read_bytes())
    path.with_name(f"{path.name}.damaged-1").write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes()[:200])

    assert Glances(tmp_path).get(record.key) is None
    assert list(Glances(tmp_path).all()) == []
    assert list(Glances(tmp_path / "nowhere").all()) == []
