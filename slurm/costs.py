"""What a cell will take: what cells like it took, else a guess."""

from collections.abc import Iterable

from thawbench.slurm.glance import Glance
from thawbench.suite.cells import Cell, Step
from thawbench.suite.estimate import steps_of

_STEP_S = 0.15
"""A guess for a training step of a strategy that draws an order of batches: low, as a task that is longer than it was
taken to be saves itself and goes on, and one that is shorter has cost a start of Python for nothing."""

_READ_OUT_S = 2.0
"""A guess for all else in a cell."""


class Costs:
    """Seconds by strategy and task, or by what is nearest to that among the records.

    A cell's `wall_s` is what was waited for it, so that of cells that share a fit only the first one counts it.
    """

    def __init__(self, records: Iterable[Glance]) -> None:
        self._sums: dict[tuple[str, ...], tuple[float, int]] = {}
        for record in records:
            if record.status in ("ok", "degenerate"):
                for group in _groups(record.backbone, record.strategy, record.task, record.family):
                    total, count = self._sums.get(group, (0.0, 0))
                    self._sums[group] = total + record.wall_s, count + 1

    def seconds(self, cell: Cell) -> float:
        """What this cell is expected to take."""
        if cell.reason:
            return 0.01  # only written down
        name = cell.adaptation.backbone.name
        for group in _groups(name, cell.strategy, cell.task_name, cell.task.family):
            if group in self._sums:
                total, count = self._sums[group]
                return max(total / count, 0.001)
        return _READ_OUT_S + _STEP_S * sum(map(_length, cell.adaptation.steps))


def _length(step: Step) -> float:
    """How many training steps a step of an adaptation is taken to be."""
    if step.train is None or "order" not in step.streams:
        return 0.0
    return steps_of(step.train.name, vars(step.strategy.config), step.budget.steps, step.budget.epochs)


def _groups(backbone: str, strategy: str, task: str, family: str) -> tuple[tuple[str, ...], ...]:
    """From the nearest to the farthest; the marks keep a task and a family of one name apart."""
    return (backbone, strategy, "task", task), (backbone, strategy, "family", family), (backbone, strategy)
