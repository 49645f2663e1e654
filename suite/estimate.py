"""How long a plan would take: by what its fits and measurements took before, else by a guess that is told as one."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from thawbench.suite.cells import Cell, Step
from thawbench.suite.records import Record
from thawbench.suite.strict_json import canonical_json

_STEP_S, _ROW_S, _MEASURE_S = 1.5, 0.01, 20.0
"""Guesses where nothing like it was measured: a training step of what draws an order of batches, a train row of what
does not, and a measurement. They are those of all-MiniLM-L6-v2 on one thread of a CPU."""

_BATCH, _EPOCHS, _LEAST_STEPS, _WHOLE = 16, 10, 60, 10_000
"""Of a fit whose configuration does not say: batches of so many rows, so many epochs. A fit that was asked for so many
epochs has at least so many steps. A set without @n counts as 10,000 rows."""


class Basis(IntEnum):
    """What a number of seconds goes by, the better the less."""

    MEASURED = 0
    """The same strategy on the same set, or on the same task."""
    SCALED = 1
    """The same strategy on other sets, by the length of the fit; or the same task by other strategies."""
    GUESSED = 2


@dataclass(frozen=True)
class Seconds:
    """A time, and what it goes by."""

    value: float
    basis: Basis


@dataclass
class Estimate:
    """What some cells are expected to take.

    Attributes:
        cells, done: how many there are, and how many of them have their record already or are not applicable.
        fits: adaptations on the way that no cell before has trained.
        fit_s: of these, as of a cold cache.
        measure_s: of the cells that are left, vectors included.
        by_basis: all seconds, by what they go by.
    """

    cells: int = 0
    done: int = 0
    fits: int = 0
    fit_s: float = 0.0
    measure_s: float = 0.0
    by_basis: dict[Basis, float] = field(default_factory=lambda: dict.fromkeys(Basis, 0.0))

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.fit_s + self.measure_s

    def share(self, basis: Basis) -> float:
        """The part of the seconds that goes by this; 0 if there are none."""
        return self.by_basis[basis] / self.seconds if self.seconds else 0.0

    def add(self, other: "Estimate") -> None:
        """Count another one's cells in."""
        self.cells, self.done, self.fits = self.cells + other.cells, self.done + other.done, self.fits + other.fits
        self.fit_s, self.measure_s = self.fit_s + other.fit_s, self.measure_s + other.measure_s
        for basis, seconds in other.by_basis.items():
            self.by_basis[basis] += seconds


class Costs:
    """What fits and measurements took, out of records of one backbone on one kind of device.

    A record has the time of all its fits together; it is shared out evenly among the steps that looked at data.

    Args:
        records: of any backbones and devices.
        backbone: the hash of the weights that count.
        device: on which.
    """

    def __init__(self, records: Iterable[Record], backbone: str, device: str) -> None:
        self._fits: dict[tuple[str, ...], _Mean] = defaultdict(_Mean)
        self._measured: dict[tuple[str, ...], _Mean] = defaultdict(_Mean)
        for record in records:
            adaptation = record.cell["adaptation"]
            here = adaptation["backbone"]["weights"] == backbone and record.environment.device_kind == device
            if here and record.status in ("ok", "degenerate"):
                self._learn(record, [step for step in adaptation["steps"] if step["train"]])

    def _learn(self, record: Record, steps: list[dict[str, Any]]) -> None:
        usage = record.usage
        for step in steps:
            train, budget = step["train"]["name"], step["budget"]
            share = usage.fit_s / len(steps)
            length = steps_of(train, step["config"], budget["steps"], budget["epochs"])
            for group in _fits_like(step["strategy"], step["config"], train, budget):
                self._fits[group].add(share, length)
        # a fit that was done before was not waited for again; of vectors that were cached what they took is expected
        took = usage.encode_s + usage.evaluate_s
        waited = usage.wall_s - usage.fit_s
        if waited < took:
            waited = min(usage.wall_s, took) if took else usage.wall_s
        for group in _measured_like(record.strategy, record.task, record.family):
            self._measured[group].add(waited, 1)

    def fit(self, step: Step) -> Seconds:
        """Of one step of an adaptation."""
        if step.train is None:
            return Seconds(0.0, Basis.MEASURED)
        identity: Mapping[str, Any] = step.identity()
        train, budget = step.train.name, identity["budget"]
        length = steps_of(train, identity["config"], budget["steps"], budget["epochs"])
        groups = _fits_like(step.strategy.name, identity["config"], train, budget)
        for basis, group in zip((Basis.MEASURED, Basis.SCALED, Basis.SCALED), groups, strict=True):
            if group in self._fits:
                known = self._fits[group]
                return Seconds(known.each if basis is Basis.MEASURED else known.rate * length, basis)
        return Seconds(length * _STEP_S if "order" in step.streams else rows_of(train) * _ROW_S, Basis.GUESSED)

    def measurement(self, cell: Cell) -> Seconds:
        """Of a cell whose adaptation is there."""
        groups = _measured_like(cell.strategy, cell.task_name, cell.task.family)
        for basis, group in zip((Basis.MEASURED, Basis.SCALED, Basis.SCALED), groups, strict=True):
            if group in self._measured:
                return Seconds(self._measured[group].each, basis)
        return Seconds(_MEASURE_S, Basis.GUESSED)


