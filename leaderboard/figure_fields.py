"""Score and seconds along one field of a strategy: what each layer taken off costs, and what it saves."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from thawbench.leaderboard.field_panels import FieldPanel
from thawbench.leaderboard.figure_lines import Panel, draw_panel, line_looks, lines_note
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink

_MOST_TICKS = 8


@themed
def draw_fields(panels: Sequence[FieldPanel], ink: Ink) -> Figure:
    """A row a task: scores at the left, seconds at the right."""
    names = [ladder.strategy for panel in panels for ladder in panel.ladders]
    most = max(len(panel.ladders) for panel in panels)
    scores = [_scores(panel) for panel in panels]
    notes = [
        (
            f"{lines_note(scores)} Seconds are those of the fastest fit of each cell, on one "
            "kind of machine. All but the field and the seeds is alike along a line."
        )
    ]
    sheet = Sheet(
        ink, "Along one field of a strategy", [height_for(most, 1.8)] * (2 * len(panels)), columns=2, width=2.5,
        margins=Margins(right=width_of(names)), notes=notes,
    )  # fmt: skip
    looks = line_looks(scores, ink)
    for place, (panel, score) in enumerate(zip(panels, scores, strict=True)):
        values = panel.values
        ticks = values[:: 1 + (len(values) - 1) // _MOST_TICKS]
        seconds = replace(
            score,
            y_label="seconds of a fit",
            lines=tuple(ladder.seconds for ladder in panel.ladders),
            scale=1.0,
            chance=None,
        )
        draw_panel(sheet, 2 * place, score, looks, ticks=ticks)
        draw_panel(sheet, 2 * place + 1, seconds, looks, ticks=ticks)
    return sheet.figure


def _scores(panel: FieldPanel) -> Panel:
    return Panel(
        panel.task,
        panel.name,
        panel.field,
        f"{panel.metric} × 100",
        tuple(ladder.scores for ladder in panel.ladders),
        chance=panel.chance,
        logarithmic=_spans_decades(panel.values),
    )


def _spans_decades(values: Sequence[float]) -> bool:
    """Whether a rate or a number of epochs is better read by its logarithm; a number of layers, from 0 on, is not."""
    return values[0] > 0 and values[-1] / values[0] > 10
