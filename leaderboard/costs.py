"""What each strategy cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thawbench.leaderboard.mixture import grouped, one_line
from thawbench.suite.records import Record


@dataclass(frozen=True)
class CostRow:
    """What a strategy cost over its ok cells, whose records are `keys`.

    `fit_s` is the mean over its fits, `encode_s` the mean over its cells, `peak_memory_mb` the greatest of any cell.
    """

    strategy: str
    fit_s: float
    encode_s: float
    trainable_share: float | None
    tokens_per_s: float | None
    truncated: int
    texts: int
    peak_memory_mb: float | None
    keys: tuple[str, ...]


def costs_of(records: Sequence[Record]) -> tuple[CostRow, ...]:
    """A row for each strategy that has an ok cell, of records of one backbone."""
    scored = grouped([record for record in records if record.status == "ok"], lambda record: record.strategy)
    return tuple(_cost(name, group) for name, group in sorted(scored.items()))


def _cost(strategy: str, records: Sequence[Record]) -> CostRow:
    fits = {one_line(record.cell["adaptation"]["steps"]): record.usage.fit_s for record in records}
    usages = [record.usage for record in records]
    encode_s = math.fsum(usage.encode_s for usage in usages)
    total = sum(usage.total_parameters for usage in usages)
    peaks = [usage.peak_memory_mb for usage in usages if usage.peak_memory_mb is not None]
    return CostRow(
        strategy=strategy,
        fit_s=math.fsum(fits.values()) / len(fits),
        encode_s=encode_s / len(usages),
        trainable_share=sum(usage.trainable_parameters for usage in usages) / total if total else None,
        tokens_per_s=sum(usage.tokens for usage in usages) / encode_s if encode_s else None,
        truncated=sum(usage.truncated for usage in usages),
        texts=sum(usage.texts for usage in usages),
        peak_memory_mb=max(peaks, default=None),
        keys=tuple(sorted(record.key for record in records)),
    )
