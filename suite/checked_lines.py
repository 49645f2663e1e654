"""A file of JSON lines that shows any damage: each line with the SHA-256 of what it holds, all of them counted below.

    {"format":"thawbench records","version":1}
    {"sha256":"…","record":{…}}
    {"sha256":"…","record":{…}}
    {"records":2,"sha256":"…"}

The last line's sum is that of the lines between it and the first. The text is ASCII, compressed by gzip where the name
ends in `.gz`; the same values give the same bytes. This module knows nothing of what a record is.
"""

import contextlib
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from thawbench.errors import UserError
from thawbench.suite.strict_json import loads
from thawbench.whole_file import replacing

VERSION = 1
_HEAD = {"format": "thawbench records", "version": VERSION}
_BEFORE, _BETWEEN, _AFTER = b'{"sha256":"', b'","record":', b"}\n"
_CONTENT = len(_BEFORE) + 64 + len(_BETWEEN)
_FOOT = b'{"records":'


@dataclass(frozen=True)
class Line:
    """One line between the first and the last, or what is wrong with the file.

    Attributes:
        content: its JSON; empty if it is damaged.
        damage: what is wrong, empty if nothing is.
    """

    number: int
    content: bytes
    damage: str = ""


def write_lines(path: Path, values: Iterable[Any]) -> int:
    """Write a file whole or not at all, and return how many lines of content it has.

    Args:
        values: plain JSON.

    Raises:
        UserError: the file cannot be written; an older one is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside, beside.open("xb") as file, _compressed(file, path) as text:
            return _write(text, values)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror or error}); make room or choose another file"
        ) from None


def read_lines(path: Path) -> Iterator[Line]:
    """The lines in order. Damaged ones come with what is wrong, and what is wrong with the whole comes last.

    Raises:
        UserError: the file cannot be read, is no such file, or was written by a later version.
    """
    try:
        with path.open("rb") as file, _decompressed(file, path) as text:
            yield from _read(text, path)
    except (OSError, EOFError, zlib.error) as error:  # the last two: what was compressed is damaged
        raise UserError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _write(text: IO[bytes], values: Iterable[Any]) -> int:
    count, total = 0, hashlib.sha256()
    text.write(_line(_HEAD))
    for value in values:
        content = _line(value)[:-1]
        line = _checked(content)
        total.update(line)
        text.write(line)
        count += 1
    text.write(_foot(count, total.hexdigest()))
    return count


def _read(text: IO[bytes], path: Path) -> Iterator[Line]:
    _check_head(text.readline(), path)
    count, total, foot = 0, hashlib.sha256(), b""
    for number, line in enumerate(text, 2):
        if line.startswith(_FOOT) or foot:
            foot += line
            continue
        count += 1
        total.update(line)
        content = line[_CONTENT : -len(_AFTER)]
        sound = line == _checked(content)
        yield Line(number, content) if sound else Line(number, b"", f"{path}, line {number}: not what its sum says")
    if foot != _foot(count, total.hexdigest()):
        yield Line(0, b"", f"{path}: lines are missing, or were changed: the last line does not fit the {count} above")


def _line(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _checked(content: bytes) -> bytes:
    return _BEFORE + hashlib.sha256(content).hexdigest().encode() + _BETWEEN + content + _AFTER


def _foot(count: int, total: str) -> bytes:
    return _line({"records": count, "sha256": total})


def _check_head(line: bytes, path: Path) -> None:
    try:
        head = loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != _HEAD["format"]:
        raise UserError(f"{path} is no file of records; thawbench export makes one")
    if head != _HEAD:
        raise UserError(
            f"{path} is a file of records in version {head.get('version')}, and this Thawbench reads {VERSION}; "
            "use the one that wrote it"
        )


def _compressed(file: IO[bytes], path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    if path.suffix != ".gz":
        return contextlib.nullcontext(file)
    return cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=file, mtime=0))  # no name and no time: the same bytes


def _decompressed(file: IO[bytes], path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else contextlib.nullcontext(file)
