"""One curve of one task as a table: a row a strategy, a column a layer, or a strength of noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.contracts import Curve
from thawbench.leaderboard.figure_cells import Line, curve_points
from thawbench.leaderboard.mixture import grouped
from thawbench.suite.records import Record

_UNSCALED = ("readout_s", "hidden words")
"""Seconds, and a loss in nats."""


@dataclass(frozen=True)
class CurveTable:
    """Means over seeds along an axis.

    Attributes:
        name: `uuas of probe/ewt@1000`.
        scale: what values are multiplied by to be shown.
        lines: by name, controls last; without points where not every run has the curve.
    """

    name: str
    scale: float
    xs: tuple[float, ...]
    lines: tuple[Line, ...]


def curve_tables(records: Sequence[Record]) -> list[CurveTable]:
    """A table for each curve of each task that some strategy has in all its runs; of one backbone's records."""
    found = []
    for task, members in sorted(grouped(records, lambda record: record.task).items()):
        cells = grouped(members, lambda record: (record.control, record.strategy))
        for name, curve in {curve.name: curve for record in members for curve in record.curves}.items():
            lines = tuple(
                Line(strategy, control, curve_points(own, name)) for (control, strategy), own in sorted(cells.items())
            )
            xs = tuple(sorted({point.x for line in lines for point in line.there}))
            if xs:
                found.append(CurveTable(f"{name} of {task}", _scale(members[0].family, curve), xs, lines))
    return found


def _scale(family: str, curve: Curve) -> float:
    """100 of shares and correlations; of forgetting only the drift through the layers is a cosine."""
    cosines = family == "geometry" or (family == "forgetting" and curve.axis == "layer")
    return 1.0 if cosines or curve.name in _UNSCALED else 100.0
