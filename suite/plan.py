"""Planning: from what was asked to the cells that answer it, each adaptation named once and shared.

Planning needs no weights, and no rows that were seen before.
"""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from thawbench.contracts import Budget, Provides, Seeds, Signal, Strategy, Stream, Task, TrainSetInfo
from thawbench.errors import UserError
from thawbench.names import (
    Spec,
    TaskName,
    configure,
    parse_backbone,
    parse_chain,
    parse_seeds,
    parse_strategies,
    parse_task,
    strategy_file,
)
from thawbench.registry import strategies as registered
from thawbench.strategies.backbone import resolve_backbone
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.base import BaseStrategy
from thawbench.strategies.plugin import load_strategy_file
from thawbench.strategies.readout_step import ReadoutStep
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.strategies.tuned import version_with_choices
from thawbench.suite.cells import Adaptation, Cell, Step
from thawbench.suite.profile import DEFAULT, Profile, load_profile
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.leaks import leak
from thawbench.tasks.set_catalog import register_set
from thawbench.tasks.trainsets import trainset_info


@dataclass(frozen=True)
class Request:
    """What was asked, in the words of the command line; empty fields are the profile's to fill."""

    strategies: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    profile: str = DEFAULT
    backbone: str = ""
    seeds: str = ""
    precision: str = "auto"
    device: str = "auto"
    budget: Budget = field(default_factory=Budget)
    sets: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellName:
    """What one cell is planned by, beside the request: strategy and task as a plan spells them, and the seeds."""

    strategy: str
    task: str
    seeds: Seeds


@dataclass(frozen=True)
class Plan:
    """Cells in the order in which they should run: those that share an adaptation stand together."""

    profile: Profile
    backbone: BackboneInfo
    cells: tuple[Cell, ...]

    @property
    def adaptations(self) -> int:
        """How many different adaptations must be trained or restored."""
        return len({cell.adaptation.key for cell in self.cells if not cell.reason})


@dataclass(frozen=True)
class _Row:
    """Strategies in a row, ready to be planned: the parsed names, and versions of those given as files.

    Attributes:
        name: of a row that has one of its own.
    """

    specs: tuple[Spec, ...]
    versions: tuple[str, ...]
    name: str = ""

    def __str__(self) -> str:
        return self.name or "+".join(map(str, self.specs))


def make_plan(request: Request) -> Plan:
    """All cells of a request.

    Raises:
        UserError: a name that does not exist, a malformed one, or data that cannot be had.
    """
    for path in request.sets:
        register_set(Path(path))
    profile = load_profile(request.profile)
    rows = _strategy_rows(request.strategies or profile.strategies)
    names = _task_names(request.tasks, profile)
    seeds = parse_seeds(request.seeds or profile.seeds)
    spelled = request.backbone or profile.backbone
    backbone = resolve_backbone(parse_backbone(spelled), precision=request.precision, device=request.device)

    infos: dict[str, TrainSetInfo] = {}
    cells: dict[str, Cell] = {}
    for name in names:
        task = resolve_task(name)
        for row in rows:
            first = _cell(backbone, row, task, name, seeds[0], request.budget, profile, infos)
            for triple in seeds:
                cell = first.with_seeds(triple)
                # seeds that nothing draws on give the same cell again
                cells.setdefault(cell.key, cell)
    # the cells of one adaptation stand together, adaptations in the order in which they were asked for
    strategy_rank = {str(row): rank for rank, row in enumerate(rows)}
    adaptation_rank: dict[str, int] = {}
    for cell in cells.values():
        adaptation_rank.setdefault(cell.adaptation.key, len(adaptation_rank))
    ordered = sorted(
        cells.values(), key=lambda cell: (strategy_rank[cell.strategy], adaptation_rank[cell.adaptation.key])
    )
    return Plan(profile, backbone, tuple(ordered))


def find_cells(request: Request, named: Iterable[CellName]) -> tuple[Cell, ...]:
    """The cells of these names, in their order, without planning the rest of the request.

    Of its strategies only those given as files are looked at, as their names alone do not lead to them.

    Raises:
        UserError: as `make_plan`.
    """
    for path in request.sets:
        register_set(Path(path))
    profile = load_profile(request.profile)
    spelled = request.backbone or profile.backbone
    backbone = resolve_backbone(parse_backbone(spelled), precision=request.precision, device=request.device)
    rows = {str(row): row for row in _strategy_rows(request.strategies)}
    tasks: dict[str, tuple[TaskName, Task]] = {}
    infos: dict[str, TrainSetInfo] = {}
    cells = []
    for each in named:
        if each.strategy not in rows:
            (rows[each.strategy],) = _expand(each.strategy)
        if each.task not in tasks:
            name = parse_task(each.task)
            tasks[each.task] = name, resolve_task(name)
        name, task = tasks[each.task]
        cells.append(_cell(backbone, rows[each.strategy], task, name, each.seeds, request.budget, profile, infos))
    return tuple(cells)


