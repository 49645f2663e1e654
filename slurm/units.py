"""Units: cells that share a fit, and so belong into one task, where it is done once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from thawbench.suite.cells import Adaptation, Cell


@dataclass(frozen=True)
class Unit:
    """Cells that run one after another.

    Attributes:
        places: of the cells in the plan, in the order in which they should run.
        seconds: that they are expected to take.
    """

    places: tuple[int, ...]
    seconds: float


def units_of(cells: Sequence[Cell], seconds: Sequence[float], places: Sequence[int]) -> list[Unit]:
    """The units of the cells at these places of a plan, in the order of their first cells; linear in the cells.

    What is shared is the first step that looks at data; the steps before it cost nothing. A strategy that asks for
    fits of another (`soup` asks for those of `finetune`) stands in one unit with them, and runs first: so they are
    kept until they have been measured themselves.
    """
    asked = {name for cell in cells for step in cell.adaptation.steps for name in step.strategy.asks_for}
    groups: dict[Hashable, list[int]] = {}
    for place in places:
        groups.setdefault(_shared(cells[place], asked), []).append(place)
    units = []
    for group in groups.values():
        if asked:
            group.sort(key=lambda place: not _asks(cells[place]))  # stable: else in the plan's order
        units.append(Unit(tuple(group), sum(seconds[place] for place in group)))
    return units


def _shared(cell: Cell, asked: set[str]) -> Hashable:
    steps = cell.adaptation.steps
    for place, step in enumerate(steps):
        if step.train is None:
            continue
        family = {step.strategy.name, *step.strategy.asks_for} & asked
        if family:
            before = Adaptation(cell.adaptation.backbone, steps[:place]).key
            return (before, min(family), step.train.name, step.train.fingerprint, step.seeds.sample)
        whole = place + 1 == len(steps)
        return cell.adaptation.key if whole else Adaptation(cell.adaptation.backbone, steps[: place + 1]).key
    return cell.key


def _asks(cell: Cell) -> bool:
    return any(step.strategy.asks_for for step in cell.adaptation.steps)
