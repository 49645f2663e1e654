"""Which rows a sample seed takes, and which of those are dev."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from thawbench.errors import UserError

_DEV_SHARE = 0.2
_BINS = 5


def parse(name: str) -> tuple[str, int | None]:
    """A set's name and how many rows to take: `sst2@100` is (`sst2`, 100), and None stands for all.

    Raises:
        UserError: no number behind the @.
    """
    base, at, count = name.partition("@")
    if at and not re.fullmatch(r"[1-9][0-9]*", count):
        raise UserError(f"malformed name {name!r} (after @ stands a number of rows, as in {base}@100)")
    return base, int(count) if at else None


def spelled(base: str, taken: int | None) -> str:
    """The name that `parse` takes apart."""
    return base if taken is None else f"{base}@{taken}"


def least(classes: int) -> int:
    """The fewest rows that can be taken: one of each class to train on, and one for dev."""
    return max(2, classes + 1)


def order(name: str, sample_seed: int, rows: int) -> list[int]:
    """The order of a set's rows under a sample seed: a permutation of range(rows), of which every sample is a prefix.

    It comes from a generator seeded by the SHA-256 of ("sample", seed, name), whatever n is asked for.
    """
    return [int(index) for index in generator("sample", sample_seed, name).permutation(rows)]


def balanced_order(name: str, sample_seed: int, classes: Sequence[str]) -> list[int]:
    """Such an order in which every prefix holds the classes in numbers as equal as they can be.

    Rounds follow one another. Each takes the next row of every class that has one left, in an order of classes drawn
    for the round. So two classes differ by at most one row until one of them is used up.

    Args:
        classes: each row's class.
    """
    draws = generator("sample", sample_seed, name)
    waiting: dict[str, list[int]] = {label: [] for label in sorted(set(classes))}
    for row in draws.permutation(len(classes)):
        waiting[classes[row]].append(int(row))
    taken: list[int] = []
    turn = 0
    queues = list(waiting.values())
    while queues:
        taken.extend(queues[place][turn] for place in draws.permutation(len(queues)))
        turn += 1
        queues = [queue for queue in queues if len(queue) > turn]
    return taken


def dev_rows(strata: Sequence[str | float | None], share: float = _DEV_SHARE) -> frozenset[int]:
    """Positions of the dev rows among taken ones: a fifth, at least one, shared out among the strata by size.

    Scores count by fifths of their own order. The last rows of a stratum are dev. One row of each stratum stays in
    train, for which dev may stay under its share, so that no class is known to dev alone.

    Args:
        strata: each taken row's class, relation or score, in the sample's order; at least two.
        share: the part to hold out.
    """
    bins = _binned(strata)
    sizes = Counter(bins)
    spare = len(bins) - len(sizes)
    wanted = max(1, round(len(bins) * share))
    if spare:
        wanted = min(wanted, spare)
    quota = {stratum: size * wanted // len(bins) for stratum, size in sizes.items()}
    # largest remainders; sorted is stable, so ties go by first appearance
    by_claim = sorted(
        sizes,
        key=lambda stratum: (sizes[stratum] - quota[stratum] < 2, -(sizes[stratum] * wanted % len(bins))),
    )
    missing = wanted - sum(quota.values())
    while missing:
        for stratum in by_claim:
            if missing and (sizes[stratum] - quota[stratum] > 1 or not spare):
                quota[stratum] += 1
                missing -= 1
    chosen: set[int] = set()
    for position in reversed(range(len(bins))):
        if quota[bins[position]]:
            quota[bins[position]] -= 1
            chosen.add(position)
    return frozenset(chosen)


def generator(*key: str | int) -> np.random.Generator:
    """A generator of its own for what the key names, seeded by its SHA-256."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def _binned(strata: Sequence[str | float | None]) -> list[str | int | None]:
    if not all(isinstance(value, (int, float)) for value in strata):
        return [str(value) for value in strata]
    bins: list[str | int | None] = [None] * len(strata)
    ranked = sorted(range(len(strata)), key=lambda position: (strata[position], position))
    for rank, position in enumerate(ranked):
        bins[position] = rank * _BINS // len(strata)
    return bins
