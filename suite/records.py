"""What a run leaves of a cell: its record.

A record is named by the SHA-256 of its cell's canonical JSON. Boards need no task code to read it: every metric
carries its own direction, bounds and chance level. This module needs neither torch nor mteb.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thawbench.contracts import Curve, Seeds, Stream
from thawbench.errors import ThawbenchError
from thawbench.suite.strict_json import canonical_json as canonical_json
from thawbench.suite.strict_json import decode, spelled_json

SCHEMA = 1
_ROUNDING = 1e-9
"""How far beyond its bounds a metric may be: a correlation of 1.0000000000000002 is a 1."""

Status = Literal["ok", "degenerate", "failed", "timeout", "not_applicable"]


class DamagedRecordError(ThawbenchError):
    """A record that cannot be read. The text names the file and the field."""


@dataclass(frozen=True)
class MetricValue:
    """A `contracts.Metric` with what was found; None where it could not be taken.

    Raises:
        ValueError: the value is not finite, or outside its bounds.
    """

    name: str
    value: float | None
    direction: Literal["up", "down", "none"] = "up"
    lower: float | None = 0.0
    upper: float | None = 1.0
    chance: float | None = None
    main: bool = False

    def __post_init__(self) -> None:
        if self.value is None:
            return
        if not math.isfinite(self.value):
            raise ValueError(f"metric {self.name} is {self.value}, which is not finite")
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
        if not low - _ROUNDING <= self.value <= high + _ROUNDING:
            raise ValueError(f"metric {self.name} is {self.value}, outside its bounds {low} to {high}")


@dataclass(frozen=True)
class Failure:
    """Why a cell failed."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Usage:
    """What a cell cost. Seconds of fit and encode are those of a cold cache; `wall_s` is what was really waited."""

    fit_s: float = 0.0
    encode_s: float = 0.0
    evaluate_s: float = 0.0
    wall_s: float = 0.0
    peak_memory_mb: float | None = None
    trainable_parameters: int = 0
    total_parameters: int = 0
    texts: int = 0
    tokens: int = 0
    truncated: int = 0
    zero_vectors: int = 0
    tokens_per_s: float | None = None


@dataclass(frozen=True)
class Environment:
    """Where a cell ran.

    Attributes:
        commit, dirty: None outside a checkout.
        device: its kind, of a GPU with its name: `cpu`, `cuda: NVIDIA H200`.
    """

    python: str
    packages: Mapping[str, str]
    commit: str | None
    dirty: bool | None
    device: str
    cpu: str
    threads: int
    precision: str

    @property
    def device_kind(self) -> str:
        """As `--device` has it."""
        return self.device.partition(":")[0]


@dataclass(frozen=True)
class Record:
    """One cell's outcome.

    Attributes:
        key: `key_of(cell)`.
        strategy, task, backbone: as they were spelled; boards show these.
        control: the strategy is a yardstick, no contender.
        cell: what the key hashes, plain JSON: `schema`, `task` {name, version, fingerprint, revision} and
            `adaptation` {backbone {weights, …}, steps [{…, seeds}, …]}.
        seeds: as asked for; `draws` says which of the streams this cell depends on.
        started: UTC, ISO 8601.
        attempts: 1, and one more for each retry after `failed` or `timeout`.
        reason: why it is `degenerate` or `not_applicable`, else empty.
        trace, rows: parquet files, relative to the results folder.

    Raises:
        ValueError: the parts contradict one another.
    """

    key: str
    status: Status
    strategy: str
    task: str
    family: str
    backbone: str
    control: bool
    cell: Mapping[str, Any]
    seeds: Seeds
    draws: tuple[Stream, ...]
    environment: Environment
    started: str
    usage: Usage = dataclasses.field(default_factory=Usage)
    metrics: tuple[MetricValue, ...] = ()
    curves: tuple[Curve, ...] = ()
    dev_score: float | None = None
    attempts: int = 1
    failure: Failure | None = None
    reason: str = ""
    trace: str | None = None
    rows: str | None = None
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", json.loads(canonical_json(self.cell)))
        self.check()

    def check(self) -> None:
        """Raise ValueError if the parts contradict one another; `cell` is plain JSON."""
        spelled = spelled_json(self.cell)
        if self.key != hashlib.sha256(spelled.encode()).hexdigest():
            raise ValueError("key is not the SHA-256 of cell")
        _check_cell(self.cell)
        if self.status == "ok" and (self.main is None or self.main.value is None):
            raise ValueError("metrics has no main value, and status is ok")
        if self.status in ("failed", "timeout") and self.failure is None:
            raise ValueError(f"failure is missing, and status is {self.status}")
        if self.status in ("degenerate", "not_applicable") and not self.reason:
            raise ValueError(f"reason is empty, and status is {self.status}")

    @property
    def final(self) -> bool:
        """Not to be run again."""
        return self.status in ("ok", "degenerate")

    @property
    def main(self) -> MetricValue | None:
        """The metric that boards rank by."""
        for metric in self.metrics:  # a generator takes three times as long, and boards ask often
            if metric.main:
                return metric
        return None

    def metric(self, name: str) -> MetricValue | None:
        """A metric by its name."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, `from_json`'s inverse."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: Any, where: str = "record") -> "Record":
        """A record out of parsed JSON.

        Raises:
            DamagedRecordError: a field is missing, unknown or of another type, or two of them contradict each other.
        """
        try:
            return decode(cls, value)
        except ValueError as error:
            raise DamagedRecordError(f"{where}: {error}") from None


def key_of(cell: Mapping[str, Any]) -> str:
    """A cell's key: SHA-256 (hex) of its canonical JSON."""
    return hashlib.sha256(canonical_json(cell).encode()).hexdigest()


def _check_cell(cell: Mapping[str, Any]) -> None:
    try:
        parts = [cell["task"][field] for field in ("name", "version", "fingerprint", "revision")]
        parts += [cell["adaptation"]["backbone"]["weights"]]
        parts += [step["seeds"].items() for step in cell["adaptation"]["steps"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"cell lacks a part ({type(error).__name__}: {error})") from None
