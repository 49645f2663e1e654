"""What strategies, tasks and the suite promise one another.

`strategies` and `tasks` never import each other: they meet here. Nothing in this module needs torch.

Training happens once, measuring happens many times: a `Strategy` turns an `Adapted` encoder and a `TrainSet` into
another `Adapted`; a `Task` reads a trail of them, from the backbone to what is measured, and gives `Scores`.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Input = str | tuple[str, str]
"""One thing to classify or to score: a text, or a pair of texts."""
Role = Literal["query", "document"]
Similarity = Literal["cosine", "dot", "neg_l1", "neg_l2"]
Relation = Literal["entailment", "neutral", "contradiction"]
Stream = Literal["sample", "init", "order"]
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Signal(enum.Enum):
    """What a train set can offer, and a strategy can learn from."""

    TEXTS = "texts"
    DOCUMENTS = "documents"
    PAIRS = "pairs"
    LABELS = "labels"


class Provides(enum.Enum):
    """What an adapted encoder can give, and a task can measure."""

    VECTORS = "vectors"
    CLASSES = "classes"
    LAYERS = "layers"


# ---- data -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassTarget:
    """Classes by name; a prediction's columns follow this order."""

    classes: tuple[str, ...]


@dataclass(frozen=True)
class ScoreTarget:
    """A number between `low` and `high`."""

    low: float
    high: float


Target = ClassTarget | ScoreTarget


@dataclass(frozen=True)
class Pair:
    """Two texts and how they stand to each other: a relation, a gold score, or (both None) a positive pair."""

    a: str
    b: str
    relation: Relation | None = None
    score: float | None = None


@dataclass(frozen=True)
class Labelled:
    """One item with its class by name (and, in a hierarchy, the path to it) or its gold score."""

    input: Input
    label: str | None = None
    score: float | None = None
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """Some of a set's rows; which of the two fields is filled depends on the set's signals."""

    labelled: tuple[Labelled, ...] = ()
    pairs: tuple[Pair, ...] = ()


def offered(labelled: Sized, pairs: Sized, texts: Sized, documents: Sized) -> frozenset[Signal]:
    """The signals that have rows."""
    rows = {Signal.LABELS: labelled, Signal.PAIRS: pairs, Signal.TEXTS: texts, Signal.DOCUMENTS: documents}
    return frozenset(signal for signal, each in rows.items() if each)


@dataclass(frozen=True)
class TrainSetInfo:
    """What the planner must know of a train set, without its rows."""

    name: str
    version: int
    fingerprint: str
    signals: frozenset[Signal]
    target: Target | None


@dataclass(frozen=True)
class TrainSet:
    """Everything that a strategy may see. Test rows are not reachable from here.

    Attributes:
        target: what the labels are; None for a set without labels. A set of scored pairs has a `ScoreTarget`.
        labelled, pairs: the rows to fit on. They and `dev` come from one order, drawn by the sample seed.
        texts: the unlabelled pool, the whole train split.
        documents: the pool as lists of consecutive sentences.
        dev: a fifth of the rows, held out to choose by.
        earlier: the sets before this one in a chain, for a strategy of `whole_chain`; no other gets them.
    """

    name: str
    version: int
    fingerprint: str
    target: Target | None = None
    labelled: tuple[Labelled, ...] = ()
    pairs: tuple[Pair, ...] = ()
    texts: tuple[str, ...] = ()
    documents: tuple[tuple[str, ...], ...] = ()
    dev: Rows = field(default_factory=Rows)
    earlier: tuple["TrainSet", ...] = ()

    @property
    def signals(self) -> frozenset[Signal]:
        """The signals that have rows here."""
        return offered(self.labelled, self.pairs, self.texts, self.documents)


# ---- adaptation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """Three independent streams: which rows, which starting weights, which order (batches and dropout)."""

    sample: int = 0
    init: int = 0
    order: int = 0


@dataclass(frozen=True)
class Budget:
    """How long to train; None leaves it to the strategy's config. Never seconds: scores would depend on load."""

    steps: int | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class Cost:
    """What one fit took: seconds as of a cold cache, weights trained and held, and the best score on dev."""

    fit_s: float = 0.0
    trainable_parameters: int = 0
    total_parameters: int = 0
    dev_score: float | None = None


