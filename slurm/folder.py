"""What a sweep leaves beside the records: `sweep/` in the folder of results."""

import dataclasses
import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thawbench.errors import UserError
from thawbench.slurm.ledger import Ledger
from thawbench.slurm.lock import Lock
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.tasks import TaskFile
from thawbench.suite.options import Settings, settings
from thawbench.suite.strict_json import decode
from thawbench.whole_file import replacing

if TYPE_CHECKING:
    from thawbench.suite.cells import Cell  # which brings torch with it, and status needs none

LOGS = "jobs"
"""The folder of an array that submitit writes into."""

_NAME = "thawbench-"


@dataclass(frozen=True)
class PlannedCell:
    """A line of the plan, for `thawbench status`."""

    key: str
    strategy: str
    task: str
    family: str
    seconds: float
    label: str


class SweepFolder:
    """The files of the sweeps of one folder of results.

    lock, ledger.jsonl     who drives, and what was done
    request.json           what was asked for last
    plan.tsv               the cells of that, one a line
    cancelled              there while a cancel is to be obeyed
    snapshots/<hash>/      the code that runs
    thawbench-…/           one array: <index>.json for each task, logs/ and submitit's jobs/
    """

    def __init__(self, results: Path) -> None:
        self.results = results.absolute()
        self.path = self.results / "sweep"

    def create(self) -> None:
        """Make it.

        Raises:
            UserError: the folder of results cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"the results folder {self.results} cannot be written to ({error.strerror}); "
                "choose another with --results"
            ) from None

    @property
    def exists(self) -> bool:
        """Whether a sweep was ever sent from here."""
        return self.path.is_dir()

    @property
    def lock(self) -> Lock:
        """Held by whoever drives."""
        return Lock(self.path / "lock")

    @property
    def cancelled(self) -> Path:
        """There while a cancel is to be obeyed."""
        return self.path / "cancelled"

    def ledger(self) -> Ledger:
        """What was sent and how it ended, as of now."""
        return Ledger(self.path / "ledger.jsonl")

    def new_name(self) -> str:
        """A job's name that no other has."""
        return f"{_NAME}{secrets.token_hex(5)}"

    def array(self, name: str) -> Path:
        """The folder of an array."""
        return self.path / name

    def logs(self, name: str) -> Path:
        """Where an array's tasks write their logs."""
        return self.path / name / "logs"

    def task_path(self, name: str, index: int) -> Path:
        """The file that tells a task what it is to do."""
        return self.path / name / f"{index}.json"

    def task(self, name: str, index: int) -> TaskFile:
        """What a task was told.

        Raises:
            UserError: it cannot be read.
        """
        return TaskFile.read(self.task_path(name, index))

    def stderr(self, name: str, index: int) -> list[Path]:
        """The files with what the scheduler wrote of a task, the latest first."""
        jobs = self.array(name) / LOGS
        found = [*jobs.glob(f"*_{index}_0_log.err"), *jobs.glob(f"{index}/*_0_log.err")]
        if index == 0:  # an array of one is none, and its id has no index
            found += [path for path in jobs.glob("*_0_log.err") if path.name.count("_") == 2]
        return sorted(found, key=lambda path: -path.stat().st_mtime)

    def write_plan(self, cells: "Iterable[Cell]", seconds: Iterable[float]) -> None:
        """Note what is planned, for whoever asks how it stands."""
        with replacing(self.path / "plan.tsv") as beside, beside.open("w", encoding="utf-8") as file:
            for cell, expected in zip(cells, seconds, strict=True):
                parts = (cell.key, cell.strategy, cell.task_name, cell.task.family, f"{expected:.3f}", cell.label)
                file.write("\t".join(parts) + "\n")

    def read_plan(self) -> Iterator[PlannedCell]:
        """The cells that were planned last; none if nothing was.

        Raises:
            UserError: what was given as the folder of results is a file.
        """
        try:
            with (self.path / "plan.tsv").open(encoding="utf-8") as file:
                for line in file:
                    key, strategy, task, family, seconds, label = line.rstrip("\n").split("\t")
                    yield PlannedCell(key, strategy, task, family, float(seconds), label)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise UserError(f"{self.results} is no folder; give that of the sweep with --results") from None

    def write_request(self, asked: Settings, options: SweepOptions) -> None:
        """Note what was asked for, so that `thawbench retry` needs no options."""
        values: dict[str, Any] = {"settings": dataclasses.asdict(asked), "options": dataclasses.asdict(options)}
        with replacing(self.path / "request.json") as beside:
            beside.write_text(json.dumps(values, default=str, indent=1), encoding="utf-8")

    def read_request(self) -> tuple[Settings, SweepOptions]:
        """What was asked for last.

        Raises:
            UserError: nothing was, or it cannot be read.
        """
        try:
            values = json.loads((self.path / "request.json").read_text(encoding="utf-8"))
            return settings({**values["settings"], "results": self.results}), decode(SweepOptions, values["options"])
        except FileNotFoundError:
            raise UserError(f"no sweep was ever sent from {self.results}; begin with thawbench sweep") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.path}/request.json cannot be read ({error}); run thawbench sweep again") from None