def _strategy_rows(asked: Iterable[str]) -> list[_Row]:
    rows: dict[str, _Row] = {}
    for text in asked:
        for row in _expand(text):
            for spec in row.specs:
                _strategy(spec)  # a wrong option is told before anything runs
            rows.setdefault(str(row), row)
    return list(rows.values())


def _expand(text: str) -> list[_Row]:
    if text == "all":
        return [_named(name) for name in (*registered.names(), *NAMED_ROWS)]
    if any(character in text for character in "*?["):
        known = (*registered.names(), *NAMED_ROWS)
        matched = fnmatch.filter(known, text)
        if not matched:
            raise UserError(f"no strategy matches {text!r}; known: {', '.join(known)}")
        return [_named(name) for name in matched]
    name, colon, _ = text.partition(":")
    if name in NAMED_ROWS:
        if colon:
            raise UserError(f"{name} is the row {NAMED_ROWS[name]} and takes no options; give them to its strategies")
        return [_named(name)]
    path, options = strategy_file(text)
    if path:
        name, version = load_strategy_file(path)
        version += _inherited(registered.get(name))
        first, *others = parse_strategies(name + options)
        return [_Row((first, *others), (version, *_built_in(tuple(others)).versions))]
    return [_built_in(parse_strategies(text))]


def _inherited(kind: type[Strategy]) -> str:
    """What a file's version has behind it: that of the built-in strategy which its own derives from, as `+3`."""
    others = (base for base in kind.__mro__ if "version" in vars(base) and base.__module__ != kind.__module__)
    owner = next(others, BaseStrategy)
    return "" if owner is BaseStrategy else f"+{vars(owner)['version']}"


def chosen_strategies(asked: Iterable[str]) -> list[Strategy]:
    """The last strategy of each row that was asked for, configured.

    Raises:
        UserError: a name that does not exist, or a wrong option.
    """
    return [_strategy(row.specs[-1]) for row in _strategy_rows(asked)]


def _named(name: str) -> _Row:
    if name in NAMED_ROWS:
        return replace(_built_in(parse_strategies(NAMED_ROWS[name])), name=name)
    return _built_in((Spec(name),))


def _built_in(specs: tuple[Spec, ...]) -> _Row:
    return _Row(specs, tuple(str(registered.get(spec.name).version) for spec in specs))


def _strategy(spec: Spec) -> Strategy:
    kind = registered.get(spec.name)
    return kind(configure(kind.Config, spec.without("train"), "strategy"))


def _task_names(asked: Sequence[str], profile: Profile) -> list[TaskName]:
    names: dict[str, TaskName] = {}
    for text in asked or profile.tasks:
        if any(character in text for character in "*?["):
            pattern, options = text, ""
            if not (matched := fnmatch.filter(profile.tasks, pattern)):  # a task's name may have options of its own
                pattern, _, options = text.partition(":")
                matched = fnmatch.filter(profile.tasks, pattern)
            if not matched:
                raise UserError(
                    f"no task of profile {profile.name} matches {text!r}; it has {', '.join(profile.tasks)}"
                )
            found = [parse_task(_with_options(match, options)) for match in matched]
        else:
            found = [parse_task(text)]
        names.update((str(name), name) for name in found)
    return list(names.values())


def _with_options(task: str, options: str) -> str:
    return f"{task}{',' if ':' in task else ':'}{options}" if options else task


def _train_of_profile(profile: Profile, task: Task) -> str | None:
    """What a profile has its family's tasks adapt to; a made-up set teaches made-up tasks alone.

    Else `run --task sts/STS12` would measure what the embedded world teaches, as `mini` is what runs by default.
    """
    chain = profile.train.get(task.family)
    of_world = task.name.partition("/")[2].startswith("world")
    return None if chain and chain.startswith("world/") and not of_world else chain


def _cell(
    backbone: BackboneInfo,
    row: _Row,
    task: Task,
    name: TaskName,
    seeds: Seeds,
    budget: Budget,
    profile: Profile,
    infos: dict[str, TrainSetInfo],
) -> Cell:
    own = dict(name.options).get("train")
    if own and task.family == "shift":  # from which domain is what its name says
        raise UserError(f"{task.name} names its train set itself; leave out train={own}")
    asked = own or _train_of_profile(profile, task)
    chain = parse_chain(asked) if asked else task.train
    if not chain:
        raise UserError(f"{task.name} names no train set for strategies to learn from; say one, as in {name}:train=nli")
    follows = _follows(task)
    if asked and (follows or any(key.startswith("train_") for key, _ in name.options)):
        raise UserError(f"{task.name} names its train sets itself; leave out train={asked}")
    way = _way(row, chain, task, seeds, budget, infos)
    # of a task that measures others beside: see contracts.TaskBeside
    beside = [_way(row, sets, task, seeds, budget, infos) for sets in getattr(task, "beside", ())]
    spelled = parse_task(task.name)
    if any(step.train for made in (way, *beside) for step in made.steps):  # else it is one cell whatever is asked for
        spelled = replace(spelled, options=spelled.options + tuple(pair for pair in name.options if pair[0] == "train"))
    return Cell(
        adaptation=Adaptation(backbone, way.steps),
        task=task,
        strategy=str(row),
        task_name=str(spelled),
        seeds=seeds,
        control=_strategy(row.specs[-1]).control,
        reason=way.reason,
        ends=way.ends if follows else (),
        beside=tuple(Adaptation(backbone, other.steps) for other in beside),
    )


