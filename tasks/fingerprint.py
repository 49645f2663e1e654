"""What data was seen: the fingerprint of its rows, kept in a manifest so that planning needs no data seen before."""

import abc
import dataclasses
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thawbench.cache import cache_folder
from thawbench.contracts import Json
from thawbench.errors import DataUnavailableError

_LINES = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(rows: Iterable[Json]) -> str:
    """SHA-256 over the rows in order, each one line of canonical JSON (sorted keys, no spaces, UTF-8)."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(_LINES.encode(row).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


@dataclass(frozen=True)
class Entry:
    """One data set at one revision.

    Attributes:
        name: what reads it, such as `sts/STS12` or `nli`, spelled as on boards.
        data: the data sets on the Hub.
        facts: what planning needs beside the fingerprint.
    """

    name: str
    data: str
    revision: str
    fingerprint: str
    facts: Mapping[str, Json] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Its file in the manifest; the spelling's case does not matter."""
        return _folder() / f"{_stem(self.name)}@{_safe(self.revision)[:40]}.json"


class Fingerprinted(abc.ABC):
    """Something whose rows have an entry in the manifest: found there if it was seen before, else made by loading."""

    _entry: Entry | None = None

    def fingerprint(self) -> str:
        """SHA-256 of the rows in order, out of the manifest if they were seen before.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        return self.entry().fingerprint

    def entry(self) -> Entry:
        """The manifest's entry; the rows are loaded if there is none yet.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        if self._entry is None:
            self._entry = self._seen()
        if self._entry is None:
            self.load()
        assert self._entry is not None
        return self._entry

    @abc.abstractmethod
    def load(self) -> Any:
        """The rows; hands their fingerprint to `_enter`."""

    @abc.abstractmethod
    def _seen(self) -> Entry | None:
        """The manifest's entry for exactly these rows, if there is one."""

    def _enter(self, found: str, make: Callable[[], Entry]) -> None:
        """Check rows loaded now against the manifest, or enter what `make` says of them.

        Raises:
            DataUnavailableError: they are not the rows of the manifest.
        """
        self._entry = self._seen()
        if self._entry is None:
            self._entry = make()
            remember(self._entry)
        check(self._entry, found)


def seen(name: str) -> tuple[Entry, ...]:
    """The manifest's entries of this name, in whatever case, by revision. A damaged file counts as not seen."""
    entries = []
    for path in sorted(_folder().glob(f"{_stem(name)}@*.json")):
        try:
            entries.append(Entry(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            continue
    return tuple(entry for entry in entries if entry.name.lower() == name.lower())  # two names may have one file name


def seen_at(name: str, revision: str, version: Json) -> Entry | None:
    """The entry of this name at this revision, if it was made by this version of what makes it."""
    for entry in seen(name):
        if entry.revision == revision and entry.facts.get("version") == version:
            return entry
    return None


def remember(entry: Entry) -> None:
    """Write an entry beside its place and rename it, so that no reader sees half of one.

    Raises:
        DataUnavailableError: the folder cannot be written.
    """
    text = json.dumps(dataclasses.asdict(entry), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    path = entry.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise DataUnavailableError(
            f"cannot write the manifest entry {path} ({error.strerror}); set THAWBENCH_CACHE to a writable folder"
        ) from error


def check(entry: Entry, found: str) -> None:
    """Assert that rows loaded now are those of the manifest.

    Raises:
        DataUnavailableError: they are not; the text names the file to delete.
    """
    if found != entry.fingerprint:
        raise DataUnavailableError(
            f"the rows of {entry.data} for {entry.name} have fingerprint {found[:12]}, not {entry.fingerprint[:12]} as "
            f"when they were first seen; if the new rows are meant, delete {entry.path} and plan again"
        )


def _folder() -> Path:
    return cache_folder() / "manifest"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)


def _stem(name: str) -> str:
    return _safe(name.lower().replace("/", "--"))
