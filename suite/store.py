"""The store of adaptations: each is fitted once, kept while cells need it, and found again by its key."""

import contextlib
import copy
import logging
import os
import secrets
import shutil
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from thawbench.contracts import Adapted, Seeds, Strategy, TrainSet
from thawbench.errors import UserError
from thawbench.strategies.adapted import load_state
from thawbench.strategies.backbone import load_backbone
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.tuned import version_with_choices
from thawbench.suite.cells import Adaptation, Step, Trail
from thawbench.tasks.trainsets import load_trainset

log = logging.getLogger(__name__)

_KEPT_IN_MEMORY = 4


class AdaptationStore:
    """Adaptations by key, in a folder of results.

    A checkpoint is written into a folder of its own and renamed into place, so that a reader never sees half of one;
    of two writers the first wins and both have the same bytes. Only what a step added to its start is stored.
    """

    def __init__(self, results: Path) -> None:
        self._checkpoints = results / "adaptations"
        self._traces = results / "traces"
        self._backbones: dict[BackboneInfo, Adapted] = {}
        self._memory: OrderedDict[str, Adapted] = OrderedDict()
        self._members: dict[str, dict[str, Adaptation]] = {}
        self._expected: Counter[str] = Counter()
        self.fitted = 0

    def trail(self, adaptation: Adaptation) -> Trail:
        """The backbone, then the adapted encoder after each step; what is missing is fitted and kept."""
        if adaptation.backbone not in self._backbones:
            self._backbones[adaptation.backbone] = load_backbone(adaptation.backbone)
        trail: list[Adapted] = [self._backbones[adaptation.backbone]]
        for prefix in adaptation.prefixes():
            trail.append(self._step(trail[prefix.begin], prefix))
        return tuple(trail)

    def trace_path(self, adaptation: Adaptation) -> Path:
        """Where the last step's trace lies, if it left one."""
        return self._traces / f"{adaptation.key}.parquet"

    def expect(self, adaptations: Iterable[Adaptation]) -> None:
        """Somebody will need each of these, and `release` it."""
        self._expected.update(adaptation.key for adaptation in adaptations)

    def release(self, adaptations: Iterable[Adaptation]) -> None:
        """Somebody has needed these: what nobody expects any more is dropped, and so is what its fit asked for."""
        for adaptation in adaptations:
            self._expected[adaptation.key] -= 1
            members = self._members.get(adaptation.key, {}).values()
            for each in (adaptation, *members):  # a member may be expected for itself, too
                if self._expected[each.key] == 0:
                    self.drop(each)

    def drop(self, adaptation: Adaptation) -> None:
        """Forget the adaptation's checkpoint; its trace stays."""
        self._memory.pop(adaptation.key, None)
        gone = self._checkpoints / f".{adaptation.key}.{secrets.token_hex(4)}.gone"
        with contextlib.suppress(OSError):
            (self._checkpoints / adaptation.key).rename(gone)  # whole or not there, for whoever reads it at this moment
        shutil.rmtree(gone, ignore_errors=True)

    def _step(self, start: Adapted, adaptation: Adaptation) -> Adapted:
        key = adaptation.key
        if key in self._memory:
            self._memory.move_to_end(key)
            return self._memory[key]
        adapted = self._restore(start, adaptation)
        if adapted is None:
            adapted = self._fit(start, adaptation)
        self._memory[key] = adapted
        while len(self._memory) > _KEPT_IN_MEMORY:
            self._memory.popitem(last=False)
        return adapted

    def _restore(self, start: Adapted, adaptation: Adaptation) -> Adapted | None:
        folder = self._checkpoints / adaptation.key
        try:
            state = load_state(folder)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            log.warning("checkpoint %s is damaged (%s); it is fitted again", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return adaptation.steps[-1].strategy.restore(start, state)

    def _fit(self, start: Adapted, adaptation: Adaptation) -> Adapted:
        step = adaptation.steps[-1]
        self.fitted += 1

        def adapt(strategy: Strategy, seeds: Seeds) -> Adapted:
            version = version_with_choices(str(strategy.version), strategy)
            other = Step(strategy, version, step.train, seeds, step.streams, step.budget)
            member = Adaptation(adaptation.backbone, (*adaptation.steps[:-1], other))
            self._members.setdefault(adaptation.key, {})[member.key] = member
            return self._step(start, member)

        # beside the results, so that a fit that was killed goes on from where it was
        training = self._checkpoints / f".{adaptation.key}.training"
        with checkpointing(training):
            with _config_kept(step.strategy):
                adapted = step.strategy.fit(start, _rows(adaptation), seeds=step.seeds, budget=step.budget, adapt=adapt)
            self._keep(adapted, adaptation)
        with contextlib.suppress(OSError):  # not there if nothing was trained, not empty if another run still does
            training.rmdir()
        return adapted

    def _keep(self, adapted: Adapted, adaptation: Adaptation) -> None:
        folder = self._checkpoints / adaptation.key
        fresh = folder.with_name(f".{adaptation.key}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            adapted.save(fresh)
            trace = fresh / "trace.parquet"
            if trace.exists():
                self._traces.mkdir(parents=True, exist_ok=True)
                trace.rename(self.trace_path(adaptation))
            try:
                fresh.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another run was first, with the same bytes
                    raise
        except OSError as error:
            raise UserError(
                f"cannot write the checkpoint {folder}: {error}; free some space or choose --results"
            ) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


@contextlib.contextmanager
def _config_kept(strategy: Strategy) -> Iterator[None]:
    """See that a fit leaves the config alone, which is what cells and records are known by.

    Raises:
        TypeError: it was changed; it is put back, so that the record of the failure is the cell's.
    """
    before = copy.deepcopy(strategy.config)
    try:
        yield
    finally:
        changed = strategy.config != before
        if changed:
            vars(strategy)["config"] = before
    if changed:
        raise TypeError(f"{strategy.name} changed its config while it was fitted; what is learnt goes into its state")


def _rows(adaptation: Adaptation) -> TrainSet:
    """What the last step is fitted on."""
    sample = adaptation.steps[-1].seeds.sample
    sets = [load_trainset(info.name, sample) for info in adaptation.fitted_on]
    if not sets:
        return TrainSet(name="none", version=0, fingerprint="")
    *earlier, own = sets
    return replace(own, earlier=tuple(earlier)) if earlier else own
