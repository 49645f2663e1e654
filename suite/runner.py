"""Runs one cell and writes its record: the same `run_cell` under pytest, on the command line and on a cluster."""

import dataclasses
import datetime
import math
import platform
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from thawbench.contracts import Scores, Task
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.strategies.encode_meter import EncodeMeter, metered
from thawbench.strategies.precision import named_device
from thawbench.suite import machine
from thawbench.suite.cells import Cell, Trail
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Environment, Failure, MetricValue, Record, Status, Usage
from thawbench.suite.store import AdaptationStore
from thawbench.suite.time_limit import OverTime, time_limit
from thawbench.tasks.leaks import check_unseen
from thawbench.whole_file import replacing

_TASKS_IN_MEMORY = 8


@dataclass(frozen=True)
class Outcome:
    """What became of a cell in this run; `cached` if its record was there before."""

    cell: Cell
    record: Record
    cached: bool


class Runner:
    """Runs cells against one folder of results.

    Args:
        results: the folder; it is created, and must be writable.
        cells: all that will run, so that a checkpoint goes as soon as no cell needs it any more.
        fresh: run also what is recorded.
        keep_checkpoints: keep adapted weights.
        cell_timeout: seconds that a cell may take; without, as many as it likes.
    """

    def __init__(
        self,
        results: Path,
        cells: tuple[Cell, ...],
        *,
        fresh: bool = False,
        keep_checkpoints: bool = False,
        cell_timeout: float | None = None,
    ) -> None:
        self.results = results
        self.records = RecordStore(results)
        self.store = AdaptationStore(results)
        self._fresh = fresh
        self._keep_checkpoints = keep_checkpoints
        self._cell_timeout = cell_timeout
        self._cells = cells
        self.store.expect(adaptation for cell in cells for adaptation in cell.needed)
        self._loaded: OrderedDict[str, Any] = OrderedDict()

    def run(self, cell: Cell) -> Outcome:
        """The cell's record, out of the folder if it is there and final."""
        before = self.records.read(cell.key)
        if before is not None and settled(before, cell) and not self._fresh:
            outcome = Outcome(cell, before, cached=True)
        else:
            attempts = 1 if before is None else before.attempts + (before.status in ("failed", "timeout"))
            outcome = Outcome(cell, self._run(cell, attempts), cached=False)
        # what was trained before time ran out is where the same command goes on
        if not self._keep_checkpoints and outcome.record.status != "timeout":
            self.store.release(cell.needed)
        return outcome

    def _run(self, cell: Cell, attempts: int) -> Record:
        started = now()
        clock = time.perf_counter()
        machine.reset_peak_memory()
        draft = _Draft()
        status: Status = "ok"
        reason, failure = cell.reason, None
        if reason:
            status = "not_applicable"
        else:
            try:
                with time_limit(self._cell_timeout):
                    self._measure(cell, draft)
            except NotApplicableError as error:
                status, reason = "not_applicable", str(error)
            except DegenerateError as error:
                status, reason = "degenerate", str(error)
            except OverTime as error:
                status, failure = "timeout", Failure(type(error).__name__, str(error), "")
            except Exception as error:
                status, failure = "failed", Failure(type(error).__name__, str(error), traceback.format_exc())
        wall = time.perf_counter() - clock
        traces = [self.store.trace_path(prefix) for prefix in cell.adaptation.prefixes()]
        trace = next((path for path in reversed(traces) if path.exists()), None)
        record = record_of(
            cell,
            status,
            environment(cell),
            started,
            usage=draft.usage(wall),
            metrics=draft.metrics,
            curves=draft.scores.curves,
            dev_score=draft.dev_score,
            attempts=attempts,
            failure=failure,
            reason=reason,
            trace=str(trace.relative_to(self.results)) if trace else None,
            rows=self._write_rows(cell, draft.scores),
        )
        self.records.write(record)
        return record

    def _measure(self, cell: Cell, draft: "_Draft") -> None:
        data = self._data(cell.task)
        check_unseen(cell.task, data, cell.trained_on)
        trail = self.store.trail(cell.adaptation)
        draft.trail = trail
        beside = [self.store.trail(other)[-1] for other in cell.beside]
        clock = time.perf_counter()
        with metered() as meter:
            draft.meter = meter
            scores = cell.task.evaluate((*cell.measured(trail), *beside), data)
        draft.evaluate_s = max(0.0, time.perf_counter() - clock - meter.spent)
        draft.metrics = _values(cell.task, scores)
        draft.scores = scores

    def _data(self, task: Task) -> Any:
        # the next adaptation meets the same tasks again
        if task.name not in self._loaded:
            self._loaded[task.name] = task.load()
        self._loaded.move_to_end(task.name)
        while len(self._loaded) > _TASKS_IN_MEMORY:
            self._loaded.popitem(last=False)
        return self._loaded[task.name]

    def _write_rows(self, cell: Cell, scores: Scores) -> str | None:
        if not scores.rows:
            return None
        name = f"rows/{cell.key}.parquet"
        path = self.results / name
        table = pa.table(
            {
                "row": [row.row for row in scores.rows],
                "gold": [row.gold for row in scores.rows],
                "prediction": [row.prediction for row in scores.rows],
            }
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as beside:
                pq.write_table(table, beside)
        except OSError as error:
            raise UserError(
                f"cannot write {path}: {error}; make room or choose another folder with --results"
            ) from None
        return name

    def tidy(self) -> None:
        """Drop the checkpoints that no cell needs any more, whoever ran them."""
        if self._keep_checkpoints:
            return
        wanted: dict[str, bool] = {}
        adaptations = {}
        for cell in self._cells:
            record = self.records.read(cell.key)
            open_still = record is None or not settled(record, cell)
            for prefix in cell.needed:
                adaptations[prefix.key] = prefix
                wanted[prefix.key] = wanted.get(prefix.key, False) or open_still
        for key, adaptation in adaptations.items():
            if not wanted[key]:
                self.store.drop(adaptation)


@dataclass
class _Draft:
    """What is known of a cell so far: whatever stops it, the record says how far it came."""

    trail: Trail = ()
    meter: EncodeMeter = dataclasses.field(default_factory=EncodeMeter)
    scores: Scores = dataclasses.field(default_factory=lambda: Scores({}))
    metrics: tuple[MetricValue, ...] = ()
    evaluate_s: float = 0.0

    @property
    def dev_score(self) -> float | None:
        return self.trail[-1].state.cost.dev_score if self.trail else None

    def usage(self, wall_s: float) -> Usage:
        costs = [adapted.state.cost for adapted in self.trail]
        meter = self.meter
        return Usage(
            fit_s=sum(cost.fit_s for cost in costs),
            encode_s=meter.seconds,
            evaluate_s=self.evaluate_s,
            wall_s=wall_s,
            peak_memory_mb=machine.peak_memory_mb(),
            trainable_parameters=max((cost.trainable_parameters for cost in costs), default=0),
            total_parameters=costs[-1].total_parameters if costs else 0,
            texts=meter.texts,
            tokens=meter.tokens,
            truncated=meter.truncated,
            zero_vectors=meter.zero_vectors,
            tokens_per_s=meter.tokens / meter.seconds if meter.seconds and meter.tokens else None,
        )


def record_of(cell: Cell, status: Status, where: Environment, started: str, **found: Any) -> Record:
    """A cell's record.

    Args:
        started: ISO 8601, UTC.
        found: the record's other fields; which there must be hangs on the status.
    """
    return Record(
        key=cell.key,
        status=status,
        strategy=cell.strategy,
        task=cell.task_name,
        family=cell.task.family,
        backbone=cell.adaptation.backbone.name,
        control=cell.control,
        cell=cell.identity(),
        seeds=cell.seeds,
        draws=tuple(sorted(cell.streams)),
        environment=where,
        started=started,
        **found,
    )


def now() -> str:
    """The time of day for a record."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def environment(cell: Cell) -> Environment:
    """Where this process runs a cell."""
    commit, dirty = machine.commit()
    return Environment(
        python=platform.python_version(),
        packages=machine.package_versions(),
        commit=commit or None,
        dirty=dirty if commit else None,
        device=named_device(cell.adaptation.backbone.device),
        cpu=machine.processor(),
        threads=torch.get_num_threads(),
        precision=cell.adaptation.backbone.precision,
    )


def settled(record: Record, cell: Cell) -> bool:
    """Whether the record answers the cell for good, so that it need not be run."""
    if record.status == "not_applicable":
        return not cell.reason or record.reason == cell.reason
    return record.final and not cell.reason


def _values(task: Task, scores: Scores) -> tuple[MetricValue, ...]:
    for metric in task.metrics:
        value = scores.scalars.get(metric.name)
        if metric.main and (value is None or not math.isfinite(value)):
            raise DegenerateError(f"{metric.name} is {value}")
    finite = {name: value for name, value in scores.scalars.items() if math.isfinite(value)}
    return tuple(
        MetricValue(
            name=metric.name,
            value=finite.get(metric.name),
            direction=metric.direction,
            lower=metric.lower,
            upper=metric.upper,
            chance=metric.chance,
            main=metric.main,
        )
        for metric in task.metrics
    )


def trouble(outcome: Outcome, floors: dict[str, float]) -> str:
    """Why a cell is red; empty if it is not. A low score is a record, never a fault, unless a floor was set."""
    record = outcome.record
    if record.status in ("failed", "timeout"):
        failure = record.failure
        told = f"{failure.type}: {failure.message}" if failure else record.status
        return f"{record.status} (attempt {record.attempts}): {told}"
    if record.status == "degenerate" and not record.control:
        return f"degenerate: {record.reason}"
    floor = floors.get(record.task)
    main = record.main
    if floor is not None and main is not None and main.value is not None and main.value < floor:
        return f"{main.name} is {main.value:.4f}, under the floor of {floor:.4f} that the profile sets"
    return ""
