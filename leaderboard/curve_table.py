"""One curve of one task as a table: a row a strategy, a column a layer, or a strength of noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.leaderboard.figure_cells import Line, curve_points, curve_scale
from thawbench.leaderboard.mixture import grouped
from thawbench.suite.records import Record


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
                scale = curve_scale(members[0].family, curve.axis, name)
                found.append(CurveTable(f"{name} of {task}", scale, xs, lines))
    return found
