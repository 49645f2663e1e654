"""Records at a glance: the few fields that a sweep needs of each, many thousands in a second.

What was seen of a folder `records/<two hex digits>` is kept in `sweep/glances`, and holds as long as the folder has
not changed: each record comes into it by a rename, which the folder's time shows.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thawbench.suite.checked_lines import read_lines
from thawbench.suite.record_store import packed_files
from thawbench.whole_file import replacing


@dataclass(frozen=True, slots=True)
class Glance:
    """What a sweep knows of a record."""

    key: str
    status: str
    strategy: str
    task: str
    family: str
    backbone: str
    attempts: int
    reason: str
    wall_s: float

    @property
    def failed(self) -> bool:
        """Whether a retry would replace it."""
        return self.status in ("failed", "timeout")


_SETTLED_NS = 3_000_000_000
"""A folder that has just changed may change again within one tick of its file system's clock."""

_SMALL = 65536

_TOP = ("status", "strategy", "task", "family", "backbone", "attempts", "reason")
"""The fields between the key and the seconds, in their order."""


class Glances:
    """The records of one results folder, looked at and not checked; one that cannot be read counts as missing."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._folder = results / "records"
        self._kept = results / "sweep" / "glances"

    def get(self, key: str) -> Glance | None:
        """The record of this key, or None."""
        return _read(self._folder / key[:2] / f"{key}.json", key) or self._packed.get(key)

    def all(self) -> Iterator[Glance]:
        """Every record, in no order."""
        single = set()
        for found in self._single():
            single.add(found.key)
            yield found
        yield from (found for key, found in self._packed.items() if key not in single)

    @cached_property
    def _packed(self) -> dict[str, Glance]:
        """Those of the file that `thawbench compact` made."""
        lines = (line for path in packed_files(self._results) for line in read_lines(path) if not line.damage)
        glances = (_parsed(line.content) for line in lines)
        return {found.key: found for found in glances if found is not None}

    def _single(self) -> Iterator[Glance]:
        for folder in _entries(self._folder):
            if len(folder.name) == 2:
                yield from self._of(folder)

    def _of(self, folder: os.DirEntry[str]) -> list[Glance]:
        """Those of one folder."""
        changed = os.stat(folder.path).st_mtime_ns  # before it is looked at: what comes in between is seen next time
        head = f"{changed}\n"
        kept = self._kept / f"{folder.name}.jsonl"
        with contextlib.suppress(OSError, ValueError), kept.open(encoding="utf-8") as file:
            if file.readline() == head:
                return [_of_line(line) for line in file]
        found = []
        for entry in _entries(folder.path):
            key, dot, kind = entry.name.partition(".")
            if dot and kind == "json" and (glance := _read(entry.path, key)) is not None:
                found.append(glance)
        if self._kept.parent.is_dir() and time.time_ns() - changed > _SETTLED_NS:
            with contextlib.suppress(OSError, ValueError):
                self._kept.mkdir(exist_ok=True)
                with replacing(kept) as beside:
                    beside.write_text(head + "".join(map(_line_of, found)), encoding="utf-8")
        return found


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _read(path: Path | str, key: str) -> Glance | None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        content = os.read(descriptor, _SMALL)
        while len(content) % _SMALL == 0 and (more := os.read(descriptor, _SMALL)):
            content += more
    except OSError:
        return None
    finally:
        os.close(descriptor)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return _at_a_glance(content, key)
    return _parsed(content)


def _parsed(content: bytes) -> Glance | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        value = json.loads(content)
        return _glance(value["key"], [value[name] for name in _TOP], value["usage"]["wall_s"])
    return None


def _at_a_glance(content: bytes, key: str) -> Glance:
    """Without parsing the whole: RecordStore writes one field to a line, those of the top indented by one space."""
    usage = content.index(b'\n "usage": {')
    return _glance(
        key,
        [_value(_line(content, start, 0)) for start in _STARTS],
        float(_line(content, b'\n  "wall_s": ', usage)),
    )


_STARTS = tuple(f'\n "{name}": '.encode() for name in _TOP)


def _value(line: bytes) -> object:
    """JSON of one line; most are strings with nothing to unescape in them."""
    if line[:1] == b'"' and b"\\" not in line:
        return line[1:-1].decode()
    return json.loads(line)


def _line_of(found: Glance) -> str:
    """A glance in one line."""
    return json.dumps([found.key, *(getattr(found, name) for name in _TOP), found.wall_s]) + "\n"


def _of_line(line: str) -> Glance:
    key, *top, wall_s = json.loads(line)
    return _glance(key, top, wall_s)


def _line(content: bytes, start: bytes, after: int) -> bytes:
    begin = content.index(start, after) + len(start)
    return content[begin : content.index(b"\n", begin)].rstrip(b",")


def _glance(key: str, top: list[object], wall_s: float) -> Glance:
    status, strategy, task, family, backbone, attempts, reason = top
    assert isinstance(attempts, int)
    return Glance(
        key=key,
        # a sweep has few different names and very many records
        status=sys.intern(str(status)),
        strategy=sys.intern(str(strategy)),
        task=sys.intern(str(task)),
        family=sys.intern(str(family)),
        backbone=sys.intern(str(backbone)),
        attempts=attempts,
        reason=sys.intern(str(reason)),
        wall_s=float(wall_s),
    )
