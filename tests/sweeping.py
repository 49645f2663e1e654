"""A sweep of a small plan, what it said and what it left."""

import io
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from thawbench.slurm.commands import run_sweep
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record
from thawbench.suite.session import open_session


def asked(folder: Path, backbone: Path, *names: str, **values: Any) -> Settings:
    given = {
        "strategy": names or ("frozen", "random_vectors", "majority"),
        "task": ("sts/world", "fewshot/world/meals@20"),
        "seeds": "2",
        "backbone": os.fspath(backbone),
        "precision": "float32",
        "threads": "1",
        "results": folder / "results",
    }
    return settings({**{option.key: option.default for option in OPTIONS}, **given, **values})


def run(wanted: Settings, cluster: str = "debug", **given: Any) -> tuple[bool, str]:
    """Whether all went well, and what was said."""
    said = io.StringIO()
    good = run_sweep(wanted, {"cluster": cluster, **given}, wait=True, console=Console(file=said, width=200))
    return good, said.getvalue()


def records(wanted: Settings) -> dict[str, Record]:
    return {record.key: record for record in RecordStore(wanted.results, read_only=True).all()}


def undisturbed(wanted: Settings, folder: Path) -> dict[str, Record]:
    session = open_session(settings({**vars(wanted), "results": folder}))
    found = [session.run(position).record for position in range(len(session.plan.cells))]
    return {record.key: record for record in found}
