"""`thawbench sweep`: plan, send what has no record and is not under way, judge what ended, and perhaps wait.

Records are the only channel back: a cell is done when its file is there, whatever a scheduler says.
"""

import contextlib
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from thawbench.slurm import snapshot, tasklog
from thawbench.slurm.costs import Costs
from thawbench.slurm.folder import LOGS, SweepFolder
from thawbench.slurm.glance import Glance, Glances
from thawbench.slurm.ledger import Accepted, Ended, Forgiven, Sent, Warmed, now
from thawbench.slurm.loss import loss_of
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.packing import Pack, pack
from thawbench.slurm.queue import Job, LocalQueue, QueueError, SlurmQueue, Task
from thawbench.slurm.submit import Local, Slurm, backend, job_environment
from thawbench.slurm.tasks import TaskFile, WantedCell
from thawbench.slurm.units import Unit, units_of
from thawbench.slurm.verdict import COUNTED, Evidence, Verdict, judge, suspect
from thawbench.slurm.warm import data_of, warm
from thawbench.suite.cells import Adaptation, Cell
from thawbench.suite.options import Settings
from thawbench.suite.profile import load_profile
from thawbench.suite.record_store import RecordStore
from thawbench.suite.runner import Runner
from thawbench.suite.session import plan_of, prepare
from thawbench.suite.store import AdaptationStore

_PASSING = re.compile(r"unable to contact|timed out|temporarily|connection|MaxSubmit|MaxJob", re.IGNORECASE)
"""What sbatch says when it would take the same job at another time."""


@dataclass(frozen=True)
class _Level:
    """What an array is given beyond the ordinary: how often memory and time are doubled, and cells one to a task."""

    memory: int = 0
    time: int = 0
    alone: bool = False


