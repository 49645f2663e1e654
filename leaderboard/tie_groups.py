"""Letters for what cannot be told apart: two share one if and only if they were compared and no difference shows."""

from collections.abc import Collection, Iterable, Sequence, Set
from itertools import combinations
from string import ascii_lowercase

from thawbench.leaderboard.comparison import Comparison


def tie_groups(placed: Sequence[str], comparisons: Collection[Comparison]) -> tuple[str, ...]:
    """For each strategy its letters, such as `ab`; numbers such as `3,27` where there are more groups than letters.

    The groups are the largest sets of which every pair was compared and not told apart, found by splitting and
    absorbing (Piepho 2004).
    A strategy that was compared with none has no letter, nor has anybody where nothing was compared.

    Args:
        placed: the best first; its groups come first.
    """
    compared = {name for each in comparisons for name in (each.first, each.second)}
    names = [name for name in placed if name in compared]
    alike = {frozenset((each.first, each.second)) for each in comparisons if not each.apart}
    apart = {pair for pair in map(frozenset, combinations(names, 2)) if pair not in alike}
    groups = {frozenset(names)} if names else set()
    for pair in sorted(apart, key=sorted):
        split = {group for group in groups if pair <= group}
        parts = {group - {name} for group in split for name in pair}
        kept = groups - split
        groups = kept | {part for part in parts if not any(part < other for other in kept | parts)}
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(groups, key=lambda group: sorted(places[name] for name in group))
    belongs = [[number for number, group in enumerate(ordered) if name in group] for name in placed]
    if len(ordered) <= len(ascii_lowercase):
        return tuple("".join(ascii_lowercase[number] for number in numbers) for numbers in belongs)
    return tuple(",".join(str(number + 1) for number in numbers) for numbers in belongs)


def groups_in(spelled: str) -> list[str]:
    """The groups that `tie_groups` gave one strategy, apart: `ab` is a and b, `27` is one."""
    return spelled.split(",") if spelled[:1].isdigit() else list(spelled)


def best_with_ties(best: Set[str], alike: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The best strategies, and those that were compared with one of them and not told apart from it.

    Args:
        alike: all pairs that were compared and not told apart.
    """
    tied = {name for pair in alike if not best.isdisjoint(pair) for name in pair}
    return frozenset(best) | tied
