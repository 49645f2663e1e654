"""What several seeds say together: mean, spread, interval. Sums are exact, so that no order of the seeds shows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit  # Student's t, inverted; scipy.stats takes seconds to import


@dataclass(frozen=True)
class Summary:
    """A mean over `n` values and their sample standard deviation (n - 1), None of a single value."""

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Interval:
    """A confidence interval, ends included."""

    low: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Mean, sample standard deviation and number of values.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("nothing to summarise")
    return Summary(math.fsum(values) / len(values), _std(values) if len(values) > 1 else None, len(values))


def _std(values: Sequence[float]) -> float:
    """In whole numbers, as exact as `statistics.stdev`, which takes many times as long."""
    ratios = [value.as_integer_ratio() for value in values]
    unit = max(denominator for _, denominator in ratios)  # a power of two, as all of them are
    parts = [numerator * (unit // denominator) for numerator, denominator in ratios]
    n = len(parts)
    squared = n * sum(part * part for part in parts) - sum(parts) ** 2
    return math.sqrt(squared / (n * (n - 1) * unit * unit))


def t_interval(summary: Summary, confidence: float = 0.95) -> Interval | None:
    """Student's interval for the mean over seeds: mean ± t(n - 1) · std / sqrt(n). None of a single value.

    It speaks of more seeds on the same data, and not of other data.
    """
    if summary.std is None:
        return None
    half = float(stdtrit(summary.n - 1, (1 + confidence) / 2)) * summary.std / math.sqrt(summary.n)
    return Interval(summary.mean - half, summary.mean + half)


def shown(fraction: float, scale: float = 100.0) -> float:
    """A fraction as boards print it: times 100, two decimals."""
    return round(scale * fraction, 2) + 0.0  # no -0.00
