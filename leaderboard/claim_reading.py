"""What a claim reads of one record: a number, or None where there is none to read."""

import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from thawbench.contracts import Curve
from thawbench.leaderboard.claim_statement import Part
from thawbench.suite.records import Record

SECONDS = ("fit_s", "encode_s")
Reading = Callable[[Record], float | None]


def reading_of(part: Part, *, second: bool = False) -> Reading:
    """How a part reads the records of its first or its second side."""
    if part.curve:
        return lambda record: _rise_of_curves(record, part.curve)
    if part.kind == "best_of" and not second:
        return lambda record: None if record.dev_score is None else _metric(record, "")
    name = (part.second_metric if second else "") or part.metric
    if name in SECONDS:
        return lambda record: _logarithm(record, name)
    return lambda record: _metric(record, name)


def rise_weights(x: Sequence[float]) -> list[float]:
    """Weights w of y for which sum w y is the rise, from the least x to the greatest, of the least-squares line.

    Raises:
        ValueError: all x are one.
    """
    middle = math.fsum(x) / len(x)
    squares = math.fsum((each - middle) ** 2 for each in x)
    if not squares:
        raise ValueError("a line needs two different x")
    return [(max(x) - min(x)) * (each - middle) / squares for each in x]


def _metric(record: Record, name: str) -> float | None:
    found = record.metric(name) if name else record.main
    return None if record.status != "ok" or found is None else found.value


def _logarithm(record: Record, name: str) -> float | None:
    seconds: float = getattr(record.usage, name)
    return math.log(seconds) if record.status == "ok" and seconds > 0 else None


def _rise_of_curves(record: Record, pattern: str) -> float | None:
    curves = [curve for curve in record.curves if fnmatchcase(curve.name, pattern)]
    if record.status != "ok" or not curves or any(len(set(curve.x)) < 2 for curve in curves):
        return None
    return math.fsum(map(_rise, curves)) / len(curves)


def _rise(curve: Curve) -> float:
    return math.fsum(weight * y for weight, y in zip(rise_weights(curve.x), curve.y, strict=True))
