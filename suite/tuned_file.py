"""Writes what a search found: `<strategy>.toml` with the choice and its trials, `<strategy>.json` with the records."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from thawbench.contracts import Json
from thawbench.errors import UserError
from thawbench.strategies.tuned import FOLDER, read_choices
from thawbench.suite.records import Failure, Record
from thawbench.suite.tune import Search, refuse_unfair
from thawbench.whole_file import replacing

_HEAD = "# Written by `thawbench tune`: chosen by mean dev score. The records of the trials lie beside, as JSON.\n"


def write_search(found: Search, records: Sequence[Record], folder: Path = FOLDER) -> Path:
    """Put the choice in place of an older one of the same backbone; those of other backbones stay.

    Returns:
        The TOML file.

    Raises:
        UserError: another strategy had more or fewer trials, no value can be chosen, or a file cannot be written.
    """
    refuse_unfair(found.strategy, len(found.trials), found.weights, folder)
    kept = [choice for choice in read_choices(found.strategy, folder) if choice["weights"] != found.weights]
    choices = sorted(
        [*kept, _choice(found)], key=lambda choice: (int(str(choice["parameters"])), str(choice["weights"]))
    )
    path, beside = folder / f"{found.strategy}.toml", folder / f"{found.strategy}.json"
    needed = {trial["key"] for choice in kept for trial in choice["trials"]}  # type: ignore[union-attr,index,call-overload]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() and needed else []
        held = {record["key"]: record for record in before if record["key"] in needed}
        held |= {record.key: _bare(record) for record in records}
        lines = [json.dumps(held[key], sort_keys=True, separators=(",", ":"), allow_nan=False) for key in sorted(held)]
        _replace(beside, "[\n" + ",\n".join(lines) + "\n]\n")
        _replace(path, _HEAD + "".join(_toml(choice) for choice in choices))
    except (OSError, ValueError) as error:
        raise UserError(f"the choice cannot be written to {folder} ({error}); choose another with --out") from None
    return path


def _choice(found: Search) -> dict[str, Json]:
    """A search as TOML has it: no nulls, and tables last."""
    trials: list[Json] = [{k: v for k, v in asdict(trial).items() if v is not None} for trial in found.trials]
    means = {str(value): mean for value in found.values if (mean := found.mean(value)) is not None}
    return {
        "backbone": found.backbone,
        "weights": found.weights,
        "parameters": found.parameters,
        "version": found.version,
        "field": found.field,
        "value": found.chosen,
        "values": list(found.values),
        "tasks": list(found.tasks),
        "seeds": found.seeds,
        "dev_scores": {**means},
        "trials": trials,
    }


def _bare(record: Record) -> dict[str, Any]:
    """A record to publish: what a failure said may quote a text or a path."""
    failure = record.failure
    return replace(record, failure=failure and Failure(failure.type, "", "")).to_json()


def _toml(choice: dict[str, Json]) -> str:
    lines = ["", "[[choice]]"]
    for name, value in choice.items():
        if name == "trials" and isinstance(value, list):
            lines += ["trials = [", *(f"    {_value(trial)}," for trial in value), "]"]
        else:
            lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{json.dumps(name, ensure_ascii=False)} = {_value(each)}" for name, each in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)  # texts, numbers and truth values are written alike


def _replace(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
