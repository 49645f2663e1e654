"""`thawbench tune`: a strategy's default for one field, by a small search that looks at dev scores and nothing else.

The search is the same for every strategy, so that none is favoured: at most 4 values of one field, the same number of
trials, at least 60 steps a fit. Its cells are ordinary cells in a results folder, so that it goes on where it stopped.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from thawbench.contracts import Json, Strategy
from thawbench.errors import UserError, unknown
from thawbench.names import parse_seeds
from thawbench.strategies.base import encoder_of, source_of
from thawbench.strategies.tuned import FOLDER, read_choices
from thawbench.suite.cells import Adaptation, Cell
from thawbench.suite.options import Settings
from thawbench.suite.plan import chosen_strategies
from thawbench.suite.records import Record
from thawbench.suite.session import Session, open_session

TASKS = ("fewshot/world/meals@100", "fewshot/world/topics@100")
SEEDS = "sample=100-102"
MOST_VALUES = 4
LEAST_STEPS = 60
FIRST_SAMPLE = 100
"""Sample seeds below are those of boards: what is chosen on their rows could not be judged on them."""


@dataclass(frozen=True)
class Trial:
    """One value's fit on one task and seed, as far as a choice may see it: there is no test score here.

    Attributes:
        steps: how many the fit took, by its trace; None if it left none, as nothing was trained by steps.
        key: of the record.
    """

    value: Json
    task: str
    seeds: str
    status: str
    dev_score: float | None
    steps: int | None
    key: str


@dataclass(frozen=True)
class Search:
    """One field's values on one backbone, and their trials: each value on the same tasks and seeds.

    Attributes:
        parameters: of the backbone.
        trials: by value, in the order of `values`.
    """

    strategy: str
    version: str
    field: str
    values: tuple[Json, ...]
    seeds: str
    backbone: str
    weights: str
    parameters: int
    trials: tuple[Trial, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order in which they were asked for."""
        return tuple(dict.fromkeys(trial.task for trial in self.trials))

    def scores(self, value: Json, task: str | None = None) -> list[float]:
        """The dev scores of one value, on one task or on all; empty if a trial there has none."""
        chosen = [trial for trial in self.trials if trial.value == value and task in (None, trial.task)]
        found = [trial.dev_score for trial in chosen if trial.dev_score is not None]
        return found if len(found) == len(chosen) else []

    def mean(self, value: Json) -> float | None:
        """The mean dev score over tasks and seeds; None if a trial has none, which takes the value out."""
        found = self.scores(value)
        return math.fsum(found) / len(found) if found else None

    @property
    def chosen(self) -> Json:
        """The value of the best mean dev score; of several, the one that was given first.

        Raises:
            UserError: no value has a dev score on every task and seed.
        """
        means = [(mean, value) for value in self.values if (mean := self.mean(value)) is not None]
        if not means:
            raise UserError(
                f"no value of {self.strategy}'s {self.field} has a dev score on every task and seed; see why with "
                f"`thawbench run --strategy {self.strategy}:{self.field}={self.values[0]} --task {self.tasks[0]}`"
            )
        return max(means, key=lambda pair: pair[0])[1]


def search(
    strategy: str,
    field: str,
    values: Sequence[str],
    settings: Settings,
    tell: Callable[[str], None] = lambda _: None,
    out: Path = FOLDER,
) -> tuple[Search, tuple[Record, ...]]:
    """Run every value on every task and seed, or find it recorded.

    Args:
        strategy: its plain name, or the path of its file.
        settings: the tasks, seeds and backbone; empty ones are `TASKS`, `SEEDS` and the profile's backbone. The cells
            go to the folder `tune` in the results, where no board finds them.
        tell: called with each cell's label before it runs.
        out: where the choice is to be written.

    Returns:
        The search, and the records that decided it.

    Raises:
        UserError: a search that would not be fair, or cannot be made: see the text.
    """
    configured = _variants(strategy, field, values)
    seeds = settings.seeds or SEEDS
    if any(triple.sample < FIRST_SAMPLE for triple in parse_seeds(seeds)):
        raise UserError(
            f"--seeds {seeds} draws samples that boards are made of; tune on samples from {FIRST_SAMPLE} on, "
            f"such as {SEEDS}"
        )
    session = open_session(
        replace(
            settings,
            strategy=tuple(f"{strategy}:{field}={value}" for value in values),
            task=settings.task or TASKS,
            seeds=seeds,
            results=settings.results / "tune",
        )
    )
    for cell in session.plan.cells:
        if cell.reason:
            raise UserError(f"{cell.strategy} cannot be tuned on {cell.task_name}: {cell.reason}")
    refuse_unfair(configured[0].name, len(session.plan.cells), session.plan.backbone.weights_hash, out)
    trials, records = [], []
    by_label = dict(zip(dict.fromkeys(cell.strategy for cell in session.plan.cells), configured, strict=True))
    for position, cell in enumerate(session.plan.cells):
        tell(cell.label)
        record = session.run(position).record
        trials.append(_trial(getattr(by_label[cell.strategy].config, field), cell, record, session.runner.results))
        records.append(record)
    first = session.plan.cells[0].adaptation
    found = Search(
        strategy=configured[0].name,
        version=first.steps[0].version,
        field=field,
        values=tuple(getattr(each.config, field) for each in configured),
        seeds=seeds,
        backbone=first.backbone.name,
        weights=first.backbone.weights_hash,
        parameters=_parameters(session),
        trials=tuple(trials),
    )
    return found, tuple(records)


