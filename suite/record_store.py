"""The records of a folder: one JSON file per cell, written whole or not at all, read with nothing taken on trust.

What is published or sent is packed: one file of many records, each with its sum (`checked_lines`). This module needs
neither torch nor mteb.
"""

import contextlib
import dataclasses
import gc
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.suite.checked_lines import read_lines, write_lines
from thawbench.suite.records import SCHEMA, DamagedRecordError, Environment, Failure, Record
from thawbench.suite.strict_json import loads
from thawbench.suite.typed_json import decode_written
from thawbench.whole_file import replacing

PACKED = "records.jsonl"
"""The packed records of a results folder, or the same name with `.gz` behind it."""
_ALIKE: frozenset[type] = frozenset({Environment, Seeds})
"""Thousands of records of one folder have one of a few of these."""


class RecordStore:
    """The records of one results folder: files `records/<two hex digits>/<key>.json`, and those that are packed.

    Any number of processes may share a folder: each write is one rename, and never into what is packed, where an older
    record of the same key may stay.

    Args:
        folder: the results folder.
        read_only: neither create nor rename anything; damaged records stay where they are.

    Attributes:
        damaged: the damaged records that this store met, where they lie now, each with what is wrong in it.

    Raises:
        UserError: the folder cannot be written to.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        self.damaged: dict[Path, str] = {}
        self._records = folder / "records"
        self._read_only = read_only
        if not read_only:
            try:
                self._records.mkdir(parents=True, exist_ok=True)
                _replace(self._records / "probe", b"probe")
                (self._records / "probe").unlink(missing_ok=True)
            except OSError as error:
                raise UserError(
                    f"the results folder {folder} cannot be written to ({_why(error)}); choose another with --results"
                ) from None

    def path(self, key: str) -> Path:
        """Where the record of this key is, or would be."""
        return self._records / key[:2] / f"{key}.json"

    def read(self, key: str) -> Record | None:
        """The record, or None if there is none. A damaged one is set aside, noted in `damaged`, and is as none.

        Raises:
            UserError: the file cannot be read at all, or was written by another version's schema; of a store that
                writes also: a packed record is damaged.
        """
        path = self.path(key)
        try:
            return _load(path, key)
        except FileNotFoundError:
            return self._packed.get(key)
        except OSError as error:
            raise UserError(f"the record {path} cannot be read ({_why(error)}); mend its permissions") from None
        except DamagedRecordError as error:
            if self._read_only:
                self.damaged[path] = str(error)
                return self._packed.get(key)
            return self._set_aside(path, key) or self._packed.get(key)

    def write(self, record: Record) -> None:
        """Put a record in place of an older one, at once and whole.

        Raises:
            UserError: the file cannot be written, such as on a full disk; an older record is as it was.
            DamagedRecordError: a field is of a wrong type, so that the record could not be read again.
        """
        path = self.path(record.key)
        written = json.dumps(record.to_json(), indent=1, sort_keys=True, allow_nan=False)
        Record.from_json(json.loads(written), str(path))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, written.encode())
        except OSError as error:
            raise UserError(
                f"the record {path} cannot be written ({_why(error)}); what was there is untouched: "
                "make room or choose another folder with --results"
            ) from None

    def all(self) -> list[Record]:
        """Every whole record, by key."""
        single = {path.stem for path in self._records.glob("??/*.json")}
        keys = sorted(single | self._packed.keys())
        with uncollected():
            found = [self.read(key) if key in single else self._packed[key] for key in keys]
        return [record for record in found if record is not None]

    def compact(self) -> tuple[Path, int]:
        """Pack every record, remove the single files, and return where they are now and how many.

        Damaged single files are set aside. Nothing else may write into the folder meanwhile.

        Raises:
            UserError: a file cannot be read or written, or a packed record is damaged.
        """
        target = self.folder / PACKED
        single = sorted(self._records.glob("??/*.json"))
        count = write_packed(target, self.all())
        packed, _ = read_packed(target)
        for path in single:
            if path.stem in packed:
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # not empty
                    path.parent.rmdir()
        (self.folder / f"{PACKED}.gz").unlink(missing_ok=True)
        vars(self).pop("_packed", None)
        return target, count

    @cached_property
    def _packed(self) -> Mapping[str, Record]:
        found: dict[str, Record] = {}
        for path in packed_files(self.folder):
            records, damaged = read_packed(path)
            found |= records
            if damaged and not self._read_only:
                raise UserError(f"{damaged[0]}; put a sound copy in its place, or remove it and run its cells again")
            self.damaged |= {path.with_name(f"{path.name} ({at})"): what for at, what in enumerate(damaged, 1)}
        return found

    def _set_aside(self, path: Path, key: str) -> Record | None:
        aside = _reserve(path)
        try:
            os.replace(path, aside)
            record = _load(aside, key)
        except FileNotFoundError:  # another process was faster
            aside.unlink(missing_ok=True)
            return None
        except DamagedRecordError as error:
            self.damaged[aside] = str(error)
            return None
        os.replace(aside, path)  # another process had written it anew between our look and our rename
        return record


def write_packed(path: Path, records: Iterable[Record]) -> int:
    """Write records into one file, by key, as they may be published, and return how many.

    Raises:
        UserError: the file cannot be written.
    """
    ordered = sorted(records, key=lambda record: record.key)
    return write_lines(path, (published(record).to_json() for record in ordered))


def read_packed(path: Path) -> tuple[dict[str, Record], tuple[str, ...]]:
    """The records of one file by key, and what is wrong with those that are damaged and with the whole.

    Raises:
        UserError: the file cannot be read, is no file of records, or was written by another version's schema.
    """
    found: dict[str, Record] = {}
    damaged = []
    with uncollected():
        for line in read_lines(path):
            try:
                if line.damage:
                    raise DamagedRecordError(line.damage)
                record = _decoded_written(line.content, f"{path}, line {line.number}")
                found[record.key] = record
            except DamagedRecordError as error:
                damaged.append(str(error))
    return found, tuple(damaged)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No looking for cycles while many objects are made that have none: it takes longer than making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def packed_files(folder: Path) -> list[Path]:
    """The files of packed records in a folder of results, the newer one last.

    That is the plain one: `compact` writes it, and then removes the compressed one.
    """
    return [path for path in (folder / f"{PACKED}.gz", folder / PACKED) if path.is_file()]


def published(record: Record) -> Record:
    """The record without what stays behind: a traceback, and all but the first line of an error's message.

    Both name folders of a machine, and may quote rows.
    """
    if record.failure is None:
        return record
    failure = record.failure
    first = (failure.message.strip().splitlines() or [""])[0]
    return dataclasses.replace(record, failure=Failure(failure.type, first, ""))


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside `path` and rename it into place; on any error nothing is left and `path` is as it was."""
    with replacing(path) as beside, beside.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _reserve(path: Path) -> Path:
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.damaged-{number}")
        try:
            aside.touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return aside


def _load(path: Path, key: str) -> Record:
    record = _decoded(path.read_bytes(), str(path))
    if record.key != key:
        raise DamagedRecordError(f"{path}: key is {record.key}, and the file is named {key}")
    return record


def _decoded_written(content: bytes, where: str) -> Record:
    """Of bytes that a sum vouches for."""
    try:
        record = decode_written(Record, content, _ALIKE)
    except (ValueError, RecursionError):
        return _decoded(content, where)  # which says what is wrong
    return record if record.schema == SCHEMA else _decoded(content, where)


def _decoded(content: bytes, where: str) -> Record:
    try:
        value = loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedRecordError(f"{where}: no JSON ({error})") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if isinstance(schema, int) and schema != SCHEMA:
        raise UserError(
            f"the record {where} has schema {schema}, and this version of Thawbench reads {SCHEMA}; "
            "use the version that wrote it, or another results folder"
        )
    return Record.from_json(value, where)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
