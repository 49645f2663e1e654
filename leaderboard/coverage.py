"""How often a 95 % t interval over seeds holds the true mean, where scores are not normal."""

from collections.abc import Mapping

SEEDS = (3, 5, 10)
FAILING = 0.2
"""The share of failed runs in the last of the shapes."""
FALSE_GROUPS = 0.07
"""The share of tables with 8 strategies at 3 seeds, all alike in that last shape, whose tie groups tell some apart."""

COVERAGE: Mapping[str, tuple[float, ...]] = {
    "normal": (0.95, 0.95, 0.95),
    "skewed as an exponential": (0.885, 0.883, 0.900),
    "two-humped, one run in five failing": (0.527, 0.666, 0.887),
}
"""By shape, at each number of `SEEDS`. All numbers here are simulated; tests/leaderboard does it again."""


def coverage_note() -> str:
    """The table as one sentence."""
    counts = ", ".join(map(str, SEEDS))
    shapes = "; ".join(f"{' / '.join(f'{100 * each:.0f}' for each in row)} if {name}" for name, row in COVERAGE.items())
    wrong = f"{100 * FALSE_GROUPS:.0f} % of tables of 8 strategies at 3 seeds tell apart what is the same"
    return (
        f"95 % t intervals over {counts} seeds hold the true mean in this many cases of 100: {shapes}; there {wrong}."
    )
