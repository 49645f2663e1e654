"""Records at a glance: the few fields that a sweep needs of each, many thousands in a second."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thawbench.suite.checked_lines import read_lines
from thawbench.suite.records import PACKED


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


_TOP = ("status", "strategy", "task", "family", "backbone", "attempts", "reason")


class Glances:
    """The records of one results folder, looked at and not checked; one that cannot be read counts as missing."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._folder = results / "records"

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
        paths = [self._results / PACKED, self._results / f"{PACKED}.gz"]
        lines = (line for path in paths if path.is_file() for line in read_lines(path) if not line.damage)
        glances = (_parsed(line.content) for line in lines)
        return {found.key: found for found in glances if found is not None}

    def _single(self) -> Iterator[Glance]:
        for folder in _entries(self._folder):
            if len(folder.name) != 2:
                continue
            for entry in _entries(folder.path):
                key, dot, kind = entry.name.partition(".")
                if dot and kind == "json" and (found := _read(entry.path, key)) is not None:
                    yield found


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
        content = os.read(descriptor, os.fstat(descriptor).st_size)
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
        [json.loads(_line(content, f'\n "{name}": '.encode(), 0)) for name in _TOP],
        json.loads(_line(content, b'\n  "wall_s": ', usage)),
    )


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
