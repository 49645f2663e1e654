"""Reading data once, with the Hub at hand, so that jobs find it in the caches and ask nobody.

It runs in a process of its own, as what it reads would stay in the driver's memory.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from thawbench.errors import DataUnavailableError, UserError
from thawbench.suite.cells import Cell

_MADE_HERE = "world"
"""In the names of what needs no network."""


def data_of(cells: Iterable[Cell]) -> set[str]:
    """What these cells read from elsewhere: tasks, and train sets with a mark before them."""
    names = set()
    for cell in cells:
        if not cell.reason:
            names.add(cell.task.name)
            names.update(f"@{step.train.name}" for step in cell.adaptation.steps if step.train)
    return {name for name in names if _MADE_HERE not in name}


def warm(names: Iterable[str], sets: Sequence[str]) -> None:
    """Read all of this data.

    Raises:
        DataUnavailableError: some of it cannot be had; the text is that of whoever could not get it.
    """
    told = json.dumps({"names": sorted(names), "sets": list(sets)})
    line = [sys.executable, "-c", "from thawbench.slurm.warm import main; main()"]
    done = subprocess.run(line, input=told, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise DataUnavailableError(done.stderr.strip().rpartition("\n")[2] or "the data could not be read")


def main() -> None:
    """The process that reads; what is wrong is the last line on stderr."""
    from thawbench.suite.session import prepare
    from thawbench.tasks.catalog import resolve_task
    from thawbench.tasks.set_catalog import register_set
    from thawbench.tasks.trainsets import load_trainset

    told = json.load(sys.stdin)
    prepare(1)
    try:
        for path in told["sets"]:
            register_set(Path(path))
        for name in told["names"]:
            if name.startswith("@"):
                load_trainset(name[1:], 0)
            else:
                resolve_task(name).load()
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
