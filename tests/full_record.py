"""One record of which every part is filled, for tests of what a record is and how it is kept."""

import dataclasses
from pathlib import Path
from typing import Any

from thawbench.contracts import Curve, Seeds
from thawbench.suite.records import Environment, MetricValue, Record, Usage, key_of


def make_cell(seed: int = 0) -> dict[str, Any]:
    step = {"strategy": "frozen_ebm", "version": "1", "config": {"dim": 64}, "seeds": {"init": seed}}
    return {
        "schema": 1,
        "adaptation": {"backbone": {"weights": "53aa", "precision": "float32"}, "steps": [step]},
        "task": {"name": "sts/STS12", "version": 1, "fingerprint": "f00d", "revision": "main"},
    }


def make_record(seed: int = 0, **changes: Any) -> Record:
    cell = make_cell(seed)
    record = Record(
        key=key_of(cell),
        status="ok",
        strategy="frozen_ebm:dim=64",
        task="sts/STS12:train=nli",
        family="sts",
        backbone="embedded",
        control=False,
        cell=cell,
        seeds=Seeds(0, seed, 0),
        draws=("init",),
        environment=Environment("3.11.7", {"torch": "2.13"}, "abc", False, "cpu", "some cpu", 2, "float32"),
        started="2026-11-28T00:00:00+00:00",
        usage=Usage(fit_s=1.5, encode_s=2.0, tokens=400, tokens_per_s=200.0),
        metrics=(MetricValue("spearman", 0.8203, lower=-1.0, chance=0.0, main=True),),
        curves=(Curve("score", "layer", (0.0, 1.0), (0.25, 0.5)),),
        dev_score=0.75,
    )
    return dataclasses.replace(record, **changes)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