@dataclass(frozen=True)
class TraceRow:
    """One line of a fit's trace.parquet; `gradient_norm` goes by block of weights."""

    step: int
    loss: float
    lr: float
    gradient_norm: Mapping[str, float]
    dev_score: float | None = None


@dataclass(frozen=True)
class State:
    """All that a step added to its start: named tensors, plain JSON, and what it cost."""

    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True)
class HiddenStates:
    """One text's inside: `states` (layers, tokens, dim) float32, `offsets` (tokens, 2) into its characters."""

    states: FloatArray
    offsets: NDArray[np.int64]


class WordGuesser(Protocol):
    """A masked-language-model head. It stays as it is, whatever later steps do to the encoder that it reads."""

    def loss(self, adapted: "Adapted", texts: Sequence[str]) -> float:
        """Cross-entropy in nats of words hidden in the texts: the same words for every encoder of one tokenizer.

        Raises:
            NotApplicableError: the vectors come from no encoder, or no word can be hidden.
        """
        ...


class Adapted(Protocol):
    """An encoder as some steps left it. A backbone is one with no steps and no heads."""

    @property
    def similarity(self) -> Similarity:
        """How two of its vectors are compared; greater is closer."""
        ...

    @property
    def heads(self) -> Mapping[str, Target]:
        """What it can predict, by the train set that the head was fitted on."""
        ...

    @property
    def provides(self) -> frozenset[Provides]:
        """What a task may ask it for."""
        ...

    @property
    def state(self) -> State:
        """What its last step added, enough to restore it on top of that step's start."""
        ...

    @property
    def trace(self) -> Sequence[TraceRow]:
        """How its last fit went, step by step; empty if nothing was trained or it was restored."""
        ...

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> FloatArray:
        """Vectors (texts, dim) in input order, dropout off. TF-IDF gives a sparse CSR matrix of the same shape."""
        ...

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        """Logits (inputs, classes) in the order of the head's target, or (inputs, 1) for a score."""
        ...

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        """Every layer of every token, one text at a time."""
        ...

    def word_guesser(self, texts: Sequence[str]) -> WordGuesser:
        """The head with which this checkpoint was pretrained; if it has none, a new one, fitted here on the texts.

        Raises:
            NotApplicableError: the vectors come from no encoder, or no word can be hidden.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the state as safetensors and JSON, and trace.parquet beside them."""
        ...


class Strategy(Protocol):
    """A way to adapt an encoder, with its configuration.

    Attributes:
        consumes: the signals of which it needs at least one; empty if it looks at no data.
        provides: what can come out; a task that needs something else is not applicable.
        draws: the seed streams that its result depends on, of `init` and `order`.
        asks_for: strategies that its fit asks `adapt` for; what was tuned for them is part of its version.
        tuned_as: the strategy whose tuned defaults hold for it as long as it has none of its own; empty for none.
        whole_chain: at each set of a chain it is fitted on all sets so far, from where the chain began.
        fits_on_corpus: fitted on the documents of the task at hand, where it has some, and not on its train set.
        control: a yardstick and no contender; it may be degenerate without being at fault.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    Config: ClassVar[type[Any]]
    consumes: ClassVar[frozenset[Signal]]
    provides: ClassVar[frozenset[Provides]]
    draws: ClassVar[frozenset[Stream]]
    asks_for: ClassVar[tuple[str, ...]]
    tuned_as: ClassVar[str]
    whole_chain: ClassVar[bool]
    fits_on_corpus: ClassVar[bool]
    control: ClassVar[bool]

    def __init__(self, config: Any) -> None: ...

    @property
    def config(self) -> Any:
        """A frozen dataclass of plain JSON types."""
        ...

    def provides_on(self, signals: frozenset[Signal]) -> frozenset[Provides]:
        """What comes out after a fit on a set with these signals; at most `provides`."""
        ...

    def fit(self, start: Adapted, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: "Adapt") -> Adapted:
        """Adapt `start` to `data`. The caller draws the sample; the strategy draws from `seeds.init` and `.order`.

        Raises:
            NotApplicableError: the rows cannot carry this objective (one class only, say).
        """
        ...

    def restore(self, start: Adapted, state: State) -> Adapted:
        """What `fit` returned, out of the state that it left: same vectors to the last bit."""
        ...


Adapt = Callable[[Strategy, Seeds], Adapted]
"""Another adaptation of the same start and data, out of the store if it is there."""


# ---- measurement ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A number's meaning: which way is better, what it can be, and what guessing gives."""

    name: str
    direction: Literal["up", "down", "none"] = "up"
    lower: float | None = 0.0
    upper: float | None = 1.0
    chance: float | None = None
    main: bool = False


