"""The first figure: score against the number of labelled rows, in domain and shifted, and where tuning overtakes."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thawbench.leaderboard.figure_cells import gaps_note
from thawbench.leaderboard.figure_lines import Panel, draw_panel, line_looks, lines_note
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import look_of, themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.overtaking import Overtaking
from thawbench.leaderboard.size_panels import FROZEN, SizePanel

TUNED = "finetune"


@themed
def draw_sizes(panels: Sequence[SizePanel], ink: Ink) -> Figure:
    """Means over seeds with t intervals; below the curves, where tuning overtakes freezing."""
    labels = max(len(panel.lines) for panel in panels)
    right = width_of([line.strategy for panel in panels for line in panel.lines])
    mains = [next((each for each in panel.overtakings if each.first == TUNED), None) for panel in panels]
    curves = [_curves(panel, main) for panel, main in zip(panels, mains, strict=True)]
    notes = [
        (
            f"{lines_note(curves)} Triangle and band: the n at which {TUNED} overtakes "
            f"{FROZEN}, and its 95 % interval. Differences are paired by sample seed and taken to go straight in "
            "log n between sizes; the interval ends where their mean is told to be above 0 for good, and begins behind "
            "the last size at which it is told below 0 (Student's test, inverted; of the seeds that all sizes have)."
        ),
        _absent(panels),
        _single(panels),
        gaps_note([cell for panel in panels for cell in panel.gaps]),
    ]
    sheet = Sheet(
        ink, "Score against labelled rows", [height_for(labels, 2.4)] * len(panels), columns=2,
        width=2.7, margins=Margins(right=right), notes=notes,
    )  # fmt: skip
    looks = line_looks(curves, ink)
    for place, (panel, main, lines) in enumerate(zip(panels, mains, curves, strict=True)):
        axes = draw_panel(sheet, place, lines, looks, ticks=panel.sizes)
        if main is not None:
            _mark(axes, main, ink)
    return sheet.figure


@themed
def draw_overtakings(panels: Sequence[SizePanel], ink: Ink) -> Figure:
    """For every strategy the n at which it overtakes the frozen encoder, a row each."""
    panels = [panel for panel in panels if panel.overtakings]
    names = [each.first for panel in panels for each in panel.overtakings]
    notes = [
        (
            f"Where each strategy overtakes {FROZEN}: paired by sample seed, straight in log n between sizes; 95 % by "
            "inverting Student's test (Fieller). An arrow: the sizes measured do not bound it."
        )
    ]
    sheet = Sheet(
        ink, f"The n at which a strategy overtakes {FROZEN}",
        [0.12 + 0.24 * len(panel.overtakings) for panel in panels], columns=1,
        width=3.2, margins=Margins(left=width_of(names), right=3.0), notes=notes,
    )  # fmt: skip
    for place, panel in enumerate(panels):
        _forest(sheet, place, panel, ink)
    return sheet.figure


def _curves(panel: SizePanel, main: Overtaking | None) -> Panel:
    told = f"{TUNED} over {FROZEN}: " + ("too few sizes and seeds in common" if main is None else main.told)
    return Panel(
        panel.title,
        told,
        "labelled rows n",
        f"{panel.metric} × 100",
        panel.lines,
        chance=panel.chance,
        logarithmic=True,
    )


def _mark(axes: Axes, found: Overtaking, ink: Ink) -> None:
    """A triangle on the axis at the n, and a band over what the interval holds of the panel."""
    colour = look_of(found.first, False, ink).colour
    low, high = axes.get_xlim()
    if found.interval is not None and (found.interval.low or found.interval.high < math.inf):
        axes.axvspan(max(found.interval.low, low), min(found.interval.high, high), color=colour, alpha=0.1, linewidth=0)
    if 0 < found.at < math.inf:
        axes.axvline(found.at, color=colour, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.plot(
            found.at, 0, marker="^", color=colour, markersize=6, transform=axes.get_xaxis_transform(), clip_on=False
        )


def _forest(sheet: Sheet, place: int, panel: SizePanel, ink: Ink) -> None:
    sizes = [size for each in panel.overtakings for size in each.sizes]
    least, most = min(sizes), max(sizes)
    low, high = least / 1.25, most * 1.25
    axes = sheet.panel(place, panel.title)
    axes.grid(axis="y", visible=False)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(len(panel.overtakings) - 0.5, -0.5)
    axes.minorticks_off()
    axes.set_xticks(sorted(set(sizes)), [str(size) for size in sorted(set(sizes))])
    axes.set_yticks(range(len(panel.overtakings)), [""] * len(panel.overtakings))
    axes.set_xlabel("labelled rows n", fontsize=8)
    for row, each in enumerate(panel.overtakings):
        look = look_of(each.first, False, ink)
        sheet.name(axes, row, each.first, look.colour)
        if each.interval is not None:
            ends = (max(each.interval.low, low), min(each.interval.high, high))
            axes.plot(ends, [row, row], color=look.colour, linewidth=1.4, alpha=0.6, solid_capstyle="butt")
            for end, marker, open_ in ((low, "<", not each.interval.low), (high, ">", each.interval.high == math.inf)):
                if open_:
                    axes.plot(end, row, marker=marker, color=look.colour, markersize=4, clip_on=False)
        if 0 < each.at < math.inf:
            axes.plot(each.at, row, marker=look.marker, color=look.colour, markersize=6)
        sheet.beside(axes, row, f"{each.told}, {each.seeds} seeds")


def _absent(panels: Sequence[SizePanel]) -> str:
    lacking = sorted({panel.train for panel in panels} - {panel.train for panel in panels if panel.other})
    if not lacking:
        return ""
    return f"Not shown, for there are no shifted scores at two sizes or more: {', '.join(lacking)}."


def _single(panels: Sequence[SizePanel]) -> str:
    told = [f"{panel.title}: {', '.join(panel.single)}" for panel in panels if panel.single]
    return f"At one size alone, and so without a curve: {'; '.join(told)}." if told else ""
