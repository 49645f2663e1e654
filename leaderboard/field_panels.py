"""One strategy along one of its fields, all else alike: scores and seconds, as of `drop_top:k=0` to `k=5`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thawbench.leaderboard.costs import machine_of, shared_machine
from thawbench.leaderboard.figure_cells import Line, Point, measure_of, natural
from thawbench.leaderboard.mixture import grouped, one_line, without_seeds
from thawbench.leaderboard.tables import Entry, entry_of
from thawbench.suite.records import Record

FEWEST = 3
"""Values that make a line."""


@dataclass(frozen=True)
class Rung:
    """One strategy at one value of the field.

    Attributes:
        seconds: of the fastest of its fits on the kind of machine that most values ran on: what else it did can only
            add. None if there is no such fit.
    """

    value: float
    entry: Entry
    seconds: float | None


@dataclass(frozen=True)
class Ladder:
    """A strategy at three values of the field or more.

    Attributes:
        options: as they were spelled, less the field, and less those that all ladders of the field have.
        rungs: by value.
    """

    name: str
    options: tuple[str, ...]
    rungs: tuple[Rung, ...]

    @property
    def strategy(self) -> str:
        """What sets it apart from the others."""
        return f"{self.name}:{','.join(self.options)}" if self.options else self.name

    @property
    def scores(self) -> Line:
        """The mean score at each value, with a gap where a run has none."""
        return Line(self.strategy, False, tuple(_point(rung) for rung in self.rungs))

    @property
    def seconds(self) -> Line:
        """The least seconds of a fit at each value, with a gap where it ran on another kind of machine."""
        times = [(rung.value, rung.seconds) for rung in self.rungs]
        return Line(self.strategy, False, tuple(None if y is None else Point(value, y, None, 1) for value, y in times))


@dataclass(frozen=True)
class FieldPanel:
    """One task, and one field of one strategy.

    Attributes:
        chance: the best constant answer's score; None where cells disagree, or there is no such.
        ladders: by their score at the least value that has one, the best first.
    """

    task: str
    strategy: str
    field: str
    metric: str
    chance: float | None
    ladders: tuple[Ladder, ...]

    @property
    def name(self) -> str:
        """`k of drop_top`."""
        return f"{self.field} of {self.strategy}"

    @property
    def values(self) -> tuple[float, ...]:
        """All at which something was measured."""
        return tuple(sorted({rung.value for ladder in self.ladders for rung in ladder.rungs}))


def field_panels(records: Sequence[Record]) -> tuple[FieldPanel, ...]:
    """A panel for each task and field at which a strategy has three values or more; of one backbone's records.

    Strategies in a row, as in `mlm+frozen_ebm`, have none, and neither have fields that are no numbers.
    """
    found: list[FieldPanel] = []
    for name, members in sorted(grouped(records, _name).items()):
        for field in sorted({field for record in members for field in _numbers(record)}):
            found += _of_field(name, field, [record for record in members if field in _numbers(record)])
    return tuple(found)


def _name(record: Record) -> str:
    return record.strategy.partition(":")[0]


def _numbers(record: Record) -> Mapping[str, float]:
    """The fields that are numbers, the defaults too; none of strategies in a row."""
    own = [step for step in record.cell["adaptation"]["steps"] if step["strategy"] == _name(record)]
    config = own[-1]["config"] if own and "+" not in record.strategy else {}
    return {field: value for field, value in config.items() if type(value) in (int, float)}


def _of_field(name: str, field: str, records: Sequence[Record]) -> list[FieldPanel]:
    by_task = grouped(records, lambda record: record.task)
    ladders = {task: _ladders(field, members) for task, members in by_task.items()}
    each_has = [set(ladder.options) for found in ladders.values() for ladder in found]
    shared = set.intersection(*each_has) if each_has else set()
    panels = []
    for task in sorted((task for task, found in ladders.items() if found), key=natural):
        found = [
            replace(each, options=tuple(option for option in each.options if option not in shared))
            for each in ladders[task]
        ]
        measure = measure_of(by_task[task])
        found.sort(key=lambda ladder: (measure.best_first(ladder.scores.there[0].mean), ladder.strategy))
        panels.append(FieldPanel(task, name, field, measure.metric, measure.chance, tuple(found)))
    return panels


def _ladders(field: str, records: Sequence[Record]) -> list[Ladder]:
    """One for each group that differs in this field and in seeds alone."""
    if len({_numbers(record)[field] for record in records}) < FEWEST:  # as nearly always
        return []
    found = []
    for group in grouped(records, lambda record: one_line(_but_for(field, record))).values():
        rungs = []
        by_value = grouped(group, lambda record: _numbers(record)[field])
        ran = {value: [each for each in members if each.status == "ok"] for value, members in by_value.items()}
        machine = shared_machine([machine_of(record) for record in members] for members in ran.values())
        for value, members in sorted(by_value.items()):
            if len({record.strategy for record in members}) == 1:  # else spelled in two ways: twice the same runs
                timed = [record.usage.fit_s for record in ran[value] if machine_of(record) == machine]
                seconds = min(timed, default=None)
                rungs.append(Rung(float(value), entry_of(members, lambda record: record.main), seconds))
        if sum(rung.entry.summary is not None for rung in rungs) >= FEWEST:
            name, _, options = group[0].strategy.partition(":")
            rest = (option for option in options.split(",") if option and not option.startswith(f"{field}="))
            found.append(Ladder(name, tuple(rest), tuple(rungs)))
    return found


def _but_for(field: str, record: Record) -> Mapping[str, Any]:
    cell = without_seeds(record)
    steps = [
        {**step, "config": {**step["config"], field: None}} if step["strategy"] == _name(record) else step
        for step in cell["adaptation"]["steps"]
    ]
    return {**cell, "adaptation": {**cell["adaptation"], "steps": steps}}


def _point(rung: Rung) -> Point | None:
    summary = rung.entry.summary
    return None if summary is None else Point(rung.value, summary.mean, rung.entry.interval, summary.n)
