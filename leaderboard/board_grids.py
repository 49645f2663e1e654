"""What stands on a page beside the families' tables: the overall standing, relevance against similarity, the costs."""

from collections.abc import Sequence

from thawbench.leaderboard.costs import CostRow
from thawbench.leaderboard.grid import MISSING, Cell, Grid, between, grid, named, percent, score
from thawbench.leaderboard.overall import Overall
from thawbench.leaderboard.rank_correlation import LEAST
from thawbench.leaderboard.relevance import Agreement, Relevance


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


def relevance_grid(relevance: Relevance) -> Grid:
    """Every strategy with its mean over retrieval and over similarity, and its ranks."""
    heads = ["Backbone", "Strategy", "Relevance (ir)", "Similarity (sts)", "Rank in ir", "Rank in sts"]
    rows = [
        [
            each.backbone,
            named(each.strategy, each.control),
            score(each.relevance),
            score(each.similarity),
            *("" if rank is None else f"{rank:g}" for rank in (each.relevance_rank, each.similarity_rank)),
        ]
        for each in relevance.points
    ]
    return grid(heads, rows)


def agreements_grid(relevance: Relevance) -> Grid:
    """How alike the two orders are."""
    heads = ["Strategies of", "n", "Spearman", "95 %", "Kendall", "95 %"]
    return grid(heads, [_agreement(each) for each in relevance.agreements])


def _agreement(found: Agreement) -> list[Cell | str]:
    each = found.correlation
    few = f"too few: under {LEAST}" if each.n < LEAST else MISSING
    cells = [
        text
        for value, interval in ((each.spearman, each.spearman_interval), (each.kendall, each.kendall_interval))
        for text in (score(value), few if interval is None else between(interval))
    ]
    return [found.backbone, str(each.n), *cells]


def costs_grid(costs: Sequence[CostRow]) -> Grid:
    """A line for each strategy, and for each kind of machine if there are several."""
    several = len({cost.machine for cost in costs}) > 1
    rows = [
        [
            cost.strategy,
            *([str(cost.machine)] if several else []),
            f"{cost.fit_s:.1f}",
            f"{cost.encode_s:.1f}",
            percent(cost.trainable_share, 2),
            MISSING if cost.tokens_per_s is None else f"{cost.tokens_per_s:.0f}",
            f"{cost.truncated} of {cost.texts}",
            MISSING if cost.peak_memory_mb is None else f"{cost.peak_memory_mb:.0f}",
        ]
        for cost in costs
    ]
    heads = ["Fit s", "Encode s", "Trained weights", "Tokens/s", "Truncated texts", "Peak MB"]
    return grid(["Strategy", *(["Machine"] if several else []), *heads], rows)
