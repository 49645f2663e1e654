"""Retrieval against similarity: whether a strategy that is better at one is better at the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from thawbench.leaderboard.figure_dots import Dot, dot_looks, draw_dots
from thawbench.leaderboard.figure_sheet import Margins, Sheet, height_for, width_of
from thawbench.leaderboard.figure_style import themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.rank_correlation import RankCorrelation
from thawbench.leaderboard.relevance import RELEVANCE, SIMILARITY, relevance_of
from thawbench.leaderboard.tables import tables_of
from thawbench.suite.records import Record


@dataclass(frozen=True)
class RelevancePicture:
    """100 times the means over the tasks of both families, and how alike they order what is no control.

    Attributes:
        tasks: how many each family has.
    """

    dots: tuple[Dot, ...]
    correlation: RankCorrelation
    tasks: tuple[int, int]


def relevance_picture(records: Sequence[Record]) -> RelevancePicture | None:
    """Out of the records of one backbone; None where no strategy is complete in both families."""
    families = grouped(sorted(records, key=lambda record: record.key), lambda record: record.family)
    tables = [
        table for name in (RELEVANCE, SIMILARITY) if name in families for table in tables_of(name, families[name])
    ]
    found = relevance_of([("", tables)])
    if found is None:
        return None
    counts = {table.title: sum(column.ranked for column in table.columns) for table in tables}
    dots = [Dot(each.strategy, each.control, 100 * each.similarity, 100 * each.relevance) for each in found.points]
    return RelevancePicture(tuple(dots), found.agreements[0].correlation, (counts[RELEVANCE], counts[SIMILARITY]))


@themed
def draw_relevance(picture: RelevancePicture, ink: Ink) -> Figure:
    """One panel."""
    found = picture.correlation
    told = "too few strategies for a rank correlation"
    if found.spearman is not None:
        told = f"rank correlation over {found.n} strategies without controls: Spearman {found.spearman:.2f}"
        interval = found.spearman_interval
        told += "" if interval is None else f" (95 %: {interval.low:.2f} to {interval.high:.2f})"
    relevance, similarity = picture.tasks
    notes = [
        (
            f"Means over {similarity} tasks of similarity (x) and {relevance} of retrieval (y), of the strategies "
            f"that have a score on all of them; {told}. Both come from the board's tables; controls are grey."
        )
    ]
    sheet = Sheet(
        ink, "Retrieval against similarity", [height_for(len(picture.dots), 2.8)], columns=1, width=3.4,
        margins=Margins(above=0.15, right=width_of([dot.strategy for dot in picture.dots])), notes=notes,
    )  # fmt: skip
    units = ("similarity (sts), mean × 100", "retrieval (ir), mean × 100")
    draw_dots(sheet, 0, "", picture.dots, units, dot_looks(picture.dots, ink))
    return sheet.figure
