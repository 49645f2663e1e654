"""Mean ranks over the tasks of a family on one line, and dots on a line for those that cannot be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thawbench.leaderboard.figure_sheet import Margins, Sheet, short, width_of
from thawbench.leaderboard.figure_style import look_of, themed
from thawbench.leaderboard.ink import Ink
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.tables import Table, tables_of
from thawbench.leaderboard.tie_groups import groups_in
from thawbench.suite.records import Record

_STEP = 0.19
"""Inches between two names."""


@dataclass(frozen=True)
class RankPanel:
    """One family.

    Attributes:
        ranks: (strategy, its mean rank), the best first; controls and incomplete rows have none.
        groups: places in `ranks` of two strategies or more that cannot be told apart, as the board's letters say.
        tasks: over which ranks are averaged.
        untold: those of `ranks` that were compared with nobody, as they have too few seeds.
        incomplete: how many have no rank, as not every run of every task has a score; controls do not count.
    """

    family: str
    ranks: tuple[tuple[str, float], ...]
    groups: tuple[tuple[int, ...], ...]
    tasks: tuple[str, ...]
    untold: tuple[str, ...]
    incomplete: int


def rank_panels(records: Sequence[Record]) -> tuple[RankPanel, ...]:
    """The families in which two strategies or more were compared."""
    families = grouped(sorted(records, key=lambda record: record.key), lambda record: record.family)
    tables = [table for family in sorted(families) for table in tables_of(family, families[family])]
    return tuple(_panel(table) for table in tables if len(table.aggregates) > 1 and table.comparisons)


@themed
def draw_ranks(panels: Sequence[RankPanel], ink: Ink) -> Figure:
    """A line for each family, its best at the left."""
    names = [name for panel in panels for name, _ in panel.ranks]
    notes = [
        (
            "Mean rank over tasks, 1 the best. Each thin line joins strategies that cannot be told apart, with a dot "
            "at each one's rank; it may pass others, which have no dot on it: paired t tests over sample seeds, Holm "
            "over all pairs of the family. So the lines are of score differences, and no critical difference of "
            "ranks, which few tasks would make wider than the axis."
        ),
        _untold(panels),
        _incomplete(panels),
    ]
    margin = width_of(names)
    sheet = Sheet(
        ink, "Who can be told apart", [_depth(panel) for panel in panels], columns=1, width=3.4,
        margins=Margins(left=margin, right=margin, above=0.62, below=0.12), notes=notes,
    )  # fmt: skip
    for place, panel in enumerate(panels):
        count = len(panel.tasks)
        axes = sheet.panel(place, f"{panel.family}: {count} task{'s' if count > 1 else ''}", over=0.28)
        _draw(axes, panel, ink)
    return sheet.figure


def _panel(table: Table) -> RankPanel:
    letters = {row.strategy: row.group for row in table.complete}
    ranks = sorted(((each.strategy, each.mean_rank) for each in table.aggregates), key=lambda pair: (pair[1], pair[0]))
    parts = {name: groups_in(letters[name]) for name, _ in ranks}
    groups = {letter for own in parts.values() for letter in own}
    members = [tuple(at for at, (name, _) in enumerate(ranks) if letter in parts[name]) for letter in groups]
    tasks = tuple(column.task for column in table.columns if column.ranked)
    return RankPanel(
        table.title,
        tuple(ranks),
        tuple(sorted(each for each in members if len(each) > 1)),
        tasks,
        tuple(name for name, _ in ranks if not parts[name]),
        sum(not row.control for row in table.incomplete),
    )


def _untold(panels: Sequence[RankPanel]) -> str:
    told = [f"{', '.join(panel.untold)} ({panel.family})" for panel in panels if panel.untold]
    return f"Compared with nobody, for want of seeds: {'; '.join(told)}." if told else ""


def _incomplete(panels: Sequence[RankPanel]) -> str:
    told = [f"{panel.incomplete} of {panel.family}" for panel in panels if panel.incomplete]
    if not told:
        return ""
    return f"Only strategies that have a score of every run on every task are shown; left out: {', '.join(told)}."


def _depth(panel: RankPanel) -> float:
    half = (len(panel.ranks) + 1) // 2
    return _STEP * (len(panel.groups) * 0.6 + half + 0.9)


def _draw(axes: Axes, panel: RankPanel, ink: Ink) -> None:
    """The axis at the top, then who is alike, then names at both sides, each with a line from its rank."""
    count = len(panel.ranks)
    axes.set_xlim(0.8, count + 0.2)
    axes.set_ylim(_depth(panel), 0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set_visible(True)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.set_xticks(range(1, count + 1))
    for level, group in enumerate(panel.groups):
        # a bar from end to end would also cover those between that are told apart from some member
        members = [panel.ranks[at][1] for at in group]
        heights = [_STEP * (0.6 * level + 0.6)] * len(members)
        axes.plot(members, heights, color=ink.text, linewidth=0.8, marker="o", markersize=3.4)
    below = _STEP * (0.6 * len(panel.groups) + 0.9)
    half = (count + 1) // 2
    for at, (name, rank) in enumerate(panel.ranks):
        left = at < half
        height = below + _STEP * (at if left else count - 1 - at)
        colour = look_of(name, False, ink).colour
        side = 0.8 if left else count + 0.2
        axes.plot([rank, rank, side], [0.0, height, height], color=colour, linewidth=0.9, clip_on=False)
        axes.text(
            side + (-0.02 if left else 0.02) * count, height, short(name), color=colour, fontsize=7.5,
            ha="right" if left else "left", va="center_baseline",
        )  # fmt: skip
