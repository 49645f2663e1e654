"""A backbone, strategies and tasks that take no time, so that the suite's own machinery can be tested by itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    FloatArray,
    HiddenStates,
    Metric,
    Pair,
    Provides,
    Role,
    Rows,
    Scores,
    Seeds,
    Signal,
    State,
    TrainSet,
    TrainSetInfo,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.suite.cells import Adaptation, Cell, Step

INFO = BackboneInfo(
    name="fake",
    revision="",
    folder="",
    weights_hash="w" * 64,
    tokenizer_hash="t" * 64,
    config_hash="c" * 64,
    pooling="mean",
    layer=1,
    max_length=8,
    precision="float32",
    device="cpu",
)


class LengthSource:
    """A text's vector is its length, and 1."""

    key = "length"
    dim = 2
    total_parameters = 5

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        return np.array([[len(text), 1] for text in texts], dtype=np.float32).reshape(-1, 2)

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        raise NotApplicableError("no layers")


@dataclass(frozen=True)
class ShiftConfig:
    by: float = 1.0


class Shift(BaseStrategy):
    """Adds a number that depends on the init seed to every vector."""

    name = "shift"
    Config = ShiftConfig
    consumes = frozenset({Signal.PAIRS})
    draws = frozenset({"init"})
    fits = 0

    def learn(self, start: Any, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        type(self).fits += 1
        return Learned({"by": np.array([self.config.by + seeds.init], dtype=np.float32)}, trainable_parameters=1)

    def transform(self, vectors: FloatArray, state: State) -> FloatArray:
        shifted: FloatArray = vectors + state.tensors["by"]
        return shifted


@dataclass
class FirstComponent:
    """A task whose score is the first component of one text's vector, over 100."""

    name: str = "fake/first"
    family: str = "fake"
    version: int = 1
    train: tuple[str, ...] = ("pairs",)
    corpus: str | None = None
    needs: Provides = Provides.VECTORS
    metrics: tuple[Metric, ...] = (Metric("score", main=True), Metric("beside", lower=None, upper=None))
    revision: str = "r1"
    rows: str = "f" * 64
    evaluated: int = 0
    loaded: int = 0
    answer: Callable[[float], float] = field(default=lambda value: value / 100)

    def fingerprint(self) -> str:
        return self.rows

    def load(self) -> str:
        self.loaded += 1
        return "four"

    def evaluate(self, trail: Sequence[Adapted], data: str) -> Scores:
        self.evaluated += 1
        return Scores({"score": self.answer(float(trail[-1].encode([data])[0, 0])), "beside": 3.0})


PAIRS = TrainSetInfo("pairs", 1, "p" * 64, frozenset({Signal.PAIRS}), None)


def load_pairs(name: str, sample_seed: int) -> TrainSet:
    """The rows behind `PAIRS`."""
    assert name == "pairs"
    return TrainSet(name, 1, PAIRS.fingerprint, pairs=(Pair("a", "b"),), dev=Rows(pairs=(Pair("c", "d"),)))


def make_cell(task: FirstComponent, seeds: Seeds = Seeds(), by: float = 1.0, reason: str = "") -> Cell:  # noqa: B008
    """The cell of `Shift` on `pairs`, measured on `task`."""
    step = Step(Shift(ShiftConfig(by)), "1", PAIRS, seeds, frozenset({"sample", "init"}), Budget())
    return Cell(Adaptation(INFO, (step,)), task, "shift", task.name, seeds, control=False, reason=reason)
