"""Published scores, each with its source: shown beside what was measured here, and never ranked."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from thawbench.errors import UserError

FILE = "references.toml"


@dataclass(frozen=True)
class Published:
    """A score and, where it was published, its standard deviation over seeds; fractions."""

    value: float
    std: float | None = None


@dataclass(frozen=True)
class Reference:
    """What one source says of one model.

    Attributes:
        protocol: how it was measured, as far as it matters for a comparison.
        metrics: the names that the score has here; several where they are the same number of this model.
        scores: by task.
    """

    model: str
    source: str
    protocol: str
    metrics: tuple[str, ...]
    scores: Mapping[str, Published]


@dataclass(frozen=True)
class ReferenceRow:
    """A reference on one table: a score for each of its columns, None where none was published."""

    model: str
    source: str
    protocol: str
    scores: tuple[Published | None, ...]


def published_references() -> tuple[Reference, ...]:
    """Those of `references.toml`."""
    return parse_references(resources.files("thawbench.leaderboard").joinpath(FILE).read_text(encoding="utf-8"))


def parse_references(text: str) -> tuple[Reference, ...]:
    """References as TOML, in the order of the file.

    Raises:
        UserError: no TOML, a part is missing, unknown or of another type, or a score is no fraction.
    """
    try:
        entries = tomllib.loads(text).get("reference", [])
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE} is no TOML: {error}") from None
    return tuple(_reference(entry, number) for number, entry in enumerate(entries, 1))


def reference_rows(references: Sequence[Reference], columns: Sequence[tuple[str, str]]) -> tuple[ReferenceRow, ...]:
    """Those that have a score in one of the columns.

    Args:
        columns: of each the task, with or without options, and the metric.
    """
    found = []
    for each in references:
        scores = tuple(
            each.scores.get(task.partition(":")[0]) if metric in each.metrics else None for task, metric in columns
        )
        if any(scores):
            found.append(ReferenceRow(each.model, each.source, each.protocol, scores))
    return tuple(found)


def _reference(entry: Any, number: int) -> Reference:
    where = f"{FILE}, reference {number}"
    wanted = {"model": str, "source": str, "protocol": str, "metrics": list, "scores": dict}
    for name, kind in wanted.items():
        if not isinstance(entry.get(name), kind) or not entry[name]:
            raise UserError(f"{where}: {name} is missing, empty or no {kind.__name__}")
    if more := sorted(set(entry) - set(wanted)):
        raise UserError(f"{where}: {', '.join(more)} is unknown; it has {', '.join(wanted)}")
    scores = {task: _published(value, f"{where}: {task}") for task, value in entry["scores"].items()}
    return Reference(entry["model"], entry["source"], entry["protocol"], tuple(entry["metrics"]), scores)


def _published(value: Any, where: str) -> Published:
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) not in (1, 2) or not all(isinstance(each, float) and -1 <= each <= 1 for each in numbers):
        raise UserError(f"{where} is {value}, expected a fraction such as 0.8203, or [0.911, 0.013] with its deviation")
    return Published(*numbers)
