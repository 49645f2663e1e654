"""Packing: units into array tasks that are worth starting."""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate

from thawbench.slurm.units import Unit

LEAST_S = 40.0
"""A task starts Python and its libraries, some 5 s, and a scheduler takes its time: less work than this is waste."""

GOOD_S = 120.0
MOST_TASKS = 5000
"""Beyond this many, tasks grow: a scheduler has other users, and a file system a number of files."""

_LAST_TURNS = 16
"""The shortest task is this part of what a slot has to do, so that slots end at about one time."""

Pack = tuple[Unit, ...]


def pack(units: Sequence[Unit], slots: int, limit_s: float) -> list[Pack]:
    """Units packed in their order into tasks, the longest task first.

    Work for less than 120 s a slot is shared out evenly, at least 40 s to a task. Of more, each task takes half of an
    even share of what is left, as in guided self-scheduling (Polychronopoulos and Kuck 1987): long tasks first, so that
    few are started, and short ones last, so that slots end together though lengths are only expected. Neighbours share
    data and vectors, so that the order is kept. A unit that is longer than a task has one to itself.

    Args:
        slots: tasks that can run at once.
        limit_s: what a task may take; the expected length stays under half of it, as it is only expected.
    """
    if not units:
        return []
    ends = list(accumulate(_lengths(sum(unit.seconds for unit in units), slots, limit_s)))
    packs: list[list[Unit]] = [[] for _ in ends]
    before = 0.0
    for unit in units:
        middle = before + unit.seconds / 2
        packs[min(bisect(ends, middle), len(ends) - 1)].append(unit)
        before += unit.seconds
    filled = [tuple(pack) for pack in packs if pack]
    return sorted(filled, key=lambda pack: -sum(unit.seconds for unit in pack))


def _lengths(total: float, slots: int, limit_s: float) -> list[float]:
    """What tasks are to take, in seconds, together at least `total`."""
    most = limit_s / 2
    if total <= GOOD_S * slots:
        count = max(1, int(max(min(slots, total / LEAST_S), total / most)))
        return [total / count] * count
    least = min(most, max(GOOD_S, total / slots / _LAST_TURNS, total / MOST_TASKS))
    lengths: list[float] = []
    left = total
    while left > least:
        lengths.append(min(most, max(least, left / (2 * slots))))
        left -= lengths[-1]
    if lengths and left < least / 2 and lengths[-1] + left <= most:
        lengths[-1] += left
    else:
        lengths.append(left)
    return lengths
