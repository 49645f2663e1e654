"""Files of checked lines: any damage shows, and the same values give the same bytes."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.suite.checked_lines import read_lines, write_lines

VALUES = [{"b": 1, "a": "é\ud800"}, {"c": [0.1, None]}]


@pytest.mark.parametrize("name", ["v.jsonl", "v.jsonl.gz"])
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    assert write_lines(tmp_path / name, VALUES) == 2
    lines = list(read_lines(tmp_path / name))
    assert [json.loads(line.content) for line in lines] == VALUES
    assert [(line.number, line.damage) for line in lines] == [(2, ""), (3, "")]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_every_line_is_json_with_a_sum_that_sha256sum_gives(tmp_path: Path) -> None:
    write_lines(tmp_path / "v.jsonl", [{"c": 1}])
    head, line, foot = (tmp_path / "v.jsonl").read_bytes().splitlines(keepends=True)
    assert json.loads(head) == {"format": "thawbench records", "version": 1}
    assert json.loads(line) == {"sha256": hashlib.sha256(b'{"c":1}').hexdigest(), "record": {"c": 1}}
    assert json.loads(foot) == {"records": 1, "sha256": hashlib.sha256(line).hexdigest()}


@pytest.mark.parametrize("name", ["v.jsonl", "v.jsonl.gz"])
def test_the_same_values_give_the_same_bytes_under_any_name_and_at_any_time(name: str, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_lines(tmp_path / folder / name, VALUES)
    write_lines(tmp_path / f"w{name}", VALUES)
    assert len({path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}) == 1


def damaged(path: Path) -> list[tuple[int, str]]:
    return [(line.number, line.damage.removeprefix(f"{path}")) for line in read_lines(path) if line.damage]


def test_a_changed_line_is_named_and_so_is_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    write_lines(path, VALUES)
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.2"))
    (line, first), (whole, second) = damaged(path)
    assert (line, first) == (3, ", line 3: not what its sum says")
    assert whole == 0
    assert "lines are missing, or were changed" in second


@pytest.mark.parametrize("cut", ["line", "foot", "half a foot", "twice", "swapped", "more behind"])
def test_lines_that_are_missing_doubled_or_moved_are_noticed(cut: str, tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    write_lines(path, VALUES)
    head, one, two, foot = path.read_bytes().splitlines(keepends=True)
    found = {
        "line": [head, two, foot],
        "foot": [head, one, two],
        "half a foot": [head, one, two, foot[:40]],
        "twice": [head, one, one, two, foot],
        "swapped": [head, two, one, foot],
        "more behind": [head, one, two, foot, one],
    }[cut]
    path.write_bytes(b"".join(found))
    assert [line for line, _ in damaged(path)] == [0]


@pytest.mark.parametrize("content", [b"", b"# Leaderboard\n", b'{"key": 1}\n', b"[1]\n", b"\xff\xfe"])
def test_another_file_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_bytes(content)
    with pytest.raises(UserError, match="is no file of records; thawbench export makes one"):
        list(read_lines(tmp_path / "v.jsonl"))


def test_a_later_version_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"format":"thawbench records","version":2}\n')
    with pytest.raises(UserError, match="in version 2, and this Thawbench reads 1"):
        list(read_lines(tmp_path / "v.jsonl"))


def test_what_was_compressed_and_damaged_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl.gz"
    write_lines(path, VALUES)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:20] + bytes(20) + whole[40:], b"plain"):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"v\.jsonl\.gz cannot be read"):
            list(read_lines(path))
    path.write_bytes(gzip.compress(b"plain"))
    with pytest.raises(UserError, match="is no file of records"):
        list(read_lines(path))


def test_a_write_that_fails_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    write_lines(path, VALUES)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        write_lines(path, [*VALUES, float("nan")])
    assert [(each, each.read_bytes()) for each in tmp_path.iterdir()] == [(path, before)]
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_lines(tmp_path / "file" / "v.jsonl", VALUES)
    with pytest.raises(UserError, match="cannot be read"):
        list(read_lines(tmp_path / "nowhere.jsonl"))
