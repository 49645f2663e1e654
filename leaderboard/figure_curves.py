"""Curves that records hold: scores over the strength of noise, and measures over layers; a panel for each curve."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from thawbench.leaderboard.figure_cells import Line, curve_points, curve_scale
from thawbench.leaderboard.figure_lines import INTERVALS, Panel, draw_panel, line_looks
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.suite.records import Record

NOISE, LAYERS, GEOMETRY, PROBE, DRIFT = "noise", "layers", "geometry", "probe", "forgetting"
_TITLES = {
    NOISE: "Scores as test texts get noisier",
    LAYERS: "What each layer knows of the classes",
    GEOMETRY: "The shape of each layer's space",
    PROBE: "Syntax in each layer",
    DRIFT: "How far each layer has moved along a chain",
}
_AXES = {NOISE: "strength"}
_SHOWN = {
    GEOMETRY: ("anisotropy", "self_similarity_adjusted", "intra_similarity_adjusted", "isoscore", "rsa", "cka"),
    PROBE: ("uuas", "dspr", "root", "nspr", "upos", "relation"),
}
"""In this order; of families that are not here, every curve, but of `layers` only that of the main metric."""
_UNITS = {NOISE: "score × 100", DRIFT: "cosine to the start"}
_COLUMNS = 3


@dataclass(frozen=True)
class CurvePanels:
    """A family's panels, and the strategies on tasks that have no curve because not every run has one."""

    family: str
    panels: tuple[Panel, ...]
    gaps: tuple[str, ...]


def curve_panels(records: Sequence[Record], family: str) -> CurvePanels:
    """The curves of a family along its axis, by task, averaged over seeds."""
    panels, gaps = [], []
    members = [record for record in records if record.family == family]
    for task, group in sorted(grouped(members, lambda record: record.task).items()):
        cells = sorted(grouped(sorted(group, key=lambda record: record.key), lambda record: record.strategy).items())
        for name in _names(group, family):
            lines = []
            for strategy, own in cells:
                points = curve_points(own, name)
                if points:
                    lines.append(Line(strategy, own[0].control, points))
            if lines:
                panels.append(_panel(task, name, lines, group, family))
        gaps += [f"{strategy} on {task}" for strategy, own in cells if any(record.status != "ok" for record in own)]
    return CurvePanels(family, tuple(panels), tuple(gaps))


@themed
def draw_curves(found: CurvePanels, ink: Ink) -> Figure:
    """Means over seeds at each point of the axis."""
    names = [line.strategy for panel in found.panels for line in panel.lines]
    most = max(len(panel.lines) for panel in found.panels)
    notes = [
        f"{INTERVALS} Layer 0 is what goes into the first block." if found.family not in _AXES else INTERVALS,
        "Dots: the best constant answer, or guessing." if any(panel.shows_chance for panel in found.panels) else "",
        f"Without a curve, as not every run has a score: {', '.join(found.gaps)}." if found.gaps else "",
    ]
    sheet = Sheet(
        ink, _TITLES[found.family], [height_for(most, 1.8)] * len(found.panels), columns=_COLUMNS, width=2.1,
        margins=Margins(right=width_of(names)), notes=notes,
    )  # fmt: skip
    looks = line_looks(found.panels, ink)
    for place, panel in enumerate(found.panels):
        xs = sorted({point.x for line in panel.lines for point in line.there})
        step = 1 + (len(xs) - 1) // 7
        draw_panel(sheet, place, panel, looks, ticks=xs[::step])
    return sheet.figure


def _axis(family: str) -> str:
    return _AXES.get(family, "layer")


def _names(records: Sequence[Record], family: str) -> tuple[str, ...]:
    axis = _axis(family)
    known = dict.fromkeys(curve.name for record in records for curve in record.curves if curve.axis == axis)
    if family == LAYERS:
        return tuple(sorted({record.main.name for record in records if record.main is not None} & known.keys()))
    in_order = tuple(known) if family == DRIFT else sorted(known)
    return tuple(name for name in _SHOWN.get(family, in_order) if name in known)


def _panel(task: str, name: str, lines: Sequence[Line], records: Sequence[Record], family: str) -> Panel:
    scale = curve_scale(family, _axis(family), name)
    wanted = "clean" if family == NOISE else name
    chances = {metric.chance for record in records for metric in record.metrics if metric.name == wanted}
    words = name.replace("_", " ")
    return Panel(
        words,
        task,
        f"share of words with {words}" if family == NOISE else "layer",
        _UNITS.get(family) or (words if scale == 1 else f"{words} × 100"),
        tuple(sorted(lines, key=lambda line: (-line.there[-1].mean, line.strategy))),
        scale,
        None if scale == 1 or len(chances) != 1 else chances.pop(),
    )
