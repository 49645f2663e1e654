"""Relevance against similarity: does a strategy that orders pairs as people do also find what is relevant?"""

from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.leaderboard.aggregates import mid_ranks
from thawbench.leaderboard.rank_correlation import RankCorrelation, rank_correlation
from thawbench.leaderboard.statistics import shown
from thawbench.leaderboard.tables import Row, Table

RELEVANCE, SIMILARITY = "ir", "sts"


@dataclass(frozen=True)
class Point:
    """One strategy on one backbone: its means over the tasks of both families, and its ranks among such strategies.

    Attributes:
        relevance_rank, similarity_rank: on its backbone, equal means sharing the middle; None of a control.
        keys: the records behind both means.
    """

    backbone: str
    strategy: str
    control: bool
    relevance: float
    similarity: float
    relevance_rank: float | None
    similarity_rank: float | None
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Agreement:
    """How alike the two families order the strategies of one backbone, or those of all; controls do not count."""

    backbone: str
    correlation: RankCorrelation


@dataclass(frozen=True)
class Relevance:
    """Every strategy that is complete in both families, the best at relevance first, and how alike the orders are."""

    points: tuple[Point, ...]
    agreements: tuple[Agreement, ...]


def relevance_of(sections: Sequence[tuple[str, Sequence[Table]]]) -> Relevance | None:
    """Both families side by side; None where no strategy is complete in both.

    Strategies of several backbones are also put together, if all of them were measured on the same tasks.

    Args:
        sections: of each backbone its name and its tables.
    """
    points: list[Point] = []
    agreements: list[Agreement] = []
    tasks = []
    for backbone, tables in sections:
        known = {table.title: table for table in tables if table.direction == "up"}
        if RELEVANCE not in known or SIMILARITY not in known:
            continue
        found = _points(backbone, known[RELEVANCE], known[SIMILARITY])
        if found:
            points += found
            agreements.append(_agreement(backbone, found))
            tasks.append(
                [column.task for name in (RELEVANCE, SIMILARITY) for column in known[name].columns if column.ranked]
            )
    if len(tasks) > 1 and all(each == tasks[0] for each in tasks):
        agreements.append(_agreement("all backbones", points))
    return Relevance(tuple(points), tuple(agreements)) if points else None


def _points(backbone: str, relevance: Table, similarity: Table) -> list[Point]:
    other = {row.strategy: row for row in similarity.complete}
    both = [(row, other[row.strategy]) for row in relevance.complete if row.strategy in other]
    contenders = [(first.strategy, _mean(first), _mean(second)) for first, second in both if not first.control]
    relevance_ranks = mid_ranks([mean for _, mean, _ in contenders], up=True)
    similarity_ranks = mid_ranks([mean for _, _, mean in contenders], up=True)
    places = {name: at for at, (name, _, _) in enumerate(contenders)}
    return [
        Point(
            backbone=backbone,
            strategy=first.strategy,
            control=first.control,
            relevance=first.mean or 0.0,
            similarity=second.mean or 0.0,
            relevance_rank=None if first.control else relevance_ranks[places[first.strategy]],
            similarity_rank=None if first.control else similarity_ranks[places[first.strategy]],
            keys=tuple(key for row in (first, second) for entry in row.entries if entry for key in entry.keys),
        )
        for first, second in both
    ]


def _mean(row: Row) -> float:
    """As it is printed: what prints alike ranks alike."""
    return shown(row.mean or 0.0)


def _agreement(backbone: str, points: Sequence[Point]) -> Agreement:
    counted = [point for point in points if not point.control]
    return Agreement(
        backbone,
        rank_correlation([shown(point.relevance) for point in counted], [shown(point.similarity) for point in counted]),
    )
