"""The commands that would run what a claim lacks."""

from collections.abc import Iterable

from thawbench.leaderboard.claim_verdict import PartVerdict
from thawbench.leaderboard.mixture import grouped

_PROFILE = "served"
"""Claims are about real data, whose train sets this profile names."""
_MOST_SEEDS = 30
"""More than this are a study of their own, and no command."""


def commands_of(part: PartVerdict) -> tuple[str, ...]:
    """What fills the gaps of a part, or, where there is none, runs as many seeds as would decide it."""
    gaps = [(gap.task, gap.strategy) for gap in part.cells.gaps]
    by_seeds = part.effect is not None and part.effect.unit == "seeds"
    if not gaps and by_seeds and part.needed is not None and part.needed <= _MOST_SEEDS:
        return _commands(((task, strategy) for strategy, task in part.part.cells), part.needed, part.part.backbone)
    return _commands(gaps, part.part.seeds, part.part.backbone)


def _commands(pairs: Iterable[tuple[str, str]], seeds: int, backbone: str) -> tuple[str, ...]:
    """One command for all strategies that lack the same tasks."""
    tasks = grouped(pairs, lambda pair: pair[1])
    together = grouped(tasks, lambda strategy: tuple(task for task, _ in tasks[strategy]))
    where = "" if backbone == "embedded" else f" --backbone {backbone}"
    return tuple(
        "thawbench run"
        + "".join(f" --strategy {strategy}" for strategy in strategies)
        + "".join(f" --task {task}" for task in names)
        + f" --profile {_PROFILE}{where} --seeds {seeds}"
        for names, strategies in together.items()
    )