@dataclass(frozen=True)
class Curve:
    """One measurement along an axis, such as a score per layer."""

    name: str
    axis: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class ScoredRow:
    """One test row by its id: never its text."""

    row: str
    gold: float | str
    prediction: float | str


@dataclass(frozen=True)
class Scores:
    """What a task found."""

    scalars: Mapping[str, float]
    curves: tuple[Curve, ...] = ()
    rows: tuple[ScoredRow, ...] = ()


class Task(Protocol):
    """One thing to measure.

    Attributes:
        name: as it is spelled on boards, without the train set, such as `sts/STS12`.
        train: the train sets in a row that strategies adapt to before they are measured here.
        corpus: the train set that holds this task's own documents, if it has any.
        needs: what it asks the adapted encoder for.
        metrics: all it can report; exactly one is `main`.
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def train(self) -> tuple[str, ...]: ...
    @property
    def corpus(self) -> str | None: ...
    @property
    def needs(self) -> Provides: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...

    @property
    def revision(self) -> str:
        """The pinned revision of its data."""
        ...

    def fingerprint(self) -> str:
        """SHA-256 of the rows in order, out of the manifest if they were seen before.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        ...

    def load(self) -> Any:
        """The rows, for `evaluate`.

        Raises:
            DataUnavailableError: not to be had, or not those of the fingerprint.
        """
        ...

    def evaluate(self, trail: Sequence[Adapted], data: Any) -> Scores:
        """Measure `trail[-1]`; `trail[0]` is the backbone. Never trains an encoder.

        If `train` names several sets, `trail[i]` is what there was after i of them; otherwise after i steps.

        Raises:
            DegenerateError: the vectors are constant or not finite, so that no metric may be taken.
        """
        ...


class TaskBeside(Task, Protocol):
    """A task that measures other adaptations beside its own, by the same strategies and seeds.

    Attributes:
        beside: for each of them its train sets in a row, all out of `train`, so that a cell's name holds all that they
            depend on. What there is after the last of them is given behind the trail, in this order.
    """

    @property
    def beside(self) -> tuple[tuple[str, ...], ...]: ...


class Family(Protocol):
    """A kind of task, by the word before the slash: makes tasks out of what stands behind it."""

    family: ClassVar[str]

    @classmethod
    def resolve(cls, body: str) -> Task:
        """The task `family/body`.

        Raises:
            UserError: there is none; the nearest names are given.
        """
        ...

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """The bodies that are worth listing; `resolve` may take more."""
        ...


class FamilyWithOptions(Family, Protocol):
    """A family whose tasks take options beside `train`, which is the planner's.

    What an option changes in a score, the task's name must show. One whose key begins with `train_` changes the train
    set, so that `train` does not go with it.
    """

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """The keys that may be given."""
        ...

    @classmethod
    def resolve(cls, body: str, options: Mapping[str, str] = ...) -> Task:
        """The task `family/body:options`.

        Raises:
            UserError: there is none, or a value that its option does not take.
        """
        ...


class Noiser(Protocol):
    """A way to spoil texts: typing errors, say, or a translation there and back.

    Attributes:
        version: raised when the same call gives other texts.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    def __call__(self, texts: Sequence[str], strength: float, seed: int) -> Sequence[str]:
        """The texts, each spoilt, in their order.

        Text i may depend on the texts given, on i, `strength` and `seed`, and on nothing else: no clock, no global
        random state.

        Args:
            strength: above 0, at most 1: the share of words, unless the noiser says what it means. At 0 nobody asks.
            seed: from 0, below 2 ** 32.
        """
        ...
