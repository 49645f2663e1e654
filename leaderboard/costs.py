"""What each strategy cost, on each kind of machine, which did nothing else meanwhile as far as its records can tell."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thawbench.leaderboard.mixture import grouped, one_line, without_seeds
from thawbench.suite.records import Record


@dataclass(frozen=True, order=True)
class Machine:
    """What seconds are of: those of one kind of machine say nothing of another's."""

    cpu: str
    device: str
    threads: int

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        return ", ".join([self.cpu, *([] if self.device == "cpu" else [self.device]), threads])


@dataclass(frozen=True)
class CostRow:
    """What a strategy cost over its ok cells on one kind of machine, whose records are `keys`.

    Of runs that differ in their seeds alone the fastest counts, as other work on the machine can only add to it:
    `fit_s` is the mean of these over what it was fitted on, `encode_s` over tasks, and `tokens_per_s` is theirs.
    `peak_memory_mb` is the greatest of any cell.
    """

    strategy: str
    machine: Machine
    fit_s: float
    encode_s: float
    trainable_share: float | None
    tokens_per_s: float | None
    truncated: int
    texts: int
    peak_memory_mb: float | None
    keys: tuple[str, ...]


def costs_of(records: Sequence[Record]) -> tuple[CostRow, ...]:
    """A row for each strategy and kind of machine that has an ok cell, of records of one backbone."""
    scored = [record for record in records if record.status == "ok"]
    groups = grouped(scored, lambda record: (record.strategy, machine_of(record)))
    return tuple(_cost(strategy, machine, group) for (strategy, machine), group in sorted(groups.items()))


def machine_of(record: Record) -> Machine:
    """Where it ran."""
    return Machine(record.environment.cpu, record.environment.device, record.environment.threads)


def shared_machine(groups: Iterable[Iterable[Machine]]) -> Machine | None:
    """What most groups ran on, so that most of their seconds compare; of equals the first by name.

    None if nothing ran.
    """
    counts = Counter(machine for group in groups for machine in set(group))
    return min(counts, key=lambda machine: (-counts[machine], machine), default=None)


def _cost(strategy: str, machine: Machine, records: Sequence[Record]) -> CostRow:
    cells = grouped(records, lambda record: one_line(without_seeds(record))).values()
    fits = grouped(cells, lambda group: one_line(without_seeds(group[0])["adaptation"]["steps"])).values()
    fit_s = [min(record.usage.fit_s for group in groups for record in group) for groups in fits]
    fastest = [min((record.usage for record in group), key=lambda usage: usage.encode_s) for group in cells]
    encode_s = math.fsum(usage.encode_s for usage in fastest)
    usages = [record.usage for record in records]
    total = sum(usage.total_parameters for usage in usages)
    peaks = [usage.peak_memory_mb for usage in usages if usage.peak_memory_mb is not None]
    return CostRow(
        strategy=strategy,
        machine=machine,
        fit_s=math.fsum(fit_s) / len(fit_s),
        encode_s=encode_s / len(fastest),
        trainable_share=sum(usage.trainable_parameters for usage in usages) / total if total else None,
        tokens_per_s=sum(usage.tokens for usage in fastest) / encode_s if encode_s else None,
        truncated=sum(usage.truncated for usage in usages),
        texts=sum(usage.texts for usage in usages),
        peak_memory_mb=max(peaks, default=None),
        keys=tuple(sorted(record.key for record in records)),
    )
