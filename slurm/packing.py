"""Packing: units into array tasks that are worth starting."""

from collections.abc import Sequence

from thawbench.slurm.units import Unit

LEAST_S = 40.0
"""A task starts Python and its libraries, some 5 s, and a scheduler takes its time: less work than this is waste."""

GOOD_S = 120.0
MOST_TASKS = 5000
"""Beyond this many, tasks grow: a scheduler has other users, and a file system a number of files."""

Pack = tuple[Unit, ...]


def pack(units: Sequence[Unit], slots: int, limit_s: float) -> list[Pack]:
    """Units packed in their order into tasks of like length, the longest task first.

    As many tasks as give each about 120 s; while slots would stay idle by that, more, down to 40 s. Neighbours share
    data and vectors, so that the order is kept. A unit that is longer than a task has one to itself.

    Args:
        slots: tasks that can run at once.
        limit_s: what a task may take; the expected length stays under half of it, as it is only expected.
    """
    total = sum(unit.seconds for unit in units)
    if not units:
        return []
    count = max(total / GOOD_S, min(slots, total / LEAST_S), 2 * total / limit_s)
    count = min(count, max(MOST_TASKS, 2 * total / limit_s))
    count = max(1, min(int(count), len(units)))
    packs: list[list[Unit]] = [[] for _ in range(count)]
    before = 0.0
    for place, unit in enumerate(units):
        middle = (before + unit.seconds / 2) / total if total else (place + 0.5) / len(units)
        packs[min(int(middle * count), count - 1)].append(unit)
        before += unit.seconds
    filled = [tuple(pack) for pack in packs if pack]
    return sorted(filled, key=lambda pack: -sum(unit.seconds for unit in pack))
