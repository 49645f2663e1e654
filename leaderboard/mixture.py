"""What no mean may mix: two versions of one task or one strategy, two cells that differ in more than their
seeds, or two majors of one library."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from thawbench.errors import UserError
from thawbench.suite.records import Record

T = TypeVar("T")

READ_OUT = "readout"
"""The step that the suite appends where a task needs classes and the strategy gives vectors alone."""


_WAY_OUT = "Run the current version into another folder with --results, or move the older records away"


def refuse_mixtures(records: Sequence[Record]) -> list[list[Record]]:
    """All that a board refuses: mixed libraries, tasks and train sets anywhere, mixed strategies on one backbone.

    Returns:
        `by_backbone` of the records.

    Raises:
        UserError: as of the four below.
    """
    refuse_mixed_libraries(records)
    different = _but_for_seeds(records)
    refuse_mixed_tasks(different)
    refuse_mixed_train_sets(different)
    for group in by_backbone(different):
        refuse_mixed_strategies(group)
    return by_backbone(records)


def by_backbone(records: Sequence[Record]) -> list[list[Record]]:
    """The records of each backbone: weights, pooling, layer, length and precision."""
    groups = grouped(records, lambda record: one_line(record.cell["adaptation"]["backbone"]))
    return [group for _, group in sorted(groups.items())]


def refuse_mixed_tasks(records: Sequence[Record]) -> None:
    """Every task in one version, of one data set at one revision; and every family, whose tasks share a mean.

    Raises:
        UserError: it is not so; all such tasks are listed, with what differs.
    """
    _refuse("task", [(record.task, record, record.cell["task"]) for record in records])
    versions = [(record.family, record, {"version": record.cell["task"]["version"]}) for record in records]
    _refuse("family of tasks", versions)


def refuse_mixed_train_sets(records: Sequence[Record]) -> None:
    """Every train set in one version, with one content: what learned from it is compared as having seen the same rows.

    Raises:
        UserError: it is not so; all such train sets are listed, with what differs.
    """
    steps = [(record, step) for record in records for step in record.cell["adaptation"]["steps"]]
    taught = [(record, step["train"]) for record, step in steps if step.get("train")]
    _refuse("train set", [(train["name"], record, train) for record, train in taught])


def refuse_mixed_libraries(records: Sequence[Record]) -> None:
    """Every library in one major version.

    Raises:
        UserError: it is not so; all such libraries are listed, with the versions and a record of each.
    """
    majors: dict[str, dict[str, Record]] = {}
    seen = set()
    for record in records:
        packages = tuple(record.environment.packages.items())
        if packages in seen:  # as nearly all of a folder have the same
            continue
        seen.add(packages)
        for library, version in packages:
            majors.setdefault(library, {}).setdefault(version.partition(".")[0], record)
    mixtures = [
        f"{library} "
        + " and ".join(
            f"{record.environment.packages[library]} (record {record.key[:12]})" for _, record in sorted(found.items())
        )
        for library, found in sorted(majors.items())
        if len(found) > 1
    ]
    if mixtures:
        raise UserError(
            f"these results mix major versions of a library, which no mean may do: {'; '.join(mixtures)}. {_WAY_OUT}"
        )


def refuse_mixed_strategies(records: Sequence[Record]) -> None:
    """Every strategy in one version and configuration, and per task on the same train sets; of one backbone's records.

    Raises:
        UserError: it is not so; all such strategies are listed, with what differs.
    """
    _refuse("strategy", [(record.strategy, record, _methods(record)) for record in records])
    read_outs = [(record.strategy, record, _methods(record, READ_OUT)) for record in records]
    _refuse("strategy", [each for each in read_outs if each[2]])
    _refuse("strategy", [(f"{record.strategy} on {record.task}", record, _without_task(record)) for record in records])


def grouped(records: Iterable[T], by: Callable[[T], Any]) -> dict[Any, list[T]]:
    """Records, or what else there is, by what `by` says of them, in the order in which it first appears."""
    groups: dict[Any, list[T]] = {}
    for record in records:
        groups.setdefault(by(record), []).append(record)
    return groups


def one_line(value: Any) -> bytes:
    """The same bytes for the same part of a record's cell, whose keys are in order; 1, 1.0 and true are three."""
    return msgspec.json.encode(value)


def without_seeds(record: Record) -> Mapping[str, Any]:
    """The cell but for its seeds."""
    adaptation = record.cell["adaptation"]
    steps = [{**step, "seeds": None} for step in adaptation["steps"]]
    return {**record.cell, "adaptation": {**adaptation, "steps": steps}}


def _but_for_seeds(records: Sequence[Record]) -> list[Record]:
    """The first of those that differ in nothing but their seeds: what these mix, all mix."""
    alike = grouped(records, lambda record: (record.strategy, record.task, one_line(without_seeds(record))))
    return [group[0] for group in alike.values()]


def _without_task(record: Record) -> Mapping[str, Any]:
    """The same but for task and backbone too, which are looked at apart."""
    cell = without_seeds(record)
    return {**cell, "task": None, "adaptation": {**cell["adaptation"], "backbone": None}}


def _methods(record: Record, only: str = "") -> list[Any]:
    """The different steps in order of first appearance: a chain of train sets repeats them.

    Args:
        only: the one strategy to look at; else all but the read-out, which tasks of classes get and others do not.
    """
    parts = ("strategy", "version", "config", "budget")
    found: list[Any] = []
    for step in record.cell["adaptation"]["steps"]:
        method = {part: step.get(part) for part in parts}
        wanted = method["strategy"] == only if only else method["strategy"] != READ_OUT
        if wanted and method not in found:
            found.append(method)
    return found


def _refuse(kind: str, named: Iterable[tuple[str, Record, Any]]) -> None:
    """Refuse two identities of one name; each is given with a record that has it."""
    mixtures = []
    for name, group in sorted(grouped(named, lambda each: each[0]).items()):
        variants = [members[0] for members in grouped(group, lambda each: one_line(each[2])).values()]
        if len(variants) > 1:
            differing = _differences([identity for _, _, identity in variants])
            examples = ", ".join(sorted(record.key[:12] for _, record, _ in variants))
            mixtures.append(f"{name} differs in {', '.join(differing)} (records {examples})")
    if mixtures:
        raise UserError(
            f"these results mix versions of one {kind}, which no mean may do: {'; '.join(mixtures)}. {_WAY_OUT}"
        )


def _differences(values: Sequence[Any], where: str = "") -> list[str]:
    """The paths at which JSON values are not all the same; to `one_line`, 1 and 1.0 are two."""
    if len(set(map(one_line, values))) == 1:
        return []
    if all(isinstance(value, dict) for value in values):
        names = sorted({name for value in values for name in value})
        parts = [(f"{where}.{name}" if where else name, [value.get(name) for value in values]) for name in names]
    elif all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
        parts = [(f"{where}[{i}]", list(items)) for i, items in enumerate(zip(*values, strict=True))]
    else:
        return [where or "all"]
    return [path for name, items in parts for path in _differences(items, name)]
