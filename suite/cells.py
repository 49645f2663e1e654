"""What is run: an adaptation is a backbone and its steps; a cell is an adaptation measured on one task.

Both are named by the SHA-256 of their canonical JSON, so that whatever changes a score changes the name. There may be
10^6 of them that differ in their seeds alone, so that what else is in that JSON is spelled once for all of these.
"""

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from thawbench.contracts import Adapted, Budget, Json, Seeds, Strategy, Stream, Task, TrainSetInfo
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.suite.records import SCHEMA, canonical_json

_MARK = "\0seeds"
"""In place of the seeds; no value that a name can spell holds it."""

_SORTED: tuple[Stream, ...] = ("init", "order", "sample")

Trail = tuple[Adapted, ...]
"""The backbone, then what each step made of it."""


@dataclass(frozen=True)
class Step:
    """One strategy on one train set, with the seeds that it draws on.

    Attributes:
        strategy: the strategy with its configuration.
        version: its version; of a strategy given as a file, the file's SHA-256.
        train: what it is fitted on; None for a strategy that looks at no data.
        streams: the seed streams that its result depends on.
    """

    strategy: Strategy
    version: str
    train: TrainSetInfo | None
    seeds: Seeds
    streams: frozenset[Stream]
    budget: Budget

    def same_method(self, other: "Step") -> bool:
        """Whether the two differ in nothing but what they are fitted on."""
        return replace(self, train=None).identity() == replace(other, train=None).identity()

    def identity(self) -> dict[str, Json]:
        """All that tells this step from another, as plain JSON."""
        train: Json = None
        if self.train is not None:
            train = {
                "name": self.train.name,
                "version": self.train.version,
                "fingerprint": self.train.fingerprint,
            }
        seeds = asdict(self.seeds)
        return {
            "strategy": self.strategy.name,
            "version": self.version,
            "config": asdict(self.strategy.config),
            "budget": asdict(self.budget),
            "train": train,
            "seeds": {stream: seeds[stream] for stream in sorted(self.streams)},
        }

    def with_seeds(self, seeds: Seeds) -> "Step":
        """The same step with other seeds."""
        other = Step(self.strategy, self.version, self.train, seeds, self.streams, self.budget)
        vars(other)["_around_seeds"] = self._around_seeds
        return other

    @property
    def canonical(self) -> str:
        """The identity in canonical JSON."""
        before, after = self._around_seeds
        drawn = ",".join([f'"{stream}":{getattr(self.seeds, stream)}' for stream in _SORTED if stream in self.streams])
        return f"{before}{{{drawn}}}{after}"

    @cached_property
    def _around_seeds(self) -> tuple[str, str]:
        before, _, after = canonical_json({**self.identity(), "seeds": _MARK}).partition(canonical_json(_MARK))
        return before, after