def refuse_unfair(strategy: str, trials: int, weights: str, folder: Path = FOLDER) -> None:
    """Another strategy that was tuned on the same backbone had as many trials.

    Raises:
        UserError: it had more or fewer.
    """
    for path in sorted(folder.glob("*.toml")):
        for choice in read_choices(path.stem, folder):
            others = choice["trials"]
            count = len(others) if isinstance(others, list) else 0
            if path.stem != strategy and choice["weights"] == weights and count != trials:
                raise UserError(
                    f"{strategy} was given {trials} trials and {path.stem} had {count} on this backbone ({path}); "
                    "give every strategy the same number, or write to another folder with --out"
                )


def table(found: Search) -> tuple[list[str], list[list[str]]]:
    """Headers and rows: a value a row, a task a column; dev scores times 100, mean ± std over seeds."""
    chosen = found.chosen
    rows = []
    for value in found.values:
        steps = [trial.steps for trial in found.trials if trial.value == value and trial.steps is not None]
        mean = found.mean(value)
        rows.append(
            [
                str(value),
                *(_cell(found, value, task) for task in found.tasks),
                "–" if mean is None else f"{100 * mean:.2f}",
                "–" if not steps else "–".join(str(count) for count in sorted({min(steps), max(steps)})),
                "chosen" if value == chosen else "",
            ]
        )
    return [found.field, *found.tasks, "mean", "steps", ""], rows


def _cell(found: Search, value: Json, task: str) -> str:
    scores = found.scores(value, task)
    if not scores:
        words = {trial.status for trial in found.trials if trial.value == value and trial.task == task}
        return ", ".join(sorted(words - {"ok"})).replace("_", " ")
    spread = f" ± {100 * statistics.stdev(scores):.2f} ({len(scores)})" if len(scores) > 1 else ""
    return f"{100 * statistics.fmean(scores):.2f}{spread}"


def _variants(strategy: str, field: str, values: Sequence[str]) -> list[Strategy]:
    if "+" in strategy or ":" in strategy:
        raise UserError(f"{strategy} has options or is a row; tune one strategy by its plain name, as defaults are its")
    if not 2 <= len(values) <= MOST_VALUES:
        raise UserError(
            f"--values gives {len(values)}; a fair search has 2 to {MOST_VALUES}, the same number for every strategy"
        )
    (plain,) = chosen_strategies([strategy])
    known = [each.name for each in fields(plain.config)] if is_dataclass(plain.config) else []
    if field not in known:
        raise unknown(f"option of strategy {plain.name}", field, known)
    configured = chosen_strategies([f"{strategy}:{field}={value}" for value in values])
    found = [getattr(each.config, field) for each in configured]
    if None in found or len(set(found)) < len(values):
        raise UserError(f"--values {','.join(values)} must all be different, and none of them `none`")
    return configured


def _trial(value: Json, cell: Cell, record: Record, results: Path) -> Trial:
    steps = None
    if record.trace is not None:
        try:
            steps = pq.read_metadata(results / record.trace).num_rows  # a row a step
        except (OSError, ValueError) as error:
            raise UserError(
                f"the trace {results / record.trace} cannot be read ({error}); tune again with another --results"
            ) from None
    ok = record.status == "ok"
    if ok and record.dev_score is None:
        raise UserError(f"{cell.strategy} has no dev score on {cell.task_name}, so there is nothing to choose by")
    if record.status == "not_applicable":
        raise UserError(f"{cell.strategy} cannot be tuned on {cell.task_name}: {record.reason}")
    if ok and steps is not None and steps < LEAST_STEPS:
        raise UserError(
            f"{cell.label} took {steps} steps, and a fair trial at least {LEAST_STEPS}; give the strategy more epochs "
            "by default, or tune on more rows"
        )
    drawn = ",".join(f"{stream}={getattr(record.seeds, stream)}" for stream in sorted(record.draws))
    return Trial(value, cell.task_name, drawn, record.status, record.dev_score if ok else None, steps, record.key)


def _parameters(session: Session) -> int:
    (backbone,) = session.runner.store.trail(Adaptation(session.plan.backbone, ()))
    return source_of(encoder_of(backbone)).total_parameters
