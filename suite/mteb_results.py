"""Records of similarity and retrieval as result files of MTEB, in the layout of its cache: `mteb` itself loads them.

    <folder>/results/thawbench__<strategy>-<hash>/<seeds>/<Task>.json, and a model_meta.json beside each

To MTEB a model is an adaptation without its seeds, and its seeds are its revision. A record holds the mean over splits
and subsets, so that only tasks of one of each can be given back. Scores are rounded to six decimals, as MTEB's are.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thawbench.errors import UserError
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record, key_of
from thawbench.tasks.mteb_bridge import mteb_calls
from thawbench.tasks.mteb_task import find
from thawbench.whole_file import replacing

_TYPES = {"sts": "STS", "ir": "Retrieval"}
_DECIMALS = 6


@dataclass(frozen=True)
class Given:
    """How many result files were written, and why records of these families with a score have none, by task."""

    files: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """Where MTEB keeps the score of a task of one split and one subset."""

    split: str
    subset: str
    languages: tuple[str, ...]
    main: str
    revision: str


def write_mteb_results(results: Path, out: Path) -> Given:
    """Write the result files of a folder of records.

    Raises:
        UserError: no record has a score of such a task, or a file cannot be written.
    """
    records = [
        record
        for record in RecordStore(results, read_only=True).all()
        if record.family in _TYPES and record.status == "ok"
    ]
    places, left_out = _places(records)
    wanted = [record for record in records if _data(record) in places]
    if not wanted:
        why = "; ".join(left_out) or f"there are none of {' or '.join(_TYPES)}"
        raise UserError(f"no record in {results} can be a result file of MTEB: {why}")
    try:
        for record in wanted:
            _write(record, places[_data(record)], out)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}); choose another folder") from None
    return Given(len(wanted), left_out)


def model_name(record: Record) -> str:
    """As MTEB wants a name, the same at all seeds of an adaptation: `thawbench/frozen_ebm-loss-mnr-1a2b3c4d`."""
    adaptation = record.cell["adaptation"]
    steps = [{name: part for name, part in step.items() if name != "seeds"} for step in adaptation["steps"]]
    spelled = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9._+-]+", "-", record.strategy))  # MTEB reads __ as a slash
    return f"thawbench/{spelled}-{key_of({**adaptation, 'steps': steps})[:8]}"


def revision_name(record: Record) -> str:
    """Its seeds, or that nothing draws on any: `init1-order1-sample1`."""
    return "-".join(f"{stream}{getattr(record.seeds, stream)}" for stream in sorted(record.draws)) or "no-seeds"


def _task(record: Record) -> str:
    return str(record.cell["task"]["name"])


def _data(record: Record) -> tuple[str, str]:
    """The task, and the revision of its data: records of another may lie in the same folder."""
    return _task(record), str(record.cell["task"]["revision"])


def _places(records: Sequence[Record]) -> tuple[dict[tuple[str, str], _Place], tuple[str, ...]]:
    places, left_out = {}, []
    for data, record in {_data(record): record for record in records}.items():
        try:
            places[data] = _place(record)
        except UserError as error:
            left_out.append(str(error).partition(";")[0])  # without all that MTEB has
    return places, tuple(sorted(left_out))


def _place(record: Record) -> _Place:
    name, revision = _task(record), record.cell["task"]["revision"]
    task = find(name.partition("/")[2], _TYPES[record.family], record.family)
    if task.metadata.revision != revision:
        raise UserError(f"{name} is MTEB's task on other data: revision {revision}, not {task.metadata.revision}")
    if len(task.eval_splits) != 1 or len(task.hf_subsets) != 1:
        raise UserError(f"{name} has several splits or subsets, of which a record holds the mean alone")
    main = task.metadata.main_score
    if all(metric.name != main or metric.value is None for metric in record.metrics):
        raise UserError(f"{name} is ranked by {main} in MTEB, which is not among what is measured here")
    (split,), (subset,) = task.eval_splits, task.hf_subsets
    languages = task.metadata.hf_subsets_to_langscripts[subset]
    return _Place(split, subset, tuple(languages), main, revision)


def _write(record: Record, place: _Place, out: Path) -> None:
    scores: dict[str, Any] = {
        metric.name: round(metric.value, _DECIMALS) for metric in record.metrics if metric.value is not None
    }
    version = record.environment.packages.get("mteb")
    found = {
        **scores,
        "main_score": scores[place.main],
        "hf_subset": place.subset,
        "languages": list(place.languages),
        "mteb_version": version,
    }
    result = {
        "dataset_revision": place.revision,
        "task_name": _task(record).partition("/")[2],
        "mteb_version": version,
        "scores": {place.split: [found]},
        "evaluation_time": record.usage.encode_s + record.usage.evaluate_s,
        "kg_co2_emissions": None,
        "date": record.started,
    }
    folder = out / "results" / model_name(record).replace("/", "__") / revision_name(record)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((f"{result['task_name']}.json", result), ("model_meta.json", _meta(record))):
        with replacing(folder / name) as beside:
            beside.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _meta(record: Record) -> dict[str, Any]:
    with mteb_calls():
        from mteb.models import ModelMeta

        meta = ModelMeta.create_empty(
            overwrites={
                "name": model_name(record),
                "revision": revision_name(record),
                "n_parameters": record.usage.total_parameters or None,
                "max_tokens": record.cell["adaptation"]["backbone"].get("max_length"),
                "framework": ["PyTorch"],
            }
        )
        return json.loads(json.dumps(meta.to_dict(), default=str))  # type: ignore[no-any-return]
