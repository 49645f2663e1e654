"""Every built-in strategy's scores on the embedded world with `tiny`, stored: a score that moves needs a new version.

    python -m thawbench.suite.pinned_scores                measure what is missing or out of date, and keep the rest
    python -m thawbench.suite.pinned_scores lora scl       the same for these alone
    python -m thawbench.suite.pinned_scores --check        measure what is stored once more, and compare
    python -m thawbench.suite.pinned_scores --page         measure nothing, only write docs/strategies.md

A row is named by its cell's key, which holds the versions and configurations of strategy, read-out and task. The same
key must give the same score: on one thread, to the last bit but for what CSV rounds. `tiny` comes out otherwise on
another processor or torch, and its rows cannot be compared there; they carry its hash. The exit code is 1 if something
is wrong, and 3 if nothing could be compared.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import groupby
from pathlib import Path

from thawbench.contracts import Signal
from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.suite.cells import Cell
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.suite.session import prepare
from thawbench.suite.strategy_page import ROOT, built_in, write_page
from thawbench.whole_file import replacing

FILE = ROOT / "tests" / "suite" / "pinned_scores.csv"
COMMAND = "python -m thawbench.suite.pinned_scores"
TASKS = ("fewshot/world/meals@100", "sts/world:train=world/nli@200", "sts/world:train=docs/world")
"""The first for all that can, the second for what learns from pairs, the last for what can do neither."""
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Pin:
    """One stored row.

    Attributes:
        cell: the first 16 digits of the cell's key.
        backbone: the first 12 of the hash of `tiny`'s weights.
        score: of the task's main metric, to 7 digits; or the record's status, where there is none.
        fit_s: all steps', on the machine that measured it.
        trained, held: weights that an optimiser moved, and that the result holds.
    """

    strategy: str
    task: str
    cell: str
    backbone: str
    metric: str
    score: str
    fit_s: str
    trained: str
    held: str

    @property
    def name(self) -> tuple[str, str]:
        """Strategy and task: there is one row of a name."""
        return self.strategy, self.task

    def differs(self, other: "Pin") -> bool:
        """Whether the scores are not the same."""
        try:
            return abs(float(self.score) - float(other.score)) > TOLERANCE
        except ValueError:
            return self.score != other.score


def read_pins(path: Path = FILE) -> list[Pin]:
    """All rows; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Pin(**row) for row in csv.DictReader(file)]


def write_pins(pins: Iterable[Pin], path: Path = FILE) -> None:
    """Write all rows by name, beside the file, and rename."""
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Pin)])
        writer.writerows(astuple(pin) for pin in sorted(pins, key=lambda pin: pin.name))


def planned(names: Sequence[str]) -> list[Cell]:
    """The cells that these strategies are pinned by, all seeds 0, in float32 on the CPU."""
    request = Request(tuple(names) or built_in(), TASKS, backbone="tiny", seeds="1", precision="float32", device="cpu")
    cells: list[Cell] = []
    for name, group in groupby(make_plan(request).cells, lambda cell: cell.strategy):
        labels, pairs, documents = ([cell for cell in found if not cell.reason] for found in _by_task(group))
        cells += [*labels, *(pairs if Signal.PAIRS in strategies.get(name).consumes else [])] or documents
    return cells


def _by_task(cells: Iterable[Cell]) -> list[list[Cell]]:
    found = list(cells)
    return [[cell for cell in found if cell.task_name == task] for task in TASKS]


def pin_of(cell: Cell, record: Record) -> Pin:
    """What is stored of a record.

    Raises:
        UserError: it failed.
    """
    if record.failure is not None:
        raise UserError(f"{cell.label} fails: {record.failure.type}: {record.failure.message}")
    main = record.main if record.status == "ok" else None
    score = record.status if main is None or main.value is None else f"{main.value:.7f}"
    usage = record.usage
    numbers = (f"{usage.fit_s:.1f}", str(usage.trainable_parameters), str(usage.total_parameters))
    return Pin(*named(cell), main.name if main else "", score, *numbers)


def named(cell: Cell) -> tuple[str, str, str, str]:
    """What tells a cell's row from others."""
    return cell.strategy, cell.task_name, cell.key[:16], cell.adaptation.backbone.weights_hash[:12]


def outdated(cells: Iterable[Cell], pins: Iterable[Pin]) -> list[Cell]:
    """The cells without a row of their key; one that was measured with another `tiny` counts as it is."""
    stored = {pin.name: pin for pin in pins}
    wanting = []
    for cell in cells:
        strategy, task, key, backbone = named(cell)
        pin = stored.get((strategy, task))
        if pin is None or (pin.backbone == backbone and pin.cell != key):
            wanting.append(cell)
    return wanting


def update(names: Sequence[str]) -> None:
    """Measure what has no row, or has it under another key, and write the page, which shows shares of weights."""
    cells = outdated(planned(names), read_pins())
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder), tuple(cells))
        for cell in cells:
            pin = pin_of(cell, runner.run(cell).record)
            # read again each time: another process may measure other strategies
            write_pins([*(other for other in read_pins() if other.name != pin.name), pin])
            print(f"{pin.strategy} {pin.task} {pin.metric} {pin.score}", flush=True)
    known = set(built_in())
    write_pins([pin for pin in read_pins() if pin.strategy in known and pin.task in TASKS])
    write_page(shares(read_pins()))


def check(names: Sequence[str], seconds: float) -> int:
    """Measure the rows whose fit took no more than `seconds` once more; the exit code."""
    cells, stored = planned(names), {pin.name: pin for pin in read_pins()}
    wanting = outdated(cells, stored.values())
    wrong = [f"{cell.label}: no score of this version is stored; run {COMMAND}" for cell in wanting]
    comparable = []
    for cell in cells:
        pin = stored.get(named(cell)[:2])
        # what only says that it does not apply compares nothing
        if pin and pin.metric and (pin.cell, pin.backbone) == named(cell)[2:] and float(pin.fit_s) <= seconds:
            comparable.append(cell)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder), tuple(comparable))
        for cell in comparable:
            pin = pin_of(cell, runner.run(cell).record)
            before = stored[pin.name]
            if pin.differs(before):
                told = f"{cell.label}: {pin.metric} was {before.score} and is {pin.score}"
                wrong.append(f"{told}; raise the version of what changed, and run {COMMAND}")
    print(*wrong, f"{len(comparable)} of {len(cells)} scores were compared", sep="\n")
    return 1 if wrong else 0 if comparable else 3


def shares(pins: Iterable[Pin]) -> dict[str, float]:
    """The share of the weights that each strategy trains, read-outs left out where the strategy trains more."""
    return {pin.strategy: int(pin.trained) / int(pin.held) for pin in pins if int(pin.held)}


def main() -> int:
    """The command line; see the module's first lines."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("strategy", nargs="*", help="strategies by name [all]")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="compare only what was fitted as fast")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write docs/strategies.md")
    asked = parser.parse_args()
    for name in asked.strategy:
        strategies.get(name)
    if asked.page:
        write_page(shares(read_pins()))
        return 0
    prepare(1)
    if asked.check:
        return check(asked.strategy, asked.seconds)
    update(asked.strategy)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"{COMMAND}: {error}")
