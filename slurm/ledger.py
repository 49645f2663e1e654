"""The ledger of a results folder: what was sent, as what, and how it ended. Only the driver with the lock writes.

Each line is on the disk before what it announces is done, so that whatever kills the driver, the next one knows.
"""

import dataclasses
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thawbench.slurm.verdict import COUNTED, Verdict
from thawbench.suite.strict_json import decode, loads


@dataclass(frozen=True)
class Sent:
    """An array that is about to be submitted.

    Attributes:
        name: of the job, which no other has; its folder bears it, too.
        tasks: how many it has.
        mem_gb, time: of each, in GiB and minutes.
        at: seconds since 1970.
    """

    name: str
    cluster: str
    tasks: int
    mem_gb: float
    time: int
    at: float


@dataclass(frozen=True)
class Accepted:
    """The array has an id at the scheduler; of local processes the id says nothing."""

    name: str
    id: str


@dataclass(frozen=True)
class Ended:
    """A task that is over.

    Attributes:
        suspect: the key of the cell that is blamed, or empty.
        log: the file that tells most of it, or empty.
    """

    name: str
    index: int
    verdict: Verdict
    suspect: str
    log: str


@dataclass(frozen=True)
class Forgiven:
    """What was counted against these cells no longer counts: someone asked for a retry."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Warmed:
    """Data that were read once with the Hub at hand, so that jobs find them without."""

    names: tuple[str, ...]


Line = Sent | Accepted | Ended | Forgiven | Warmed
_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in (Sent, Accepted, Ended, Forgiven, Warmed)}


@dataclass
class Blame:
    """What is counted against a cell, by verdict; the last verdict, and its log."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    last: Verdict = "crash"
    log: str = ""

    @property
    def tries(self) -> int:
        """How often it was cut off by its own doing."""
        return self.verdicts.total()


class Ledger:
    """A file of JSON lines and what follows from them.

    Attributes:
        sent: every array, by name.
        ids: of those that were accepted, by name.
        ended: the tasks that are over.
        blame: by the key of a cell.
        warmed: names of data.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent: dict[str, Sent] = {}
        self.ids: dict[str, str] = {}
        self.ended: dict[tuple[str, int], Ended] = {}
        self.blame: dict[str, Blame] = {}
        self.warmed: set[str] = set()
        content = path.read_bytes() if path.exists() else b""
        self._torn = bool(content) and not content.endswith(b"\n")
        for line in content.splitlines():
            try:
                value = loads(line)
                self._apply(decode(_KINDS[value.pop("kind")], value))
            except (ValueError, KeyError, AttributeError):
                continue  # a driver was killed in the middle of it, before it had done what the line announces

    def add(self, line: Line) -> None:
        """Append a line; it is on the disk when this returns."""
        text = json.dumps({"kind": type(line).__name__.lower(), **dataclasses.asdict(line)})
        with self.path.open("ab") as file:
            file.write(("\n" if self._torn else "").encode() + text.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._torn = False
        self._apply(line)

    def open_tasks(self) -> list[tuple[str, int]]:
        """Tasks that were sent and have not been seen to end, oldest first."""
        return [
            (name, index)
            for name, sent in self.sent.items()
            for index in range(sent.tasks)
            if (name, index) not in self.ended
        ]

    @property
    def began(self) -> float | None:
        """When the first array was sent; None before that."""
        return min((sent.at for sent in self.sent.values()), default=None)

    def _apply(self, line: Line) -> None:
        match line:
            case Sent():
                self.sent[line.name] = line
            case Accepted():
                self.ids[line.name] = line.id
            case Ended():
                self.ended[line.name, line.index] = line
                if line.suspect and line.verdict in COUNTED:
                    blame = self.blame.setdefault(line.suspect, Blame())
                    blame.verdicts[line.verdict] += 1
                    blame.last, blame.log = line.verdict, line.log
            case Forgiven():
                for key in line.keys:
                    self.blame.pop(key, None)
            case Warmed():
                self.warmed.update(line.names)


def now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