@dataclass(frozen=True)
class Adaptation:
    """A backbone and the steps taken from it, in order.

    A step of a strategy of `whole_chain` begins where the first one like it began, and is fitted on the sets of all of
    these.
    """

    backbone: BackboneInfo
    steps: tuple[Step, ...]

    def identity(self) -> dict[str, Json]:
        """All that tells this adaptation from another. Where the weights lie is not part of it; their hash is."""
        backbone: dict[str, Json] = {
            "weights": self.backbone.weights_hash,
            "tokenizer": self.backbone.tokenizer_hash,
            "config": self.backbone.config_hash,
            "pooling": self.backbone.pooling,
            "layer": self.backbone.layer,
            "max_length": self.backbone.max_length,
            "precision": self.backbone.precision,
        }
        return {"backbone": backbone, "steps": [step.identity() for step in self.steps]}

    def with_seeds(self, seeds: Seeds) -> "Adaptation":
        """The same steps with other seeds."""
        other = Adaptation(self.backbone, tuple(step.with_seeds(seeds) for step in self.steps))
        vars(other)["_before_steps"] = self._before_steps
        return other

    @property
    def canonical(self) -> str:
        """The identity in canonical JSON."""
        return f"{self._before_steps}{','.join(step.canonical for step in self.steps)}]}}"

    @cached_property
    def key(self) -> str:
        """SHA-256 of the identity."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @cached_property
    def _before_steps(self) -> str:
        return canonical_json(replace(self, steps=()).identity()).removesuffix("]}")

    @property
    def begin(self) -> int:
        """How many steps are done where the last one begins."""
        before = len(self.steps) - 1
        last = self.steps[-1]
        if not last.strategy.whole_chain:
            return before
        return next(place for place, step in enumerate(self.steps) if step.same_method(last))

    @property
    def fitted_on(self) -> tuple[TrainSetInfo, ...]:
        """The sets that the last step is fitted on, each once, its own last; none if it looks at no data."""
        last = self.steps[-1]
        alike = [step.train for step in self.steps[:-1] if last.strategy.whole_chain and step.same_method(last)]
        return (*dict.fromkeys(info for info in alike if info and info != last.train), *filter(None, [last.train]))

    def prefixes(self) -> tuple["Adaptation", ...]:
        """The adaptations on the way here, this one last; the bare backbone is not among them."""
        return tuple(Adaptation(self.backbone, self.steps[:length]) for length in range(1, len(self.steps) + 1))


@dataclass(frozen=True)
class Cell:
    """One adaptation, one task.

    Attributes:
        strategy: the strategies as they were spelled.
        task_name: the task as it was spelled, its `train=` included.
        seeds: as asked for; those that nothing draws on are not part of the key.
        control: whether the last strategy is a yardstick.
        reason: why this cell is not applicable; empty if it is.
        ends: of a task that follows a chain of train sets, how many steps are done after each of them.
        beside: what else the task measures; it follows from the adaptation and the task, and is no part of the key.
    """

    adaptation: Adaptation
    task: Task
    strategy: str
    task_name: str
    seeds: Seeds
    control: bool
    reason: str = ""
    ends: tuple[int, ...] = ()
    beside: tuple[Adaptation, ...] = ()

    def identity(self) -> dict[str, Json]:
        """What the key hashes."""
        return {
            "schema": SCHEMA,
            "adaptation": self.adaptation.identity(),
            "task": {
                "name": self.task.name,
                "version": self.task.version,
                "revision": self.task.revision,
                "fingerprint": self.task.fingerprint(),
            },
        }

    def with_seeds(self, seeds: Seeds) -> "Cell":
        """The cell of the same strategy and task with other seeds."""
        other = replace(
            self,
            adaptation=self.adaptation.with_seeds(seeds),
            seeds=seeds,
            beside=tuple(each.with_seeds(seeds) for each in self.beside),
        )
        vars(other)["_behind_adaptation"] = self._behind_adaptation
        return other

    @cached_property
    def key(self) -> str:
        """SHA-256 of the identity; names the record's file."""
        return hashlib.sha256(
            f'{{"adaptation":{self.adaptation.canonical}{self._behind_adaptation}'.encode()
        ).hexdigest()

    @cached_property
    def _behind_adaptation(self) -> str:
        identity = {key: value for key, value in self.identity().items() if key != "adaptation"}
        return "," + canonical_json(identity).removeprefix("{")

    def measured(self, trail: Trail) -> Trail:
        """What the task is given of the trail: the backbone and the state after each set of a chain, else all of it."""
        return (trail[0], *(trail[end] for end in self.ends)) if self.ends else trail

    @property
    def needed(self) -> tuple[Adaptation, ...]:
        """Every adaptation on the way to what is measured."""
        return tuple(prefix for end in (self.adaptation, *self.beside) for prefix in end.prefixes())

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Every train set on the way there, each once."""
        steps = (step for end in (self.adaptation, *self.beside) for step in end.steps)
        return tuple(dict.fromkeys(step.train.name for step in steps if step.train))

    @property
    def streams(self) -> frozenset[Stream]:
        """The seed streams that the score depends on."""
        return frozenset(stream for step in self.adaptation.steps for stream in step.streams)

    @property
    def label(self) -> str:
        """One line for people: strategy, task and, where they matter, seeds."""
        seeds = asdict(self.seeds)
        drawn = {stream: seeds[stream] for stream in ("sample", "init", "order") if stream in self.streams}
        if not drawn:
            return f"{self.strategy} {self.task_name}"
        if len(set(drawn.values())) == 1:
            return f"{self.strategy} {self.task_name} seed={next(iter(drawn.values()))}"
        return f"{self.strategy} {self.task_name} " + ",".join(f"{stream}={seed}" for stream, seed in drawn.items())