class Driver:
    """One run of the command, which holds the lock of its folder.

    Args:
        again: send failed cells, too.

    Attributes:
        flying: the cells of each task that waits or runs.
        stuck: cells whose tasks cannot begin, with the log that says why.
        cancelled: cells whose tasks someone cancelled: they wait for the next command.
        grace_s: how long after a task has left the queue its records may take to be seen here.
    """

    def __init__(self, asked: Settings, options: SweepOptions, *, again: bool = False) -> None:
        threads = asked.threads or options.cpus or 1
        self.asked = replace(asked, threads=threads)
        self.options = replace(options, cpus=options.cpus or threads)
        self.folder = SweepFolder(asked.results)
        self.flying: dict[Task, tuple[WantedCell, ...]] = {}
        self.jobs: dict[Task, Job] = {}
        self.stuck: dict[str, str] = {}
        self.cancelled: set[str] = set()
        self.grace_s = 0.0
        self._gone: dict[Task, float] = {}
        self._starts: Counter[str] = Counter()
        self._released: set[str] = set()
        self._renewed: set[str] = set()
        self._again = again

    def open(self) -> None:
        """Plan, and find out how things stand. Nothing is sent.

        Raises:
            UserError: a name that does not exist, data that cannot be had, no such cluster.
            QueueError: the scheduler does not answer.
        """
        self.folder.create()
        self.backend = backend(self.options, self.folder.path)
        prepare(self.asked.threads)
        self.cells = plan_of(self.asked).cells
        self.places = {cell.key: place for place, cell in enumerate(self.cells)}
        self.glances = Glances(self.folder.results)
        records = list(self.glances.all())
        costs = Costs(records)
        self.seconds = [costs.seconds(cell) for cell in self.cells]
        self.ledger = self.folder.ledger()
        self.folder.cancelled.unlink(missing_ok=True)
        self.folder.write_plan(self.cells, self.seconds)
        self.folder.write_request(self.asked, self.options)
        known = {record.key: record for record in records}
        self.attempts = {key: record.attempts for key, record in known.items() if record.failed}
        self._restate(known)
        self.todo = {place for place, cell in enumerate(self.cells) if self._missing(cell, known.get(cell.key))}
        if self._again:
            self.ledger.add(Forgiven(tuple(self.cells[place].key for place in sorted(self.todo))))
        self.flying = {task: self.folder.task(*task).cells for task in self.ledger.open_tasks()}
        for cells in self.flying.values():
            self.todo -= {self.places[cell.key] for cell in cells if cell.key in self.places}
        self.settle()
        # what was cancelled before this command is what it is to go on with
        self.todo |= {self.places[key] for key in self.cancelled if self._again or key not in self.attempts}
        self.cancelled.clear()

    @property
    def over(self) -> bool:
        """Whether nothing is under way and nothing is left to send."""
        return not self.flying and not self.todo

    def settle(self) -> bool:
        """Look at the queue, and judge what has left it; whether anything had.

        Raises:
            QueueError: the scheduler does not answer; nothing was concluded.
        """
        self.jobs = {task: job for task, job in self._queued().items() if self._is_ours(task, job)}
        self._adopt()
        gone = [task for task in self.flying if task not in self.jobs or self.jobs[task].over]
        undone = {task: self._undone(task) for task in gone}
        for task in gone:
            self._gone.setdefault(task, time.monotonic())
        gone = [task for task in gone if not undone[task] or time.monotonic() >= self._gone[task] + self.grace_s]
        accounts = SlurmQueue() if any(self._id(task) for task in gone) else self.backend.queue
        states = accounts.states(self._id(task) for task in gone if undone[task] and self._id(task))
        for task in gone:
            self._conclude(task, undone[task], states.get(self._id(task), set()))
        if isinstance(self.backend, Slurm):
            self._free_held(self.backend)
        return bool(gone)

    def send(self) -> int:
        """Send what is to be done; the number of tasks.

        Raises:
            QueueError: the scheduler does not take it; what it took before is on its way.
            UserError: data or code cannot be had.
        """
        if self.folder.cancelled.exists():
            self.cancelled |= {self.cells[place].key for place in self.todo}
            self.todo.clear()
        if not self.todo:
            return 0
        self._warm()
        count, most = 0, self.backend.most_tasks
        for level, packs in self._packed().items():
            for begin in range(0, len(packs), most):
                self._send_array(packs[begin : begin + most], level)
                count += len(packs[begin : begin + most])
        return count

    def tidy(self) -> None:
        """Drop checkpoints that tasks which were cut off left behind, and that no cell without a score needs."""
        left = {path.name for path in (self.folder.results / "adaptations").glob("[0-9a-f]*")}
        if not left or self.asked.keep_checkpoints:
            return
        store = AdaptationStore(self.folder.results)
        done: dict[str, Adaptation] = {}
        needed = set()
        for cell in self.cells:
            record = self.glances.get(cell.key)
            for prefix in cell.needed:
                if record is None or record.failed:
                    needed.add(prefix.key)
                elif prefix.key in left:
                    done[prefix.key] = prefix
        for key in done.keys() - needed:
            store.drop(done[key])

    def failed(self) -> bool:
        """Whether a cell of this plan is known to have failed; others may be in the folder."""
        failed = {record.key for record in self.glances.all() if record.failed}
        return not failed.isdisjoint(self.places)

    @cached_property
    def _code(self) -> snapshot.Snapshot:
        """What runs, in all tasks of this command: as it was when the first of them was sent."""
        strategies = self.asked.strategy or load_profile(self.asked.profile).strategies
        given = (strategies, self.asked.set, self.asked.profile)
        if self.options.cluster == "debug":
            return snapshot.in_place(*given)
        return snapshot.take(self.folder.path / "snapshots", *given)

    def _restate(self, known: dict[str, Glance]) -> None:
        """Record why cells are not applicable that have a record; a worker would take that for their answer."""
        barred = (cell for cell in self.cells if cell.reason and cell.key in known)
        stale = tuple(cell for cell in barred if self._missing(cell, known[cell.key]))
        runner = Runner(self.folder.results, stale, keep_checkpoints=True)  # others may need what they share
        for cell in stale:
            known[cell.key] = replace(known[cell.key], status=runner.run(cell).record.status, reason=cell.reason)

    def _missing(self, cell: Cell, record: Glance | None) -> bool:
        if record is None:
            return True
        if record.status == "not_applicable" or cell.reason:
            return record.status != "not_applicable" or record.reason != (cell.reason or record.reason)
        return record.failed and self._again

    def _packed(self) -> dict[_Level, list[Pack]]:
        """Units by what they need; cells that are blamed for anything run alone."""
        alone: dict[_Level, list[Pack]] = defaultdict(list)
        ordinary = []
        for place in sorted(self.todo):
            blame = self.ledger.blame.get(self.cells[place].key)
            if blame is None:
                ordinary.append(place)
            else:
                level = _Level(blame.verdicts["memory"], blame.verdicts["time"], alone=True)
                alone[level].append((Unit((place,), self.seconds[place]),))
        units = units_of(self.cells, self.seconds, ordinary)
        packs = {_Level(): pack(units, self.backend.slots, self.options.time * 60.0)} if units else {}
        return {**packs, **alone}

    def _send_array(self, packs: Sequence[Pack], level: _Level) -> None:
        options, asked, taken = self.options, self.asked, self._code
        name = self.folder.new_name()
        array = self.folder.array(name)
        array.mkdir()
        minutes = options.time * 2**level.time
        first = self.cells[packs[0][0].places[0]].adaptation.backbone
        paths, cells_of = [], []
        for index, packed in enumerate(packs):
            places = [place for unit in packed for place in unit.places]
            cells = tuple(self._wanted(place) for place in places)
            path = self.folder.task_path(name, index)
            TaskFile(
                results=str(self.folder.results),
                snapshot=str(taken.folder) if taken.hash else "",
                logs=str(self.folder.logs(name)),
                index=index,
                strategy_files=taken.strategies,
                sets=taken.sets,
                profile=taken.profile,
                backbone=asked.backbone,
                precision=first.precision,  # as planned: the machine that runs it may have chosen another
                device=asked.device,
                threads=asked.threads or 1,
                steps=asked.steps,
                keep_checkpoints=asked.keep_checkpoints,
                time_s=minutes * 60,
                signal_delay_s=options.signal_delay_s,
                cells=cells,
            ).write(path)
            paths.append(path)
            cells_of.append(cells)
        sent = Sent(name, options.cluster, len(paths), options.mem_gb * 2**level.memory, minutes, now())
        self.ledger.add(sent)
        for index, cells in enumerate(cells_of):
            self.flying[name, index] = cells
            self.todo -= {self.places[cell.key] for cell in cells}
        variables = job_environment(taken.folder, asked.threads or 1, options.cpus)
        try:
            self.ledger.add(Accepted(name, self.backend.start(sent, paths, variables)))
        except QueueError as error:
            if not level.alone or _PASSING.search(str(error)):
                raise
            # the cluster does not have what these cells would need now, and never will
            for index, cells in enumerate(cells_of):
                self.ledger.add(Ended(name, index, "lost", "", ""))
                del self.flying[name, index]
                for cell in cells:
                    self._give_up(self.cells[self.places[cell.key]], f"and more is not to be had: {error}")

    def _wanted(self, place: int) -> WantedCell:
        cell = self.cells[place]
        return WantedCell(cell.key, cell.strategy, cell.task_name, cell.seeds, self.attempts.get(cell.key, 0))

    def _warm(self) -> None:
        names = data_of(self.cells[place] for place in self.todo) - self.ledger.warmed
        if names:
            warm(names, self.asked.set)
            self.ledger.add(Warmed(tuple(sorted(names))))

    def _adopt(self) -> None:
        """Arrays whose driver was killed before it could note an id, or that sbatch made and did not tell of."""
        for name in {name for name, _ in self.flying} - set(self.ledger.ids):
            if self.ledger.sent[name].cluster != "slurm":
                continue
            ids = {job.id.partition("_")[0] for job in self.jobs.values() if job.name == name and not job.over}
            pickles = list((self.folder.array(name) / LOGS).glob("*_submitted.pkl"))
            if ids and len(pickles) == self.ledger.sent[name].tasks:
                self.ledger.add(Accepted(name, min(ids)))
            elif ids:
                SlurmQueue().cancel([name])  # its tasks would wait for what was never written

    def _queued(self) -> dict[Task, Job]:
        """The queue of this command's cluster, and that of another to which an earlier command sent tasks."""
        if isinstance(self.backend, Local) and self.folder.cancelled.exists():
            self.backend.forget()  # else `jobs` would start what waits
        queued = self.backend.jobs()
        others: dict[str, SlurmQueue | LocalQueue] = {"slurm": SlurmQueue(), "local": LocalQueue(self.folder.path)}
        for cluster in {self.ledger.sent[name].cluster for name, _ in self.flying} - {self.options.cluster, "debug"}:
            queued.update(((job.name, job.index), job) for job in others[cluster].jobs())
        return queued

    def _is_ours(self, task: Task, job: Job) -> bool:
        """Matched by name and, where SLURM gave one, by id."""
        name = task[0]
        known = self.ledger.ids.get(name)
        on_slurm = name in self.ledger.sent and self.ledger.sent[name].cluster == "slurm"
        return not on_slurm or known is None or job.id.partition("_")[0] == known

    def _id(self, task: Task) -> str:
        """SLURM's id of a task; empty if it has none."""
        known, (name, index) = self.ledger.ids.get(task[0], ""), task
        if self.ledger.sent[name].cluster != "slurm" or not known:
            return ""
        return f"{known}_{index}" if self.ledger.sent[name].tasks > 1 else known

    def _undone(self, task: Task) -> list[WantedCell]:
        return [cell for cell in self.flying[task] if not cell.answered(self.glances.get(cell.key))]

    def _conclude(self, task: Task, undone: list[WantedCell], states: set[str]) -> None:
        name, index = task
        if not undone:
            self.ledger.add(Ended(name, index, "done", "", ""))
            del self.flying[task]
            return
        job = self.jobs.get(task)
        log = tasklog.last_run(self.folder.logs(name), index)
        errors = self.folder.stderr(name, index)
        stderr = tasklog.of_last_run(tasklog.tail(errors[0], 200)) if errors else ""
        verdict = judge(Evidence(states | ({job.state} if job else set()), stderr, log))
        blamed = suspect([cell.key for cell in undone], log) if verdict in COUNTED else ""
        ours = verdict == "cancelled" and self._id(task) in self._renewed
        if ours or (verdict in COUNTED and not blamed):
            verdict = "stopped"
        told = str(log.path) if log else str(errors[0]) if errors else ""
        self.ledger.add(Ended(name, index, verdict, blamed, told))
        del self.flying[task]
        for cell in undone:
            self._put_back(cell.key, verdict, told)
        if blamed in self.places:
            blame = self.ledger.blame[blamed]
            if blame.tries > self.options.retries:
                self._give_up(self.cells[self.places[blamed]], f"at its last try of {blame.tries}")

    def _put_back(self, key: str, verdict: Verdict, told: str) -> None:
        """What becomes of a cell whose task ended without it."""
        if key not in self.places:
            return  # of an earlier command, which asked for more
        if verdict == "cancelled":
            self.cancelled.add(key)
            return
        if verdict == "stopped":
            self._starts[key] += 1
            if self._starts[key] > self.options.retries:
                self.stuck[key] = told
                return
        if self._again or key not in self.attempts:
            self.todo.add(self.places[key])

    def _give_up(self, cell: Cell, why: str) -> None:
        """Write the record that the cell's process could not."""
        store = RecordStore(self.folder.results)
        blame = self.ledger.blame[cell.key]
        store.write(loss_of(cell, store.read(cell.key), blame, why, self.asked.threads or 1))
        self.todo.discard(self.places[cell.key])

    def _free_held(self, cluster: Slurm) -> None:
        """A job that is held after a failed launch waits for ever: release it once, and then start it anew."""
        for task, job in self.jobs.items():
            if task in self.flying and job.held:
                with contextlib.suppress(QueueError):
                    if job.id in self._released:
                        self._renewed.add(job.id)
                        cluster.queue.cancel_ids([job.id])
                    else:
                        cluster.queue.release(job.id)
                self._released.add(job.id)
