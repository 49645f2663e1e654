"""What stands on a page beside the families' tables: the overall standing and the costs."""

from collections.abc import Sequence

from thawbench.leaderboard.costs import CostRow
from thawbench.leaderboard.grid import MISSING, Cell, Grid, grid, percent
from thawbench.leaderboard.overall import Overall


def overall_grid(overall: Overall) -> Grid:
    """The strategies that are complete in every family."""
    return grid(
        ["#", "Strategy", *overall.families, "Mean rank"],
        [
            [
                str(each.place),
                each.strategy,
                *(f"{rank:.2f} {group}".rstrip() for rank, group in zip(each.ranks, each.groups, strict=True)),
                Cell(f"{each.mean_rank:.2f}", each.place == 1),
            ]
            for each in overall.standings
        ],
    )


def partial_grid(overall: Overall) -> Grid:
    """The others, with what they lack."""
    count = len(overall.families)
    return grid(
        ["Strategy", "Families", "Missing"],
        [[each.strategy, f"{count - len(each.missing)}/{count}", ", ".join(each.missing)] for each in overall.partial],
    )


def costs_grid(costs: Sequence[CostRow]) -> Grid:
    """A line for each strategy."""
    rows = [
        [
            cost.strategy,
            f"{cost.fit_s:.1f}",
            f"{cost.encode_s:.1f}",
            percent(cost.trainable_share, 2),
            MISSING if cost.tokens_per_s is None else f"{cost.tokens_per_s:.0f}",
            f"{cost.truncated} of {cost.texts}",
            MISSING if cost.peak_memory_mb is None else f"{cost.peak_memory_mb:.0f}",
        ]
        for cost in costs
    ]
    return grid(["Strategy", "Fit s", "Encode s", "Trained weights", "Tokens/s", "Truncated texts", "Peak MB"], rows)
