"""How a sweep runs: on what cluster, with how much of it, and how often a cell that was cut off gets a new try."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from thawbench.errors import UserError, unknown

FILE = Path("thawbench.toml")
"""Where the table `[slurm]` is looked for: in the folder that the command is given in."""

Kind = Literal["slurm", "local", "debug"]


_MOST = {"cpus": 4096, "gpus": 4096, "array_parallelism": 10**6, "retries": 10**6}
"""More is a typing error."""


@dataclass(frozen=True)
class SweepOptions:
    """What the cluster is asked for; the fields are the keys of `[slurm]` and, with dashes, the options of `sweep`.

    Attributes:
        cluster: `slurm`, `local` (processes of this machine) or `debug` (one after another, in this process).
        time: minutes that a task may take; at its end it saves what it trains and goes on in a new one.
        mem_gb: of a task, in GiB.
        cpus, gpus: of a task; cpus 0 means as many as threads, or 1.
        array_parallelism: tasks that may run at once; 0 leaves it to the cluster, and on this machine to its CPUs.
        setup: shell lines that run before each task, such as `module load`.
        retries: how often a cell is tried again, alone, after it crashed, ran out of memory (and gets twice as much)
            or out of time (likewise). Lost nodes do not count.
    """

    cluster: Kind = "slurm"
    partition: str = ""
    account: str = ""
    qos: str = ""
    time: int = 60
    mem_gb: float = 4.0
    cpus: int = 0
    gpus: int = 0
    array_parallelism: int = 0
    setup: tuple[str, ...] = ()
    retries: int = 2

    def __post_init__(self) -> None:
        if self.cluster not in ("slurm", "local", "debug"):
            raise UserError(f"--cluster {self.cluster} is none of slurm, local and debug")
        if self.time < 3:
            raise UserError(f"--time {self.time} is too short; give at least 3 minutes, so that a task can save itself")
        if not 0 < self.mem_gb < math.inf:
            raise UserError(f"--mem-gb {self.mem_gb:g} must be above 0, and finite")
        for key in _MOST:
            if getattr(self, key) < 0:
                raise UserError(f"--{key.replace('_', '-')} {getattr(self, key)} must not be below 0")
            if getattr(self, key) > _MOST[key]:
                raise UserError(
                    f"--{key.replace('_', '-')} {getattr(self, key)} is too large; give at most {_MOST[key]}"
                )

    @property
    def signal_delay_s(self) -> int:
        """How long before the end of its time a task is warned.

        SLURM may warn up to a minute earlier than it is told to, so that little of a short task must go to this.
        """
        return min(120, self.time * 60 // 4)


def sweep_options(given: Mapping[str, Any], file: Path = FILE) -> SweepOptions:
    """Options out of the command line (where not None, and not empty), else of the table `[slurm]` of a TOML file.

    Raises:
        UserError: a file that is no TOML, an unknown key, or a value that cannot be.
    """
    chosen = {**_table(file), **{key: value for key, value in given.items() if value is not None and value != []}}
    known = {item.name: item.type for item in fields(SweepOptions)}
    for key in chosen:
        if key not in known:
            raise unknown(f"key of [slurm] in {file}", key, known)
    return SweepOptions(**{key: _typed(key, value, file) for key, value in chosen.items()})


def _table(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{file} is not a TOML file: {error}") from None
    table = read.get("slurm", {})
    if not isinstance(table, dict):
        raise UserError(f"{file}: slurm must be a table of options, as in [slurm]")
    return {key.replace("-", "_"): value for key, value in table.items()}


def _typed(key: str, value: Any, file: Path) -> Any:
    default = getattr(SweepOptions, key)
    if isinstance(default, tuple):
        lines = [value] if isinstance(value, str) else value
        if isinstance(lines, list | tuple) and all(isinstance(line, str) for line in lines):
            return tuple(lines)
        raise UserError(f"{file}: {key} must be a list of shell lines, and is {value!r}")
    if isinstance(default, float) and type(value) in (int, float):
        return float(value)
    if type(value) is not type(default):
        raise UserError(f"{file}: {key} must be {'a text' if isinstance(default, str) else 'a number'}, not {value!r}")
    return value