@dataclass(frozen=True)
class _Way:
    """A row's steps along train sets.

    Attributes:
        ends: how many of them are done after each set.
        reason: why they cannot be taken, or would not lead to what the task measures; empty if they do.
    """

    steps: tuple[Step, ...]
    ends: tuple[int, ...]
    reason: str


def _follows(task: Task) -> bool:
    """Whether the task looks at what there is after every set of its chain."""
    return len(task.train) > 1


def _way(
    row: _Row, chain: Sequence[str], task: Task, seeds: Seeds, budget: Budget, infos: dict[str, TrainSetInfo]
) -> _Way:
    steps: list[Step] = []
    ends: list[int] = []
    reason = ""
    gives: frozenset[Provides] = frozenset()
    read_out = False
    once = len(row.specs) == 1 and not _follows(task)
    for position, train in enumerate(chain):
        for spec, version in zip(row.specs, row.versions, strict=True):
            strategy = _strategy(spec)
            own = spec.get("train")
            if own and position > 0:
                continue  # pinned to its own set, it has had its turn
            if own is None and strategy.fits_on_corpus and task.corpus:
                own = task.corpus
            info = _info(own or train, infos) if strategy.consumes else None
            if info is None and position > 0 and (spec is not row.specs[-1] or once):
                continue  # it learns nothing, and again would undo what those behind it have learned since
            reason = reason or _lacking(strategy, info) or (_lost(row, spec) if len(chain) > 1 else "")
            reason = reason or (leak(task.name, info.name) if info else "")
            steps.append(_step(strategy, version, info, seeds, budget))
            gives = strategy.provides_on(info.signals if info else frozenset())
        if task.needs is Provides.CLASSES and task.needs not in gives and Provides.VECTORS in gives:
            readout, info = ReadoutStep(), _info(train, infos)
            reason = reason or _lacking(readout, info) or leak(task.name, info.name)
            steps.append(_step(readout, str(readout.version), info, seeds, budget))
            read_out = True
        ends.append(len(steps))
    if task.needs not in gives and not read_out:
        given = ", ".join(sorted(what.value for what in gives))
        reason = reason or f"{task.name} measures {task.needs.value}; {_strategy(row.specs[-1]).name} gives {given}"
    return _Way(tuple(steps), tuple(ends), reason)


def _info(name: str, infos: dict[str, TrainSetInfo]) -> TrainSetInfo:
    if name not in infos:
        infos[name] = trainset_info(name)
    return infos[name]


def _lacking(strategy: Strategy, info: TrainSetInfo | None) -> str:
    if info is None or strategy.consumes & info.signals:
        return ""
    return f"{strategy.name} learns from {_list(strategy.consumes)}; {info.name} has {_list(info.signals)}"


def _lost(row: _Row, spec: Spec) -> str:
    """Why a strategy may not stand in its row on a chain: it begins where its first turn began, below later ones."""
    before = [other.name for other in row.specs[: row.specs.index(spec)] if not other.get("train")]
    if not before or not _strategy(spec).whole_chain:
        return ""
    return (
        f"{spec.name} begins where the chain does, so that all but the first turn of {before[0]} would be lost; "
        f"give {before[0]} one set of its own, as in {before[0]}:train=NAME"
    )


def _step(strategy: Strategy, version: str, info: TrainSetInfo | None, seeds: Seeds, budget: Budget) -> Step:
    version = version_with_choices(version, strategy)
    return Step(strategy, version, info, seeds, _streams(strategy, info), budget)


def _streams(strategy: Strategy, info: TrainSetInfo | None) -> frozenset[Stream]:
    streams = set(strategy.draws)
    # the unlabelled pool is the same for every sample seed; rows are not
    if info is not None and strategy.consumes & info.signals & {Signal.LABELS, Signal.PAIRS}:
        streams.add("sample")
    return frozenset(streams)


def _list(signals: Iterable[Signal]) -> str:
    return " or ".join(sorted(signal.value for signal in signals)) or "nothing"
