"""Which rows a sample seed takes, and which of those are dev."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

import numpy as np

_DEV_SHARE = 5
_BINS = 5


def order(name: str, sample_seed: int, rows: int) -> list[int]:
    """The order of a set's rows under a sample seed: a permutation of range(rows), of which every sample is a prefix.

    It comes from a generator seeded by the SHA-256 of ("sample", seed, name), whatever n is asked for.
    """
    digest = hashlib.sha256(json.dumps(["sample", sample_seed, name]).encode()).digest()
    generator = np.random.default_rng(int.from_bytes(digest, "big"))
    return [int(index) for index in generator.permutation(rows)]


def dev_rows(strata: Sequence[str | float | None]) -> frozenset[int]:
    """Positions of the dev rows among taken ones: a fifth, at least one, shared out among the strata by size.

    Scores count by fifths of their own order. The last rows of a stratum are dev. A stratum's only row stays in train
    as long as there is any other to take, so that no class is known to dev alone.

    Args:
        strata: each taken row's class, relation or score, in the sample's order; at least two.
    """
    bins = _binned(strata)
    wanted = max(1, round(len(bins) / _DEV_SHARE))
    sizes = Counter(bins)
    quota = {stratum: size * wanted // len(bins) for stratum, size in sizes.items()}
    # largest remainders; sorted is stable, so ties go by first appearance
    by_claim = sorted(
        sizes,
        key=lambda stratum: (sizes[stratum] - quota[stratum] < 2, -(sizes[stratum] * wanted % len(bins))),
    )
    for stratum in by_claim[: wanted - sum(quota.values())]:
        quota[stratum] += 1
    chosen: set[int] = set()
    for position in reversed(range(len(bins))):
        if quota[bins[position]]:
            quota[bins[position]] -= 1
            chosen.add(position)
    return frozenset(chosen)


def _binned(strata: Sequence[str | float | None]) -> list[str | int | None]:
    if not all(isinstance(value, (int, float)) for value in strata):
        return [str(value) for value in strata]
    bins: list[str | int | None] = [None] * len(strata)
    ranked = sorted(range(len(strata)), key=lambda position: (strata[position], position))
    for rank, position in enumerate(ranked):
        bins[position] = rank * _BINS // len(strata)
    return bins
