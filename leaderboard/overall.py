"""All families together: the mean rank over them, each weighing the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.leaderboard.aggregates import mean_ranks
from thawbench.leaderboard.statistics import shown
from thawbench.leaderboard.tables import Row, Table

RANKED = ("ir", "sts", "fewshot", "noise", "shift", "forgetting")
"""By scores. Drops, forgetting, geometry, probes and seconds are shown and never ranked: a constant wins them."""


@dataclass(frozen=True)
class Standing:
    """One strategy that is complete in every family.

    Attributes:
        ranks: by family, its mean mid-rank over tasks among the strategies that stand here.
        groups: by family, its letters there.
        mean_rank: over families.
        place: from 1; the same for the same mean rank.
    """

    strategy: str
    ranks: tuple[float, ...]
    groups: tuple[str, ...]
    mean_rank: float
    place: int


@dataclass(frozen=True)
class Partial:
    """One strategy that does not stand: it is not complete in these families, or alone in being so."""

    strategy: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Overall:
    """The families that have a ranked table here, those of `RANKED` that have none, and who stands in all of them.

    One strategy alone has no rank.
    """

    families: tuple[str, ...]
    absent: tuple[str, ...]
    standings: tuple[Standing, ...]
    partial: tuple[Partial, ...]


def overall_of(tables: Sequence[Table]) -> Overall | None:
    """The overall board of one section's tables; None with fewer than two families. Controls have no place in it."""
    known = {table.title: table for table in tables if table.direction is not None}
    families = tuple(family for family in RANKED if family in known)
    if len(families) < 2:
        return None
    complete = {family: _contenders(known[family].complete) for family in families}
    seen = {name for family in families for name in (*complete[family], *_contenders(known[family].incomplete))}
    missing = {name: tuple(family for family in families if name not in complete[family]) for name in sorted(seen)}
    names = [name for name, lacking in missing.items() if not lacking]
    if len(names) < 2:
        names = []
    ranks = [_ranks([complete[family][name] for name in names], known[family]) for family in families]
    means = [math.fsum(each) / len(families) for each in zip(*ranks, strict=True)]
    standings = [
        Standing(
            strategy=name,
            ranks=tuple(each[at] for each in ranks),
            groups=tuple(complete[family][name].group for family in families),
            mean_rank=means[at],
            place=1 + sum(round(other, 9) < round(means[at], 9) for other in means),
        )
        for at, name in enumerate(names)
    ]
    partial = [Partial(name, lacking) for name, lacking in missing.items() if name not in names]
    return Overall(
        families,
        tuple(family for family in RANKED if family not in known),
        tuple(sorted(standings, key=lambda each: (each.place, each.strategy))),
        tuple(sorted(partial, key=lambda each: (len(each.missing), each.strategy))),
    )


def _contenders(rows: Sequence[Row]) -> dict[str, Row]:
    return {row.strategy: row for row in rows if not row.control}


def _ranks(rows: Sequence[Row], table: Table) -> tuple[float, ...]:
    positions = [at for at, column in enumerate(table.columns) if column.ranked]
    scores = [
        [shown(entry.summary.mean) for at in positions if (entry := row.entries[at]) and entry.summary] for row in rows
    ]
    return mean_ranks(scores, up=table.direction == "up")
