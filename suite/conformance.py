"""The conformance kit: a strategy as the checks see it, and the run of all checks over it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thawbench.contracts import Adapted, Budget, Input, Provides, Rows, Seeds, Signal, State, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.feature_cache import FeatureCache, Features
from thawbench.tasks.trainsets import load_trainset

BUDGET = Budget(steps=4)
PROBES = ("The soup was not good.", "A train left the station.", "Who won?", "The soup was good, and the waiter kind.")

_SETS = {
    Signal.LABELS: "world/meals@40",
    Signal.PAIRS: "world/nli@60",
    Signal.TEXTS: "world/texts",
    Signal.DOCUMENTS: "docs/world",
}
_POOL = 120
"""Unlabelled texts, or documents: enough to fit on, and quickly."""


class Failed(Exception):
    """A check found a fault; the text is one line that says which."""


@dataclass(frozen=True)
class Verdict:
    """What one check found."""

    check: str
    outcome: Literal["passed", "failed", "not applicable"]
    why: str = ""


@dataclass(frozen=True)
class Observed:
    """All that can be seen of an adaptation, as bytes: its state (time aside), and by set or head what it answers."""

    tensors: tuple[tuple[str, str, tuple[int, ...], bytes], ...]
    values: str
    answers: tuple[tuple[str, bytes], ...]

    def difference(self, other: "Observed") -> str:
        """What is not the same; empty if all is."""
        named = (("state", (self.tensors, self.values), (other.tensors, other.values)),)
        unlike = [name for name, mine, its in named if mine != its]
        theirs = dict(other.answers)
        return ", ".join([*unlike, *(name for name, answer in self.answers if theirs.get(name) != answer)])


class _Forgetful(FeatureCache):
    """No cache: what was encoded before would hide a difference."""

    def get(self, key: str, texts: Any) -> Features | None:
        return None

    def put(self, key: str, texts: Any, features: Features) -> None:
        pass


class Subject:
    """A strategy, the backbone that it starts from, and a small train set for each signal that it consumes."""

    def __init__(self, strategy: Strategy, start: AdaptedEncoder) -> None:
        self.strategy = strategy
        self.start = uncached(start)
        wanted = [signal for signal in Signal if signal in strategy.consumes]
        self.sets = [small_set(signal) for signal in wanted] or [TrainSet("none", 0, "")]
        self.weights, self.vectors = self.start_now()
        self._fitted: dict[str, Adapted | NotApplicableError] = {}

    def fit(self, data: TrainSet, seeds: Seeds = Seeds(), budget: Budget = BUDGET) -> Adapted:  # noqa: B008
        """A fit of its own, from the start."""

        def adapt(other: Strategy, other_seeds: Seeds) -> Adapted:
            return other.fit(self.start, data, seeds=other_seeds, budget=budget, adapt=adapt)

        return self.strategy.fit(self.start, data, seeds=seeds, budget=budget, adapt=adapt)

    def start_now(self) -> tuple[list[tuple[bytes, bool]], bytes]:
        """The start's weights, whether each is trained, and its mode; and its vectors."""
        vectors = dense(self.start.encode(PROBES)).tobytes()
        if not isinstance(self.start.source, Encoder):
            return [], vectors
        model = self.start.source.model
        weights = [(p.detach().cpu().numpy().tobytes(), p.requires_grad) for p in model.parameters()]
        return [*weights, (b"mode", model.training)], vectors

    def fitted(self) -> Iterator[tuple[TrainSet, Adapted]]:
        """Each train set that the strategy can use, with the fit on it; each is fitted once.

        Raises:
            NotApplicableError: it can use none of them.
        """
        reasons = []
        for data in self.sets:
            if data.name not in self._fitted:
                try:
                    self._fitted[data.name] = self.fit(data)
                except NotApplicableError as error:
                    self._fitted[data.name] = error
            found = self._fitted[data.name]
            if isinstance(found, NotApplicableError):
                reasons.append(str(found))
            else:
                yield data, found
        if len(reasons) == len(self.sets):
            raise NotApplicableError(f"it fits on none of the kit's train sets: {'; '.join(reasons)}")

    def with_vectors(self) -> Iterator[tuple[TrainSet, Adapted]]:
        """As `fitted`, where vectors come out.

        Raises:
            NotApplicableError: there are none.
        """
        found = False
        for data, adapted in self.fitted():
            if Provides.VECTORS in adapted.provides:
                found = True
                yield data, adapted
        if not found:
            raise NotApplicableError("it makes no vectors")


Check = Callable[[Subject], None]


def small_set(signal: Signal) -> TrainSet:
    """Some rows of the embedded world that carry the signal."""
    data = load_trainset(_SETS[signal], 0)
    return replace(data, texts=data.texts[:_POOL], documents=data.documents[:_POOL])


def without_dev(data: TrainSet) -> TrainSet:
    """The same rows with nothing to choose by, so that the end of a fit counts and not its best moment."""
    return replace(data, dev=Rows())


def uncached(start: AdaptedEncoder) -> AdaptedEncoder:
    """The same encoder, which computes each vector anew."""
    if not isinstance(start.source, Encoder):
        return start
    encoder = start.source
    forgetful = _Forgetful(encoder.cache.folder)
    return replace(start, source=Encoder(encoder.info, encoder.model, encoder.tokenizer, forgetful))


def dense(vectors: Any) -> NDArray[Any]:
    """(texts, dim), whether it was sparse or not."""
    found: NDArray[Any] = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    return found


def inputs_of(data: TrainSet) -> list[Input]:
    """What a head fitted on the set can be asked."""
    return [row.input for row in data.labelled]


def observed(adapted: Adapted, data: TrainSet) -> Observed:
    """Look at an adaptation from all sides."""
    state = adapted.state
    answers = []
    if Provides.VECTORS in adapted.provides:
        answers.append(("vectors", dense(adapted.encode(PROBES)).tobytes()))
    if data.name in adapted.heads:
        answers.append(("logits", dense(adapted.predict(inputs_of(data), data.name)).tobytes()))
    return Observed(_tensors(state), json.dumps(dict(state.values), sort_keys=True), tuple(answers))


def _tensors(state: State) -> tuple[tuple[str, str, tuple[int, ...], bytes], ...]:
    arrays = sorted((name, np.ascontiguousarray(tensor)) for name, tensor in state.tensors.items())
    return tuple((name, str(array.dtype), array.shape, array.tobytes()) for name, array in arrays)


def load_start(backbone: str) -> AdaptedEncoder:
    """A backbone in float32 on the CPU, whose bounds the checks go by.

    Raises:
        UserError: no such backbone.
    """
    return load_backbone(resolve_backbone(backbone, precision="float32", device="cpu"))


def run_check(check: Check, subject: Subject) -> Verdict:
    """One check's verdict. Whatever a strategy raises is its fault, save that it cannot use what it was given."""
    name = check.__name__.replace("_", " ")
    try:
        check(subject)
    except NotApplicableError as error:
        return Verdict(name, "not applicable", str(error))
    except Failed as fault:
        return Verdict(name, "failed", str(fault))
    except Exception as error:
        return Verdict(name, "failed", f"{type(error).__name__}: {' '.join(str(error).split())}"[:300])
    return Verdict(name, "passed")