@dataclass
class _Mean:
    """A running mean of seconds, and their rate by length."""

    seconds: float = 0.0
    length: float = 0.0
    count: int = 0

    def add(self, seconds: float, length: float) -> None:
        self.seconds, self.length, self.count = self.seconds + seconds, self.length + length, self.count + 1

    @property
    def each(self) -> float:
        return self.seconds / self.count

    @property
    def rate(self) -> float:
        return self.seconds / self.length


def estimate(cells: Iterable[Cell], done: Collection[str], costs: Costs) -> dict[tuple[str, str], Estimate]:
    """What the cells of each strategy and family are expected to take, in the order in which they come.

    A fit counts once, where the first cell needs it.

    Args:
        done: the keys of cells that have their record.
    """
    found: dict[tuple[str, str], Estimate] = {}
    trained: set[str] = set()
    for cell in cells:
        group = found.setdefault((cell.strategy, cell.task.family), Estimate())
        if cell.reason or cell.key in done:
            group.add(Estimate(cells=1, done=1))
            continue
        fits = [each for each in cell.needed if each.key not in trained and each.steps[-1].train]
        trained.update(each.key for each in fits)
        spent = [costs.fit(each.steps[-1]) for each in fits]
        measured = costs.measurement(cell)
        one = Estimate(1, 0, len(fits), sum(each.value for each in spent), measured.value)
        for each in (*spent, measured):
            one.by_basis[each.basis] += each.value
        group.add(one)
    return found


def total(parts: Iterable[Estimate]) -> Estimate:
    """All of them as one."""
    found = Estimate()
    for part in parts:
        found.add(part)
    return found


def rows_of(train: str) -> int:
    """How many rows a train set's name takes."""
    match = re.search(r"@([0-9]+)", train)
    return int(match[1]) if match else _WHOLE


def steps_of(train: str, config: Mapping[str, Any], steps: int | None = None, epochs: int | None = None) -> float:
    """How long a fit on a set is taken to be, in steps.

    Args:
        config: of the strategy, with `epochs`, `batch_size` and, as the most that there may be, `steps` or `max_steps`
            where it has them. With `steps` and no `epochs` there are just so many.
        steps, epochs: of the budget, which has its way.
    """
    if steps is not None:
        return max(steps, 1)
    each = rows_of(train) / (config.get("batch_size") or _BATCH)
    if epochs is not None:
        return epochs * each
    most = config.get("steps") or config.get("max_steps")
    if most and "epochs" not in config:
        return float(most)
    length = max((config.get("epochs") or _EPOCHS) * each, _LEAST_STEPS)
    return min(length, most) if most else length


def lasts(seconds: float) -> str:
    """A time as people say it."""
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}" if seconds < 10 * length else f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def basis_told(whole: Estimate) -> str:
    """How much of an estimate is measured, and how much is not."""
    parts = {
        Basis.MEASURED: "by what the same took before",
        Basis.SCALED: "scaled from other sets or strategies",
        Basis.GUESSED: f"guessed ({_STEP_S:g} s a training step, {_MEASURE_S:g} s a measurement, as on one CPU thread)",
    }
    return ", ".join(f"{100 * whole.share(basis):.0f} % {words}" for basis, words in parts.items())


def _fits_like(strategy: str, config: Any, train: str, budget: Any) -> tuple[tuple[str, ...], ...]:
    """From the nearest to the farthest."""
    asked, spelled = canonical_json(config), canonical_json(budget)
    return (strategy, asked, train, spelled), (strategy, asked), (strategy,)


def _measured_like(strategy: str, task: str, family: str) -> tuple[tuple[str, ...], ...]:
    """From the nearest to the farthest; the marks keep them apart."""
    return ("both", strategy, task), ("task", task), ("family", strategy, family)
