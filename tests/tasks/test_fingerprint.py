"""Fingerprints and the manifest."""

import hashlib
from pathlib import Path

import pytest

from thawbench.errors import DataUnavailableError
from thawbench.tasks import fingerprint
from thawbench.tasks.fingerprint import Entry

ENTRY = Entry("sts/Hand", "hand/hand", "a" * 40, "f" * 64, {"classes": 2})


def test_the_fingerprint_is_the_hash_of_canonical_lines() -> None:
    expected = hashlib.sha256('["é",1.5]\n{"a":2,"b":1}\n'.encode()).hexdigest()
    assert fingerprint.fingerprint([["é", 1.5], {"b": 1, "a": 2}]) == expected


def test_the_order_of_rows_counts() -> None:
    assert fingerprint.fingerprint(["a", "b"]) != fingerprint.fingerprint(["b", "a"])


def test_rows_cannot_run_into_each_other() -> None:
    assert fingerprint.fingerprint([["a"], ["b"]]) != fingerprint.fingerprint([["a", "b"]])


def test_an_entry_is_found_again_in_whatever_case() -> None:
    fingerprint.remember(ENTRY)
    assert fingerprint.seen("STS/hand") == (ENTRY,)
    assert fingerprint.seen("sts/Han") == ()


def test_two_revisions_are_two_entries() -> None:
    other = Entry("sts/Hand", "hand/hand", "b" * 40, "e" * 64)
    fingerprint.remember(ENTRY)
    fingerprint.remember(other)
    assert fingerprint.seen("sts/Hand") == (ENTRY, other)


def test_a_damaged_entry_counts_as_not_seen() -> None:
    fingerprint.remember(ENTRY)
    ENTRY.path.write_text(ENTRY.path.read_text()[:20])
    assert fingerprint.seen("sts/Hand") == ()


def test_nothing_but_the_entry_is_left_behind() -> None:
    fingerprint.remember(ENTRY)
    fingerprint.remember(ENTRY)
    assert [path.name for path in ENTRY.path.parent.iterdir()] == [ENTRY.path.name]


def test_other_rows_than_before_are_refused_and_the_file_to_delete_is_named() -> None:
    with pytest.raises(DataUnavailableError, match=str(ENTRY.path)):
        fingerprint.check(ENTRY, "0" * 64)


def test_an_unwritable_manifest_names_the_variable_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("THAWBENCH_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(DataUnavailableError, match="THAWBENCH_CACHE"):
        fingerprint.remember(ENTRY)
