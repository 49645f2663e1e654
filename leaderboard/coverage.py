"""How often a 95 % t interval over seeds holds the true mean, where scores are not normal."""

from collections.abc import Mapping

SEEDS = (3, 5, 10)
FAILING = 0.2
"""The share of failed runs in the last of the shapes."""
FALSE_GROUPS: Mapping[float, float] = {0.2: 0.07, 0.4: 0.28}
"""By the share of failed runs: how many tables of 8 strategies at 3 seeds, all alike in that last shape, have tie
groups that tell some apart. With 5 seeds or 10 it is under 5 %: 3 seeds that all failed look certain."""

COVERAGE: Mapping[str, tuple[float, ...]] = {
    "normal": (0.95, 0.95, 0.95),
    "skewed as an exponential": (0.885, 0.883, 0.900),
    "two-humped, one run in five failing": (0.527, 0.666, 0.887),
}
"""By shape, at each number of `SEEDS`. All numbers here are simulated; tests/leaderboard does it again."""


def coverage_note() -> str:
    """The tables as two sentences."""
    counts = ", ".join(map(str, SEEDS))
    shapes = "; ".join(f"{' / '.join(f'{100 * each:.0f}' for each in row)} if {name}" for name, row in COVERAGE.items())
    wrong = " and ".join(
        f"{100 * found:.0f} % if {100 * share:.0f} % of runs do" for share, found in FALSE_GROUPS.items()
    )
    return (
        f"95 % t intervals over {counts} seeds hold the true mean in this many cases of 100: {shapes}. Where runs "
        f"fail, 3 seeds are too few for letters: of tables of 8 strategies that are all the same, {wrong} tell "
        "some apart; with 5 seeds or more under 5 %."
    )
