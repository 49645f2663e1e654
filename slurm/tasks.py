"""What an array task is told: names and parameters in a JSON file, and where its logs lie."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.slurm.glance import Glance


@dataclass(frozen=True)
class WantedCell:
    """One cell of a task.

    Attributes:
        strategy, task: as they are spelled.
        attempts: that were recorded when it was submitted: a failure after that is the answer, one before is not.
    """

    key: str
    strategy: str
    task: str
    seeds: Seeds
    attempts: int

    def answered(self, record: Glance | None) -> bool:
        """Whether the record is there, and is not what a retry was to replace."""
        return record is not None and (not record.failed or record.attempts > self.attempts)


@dataclass(frozen=True)
class TaskFile:
    """All that one array task is told.

    Attributes:
        results: the folder of results, absolute.
        snapshot: the folder whose code must run; empty for the code of this process.
        logs: the folder of logs of this submission.
        index: of the task in its array.
        strategy_files, sets, profile, backbone, precision, device: as in `plan.Request`, files out of the snapshot.
        steps: of every fit, or None for the strategies' own.
        time_s, signal_delay_s: its time limit, and how long before it a warning comes.
    """

    results: str
    snapshot: str
    logs: str
    index: int
    strategy_files: tuple[str, ...]
    sets: tuple[str, ...]
    profile: str
    backbone: str
    precision: str
    device: str
    threads: int
    steps: int | None
    keep_checkpoints: bool
    time_s: int
    signal_delay_s: int
    cells: tuple[WantedCell, ...]

    def write(self, path: Path) -> None:
        """Write it; nobody reads it before it is submitted."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "TaskFile":
        """Read it.

        Raises:
            UserError: it cannot be read.
        """
        try:
            value = json.loads(path.read_bytes())
            # not by `strict_json`: a driver reads back as many cells as it has under way, and it wrote them itself
            lists = {"strategy_files": tuple(value["strategy_files"]), "sets": tuple(value["sets"])}
            cells = tuple(WantedCell(**{**cell, "seeds": Seeds(**cell["seeds"])}) for cell in value["cells"])
            return cls(**{**value, **lists, "cells": cells})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"the task file {path} cannot be read: {error}") from None
