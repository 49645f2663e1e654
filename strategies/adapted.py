"""The one implementation of `contracts.Adapted`: where vectors come from, how they compare, what can be predicted."""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file, save_file
from torch import nn

from thawbench.contracts import (
    Cost,
    FloatArray,
    HiddenStates,
    Input,
    Provides,
    Role,
    Similarity,
    State,
    Target,
    TraceRow,
    WordGuesser,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.encode_meter import count


class VectorSource(Protocol):
    """Anything that turns texts into vectors; `key` is a hash of all that can change one of them."""

    @property
    def key(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def total_parameters(self) -> int: ...

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        """(texts, dim) float32, in input order."""
        ...

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        """Every layer of every token.

        Raises:
            NotApplicableError: this source has no layers.
        """
        ...


class Head(Protocol):
    """Something that predicts a train set's target."""

    @property
    def target(self) -> Target: ...

    def predict(self, adapted: "AdaptedEncoder", inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes), or (inputs, 1) for a score."""
        ...


@dataclass(frozen=True)
class Memory:
    """What a step keeps of its train set for steps on other sets; each kind is a class of its own."""

    train_set: str


MemoryT = TypeVar("MemoryT", bound=Memory)


@dataclass(frozen=True)
class AdaptedEncoder:
    """An encoder as some steps left it; see `contracts.Adapted`.

    Attributes:
        source: None if it makes no vectors.
        mlm_head: the `mlm_head.MlmHead` that a step has tuned; None leaves it to what lies beside the backbone.
        memory: what the steps so far have kept, the latest last.
    """

    source: VectorSource | None
    similarity: Similarity = "cosine"
    head_models: Mapping[str, Head] = field(default_factory=dict)
    state: State = field(default_factory=State)
    trace: tuple[TraceRow, ...] = ()
    has_layers: bool = False
    mlm_head: nn.Module | None = None
    memory: tuple[Memory, ...] = ()

    @property
    def heads(self) -> Mapping[str, Target]:
        """What each head predicts."""
        return {name: head.target for name, head in self.head_models.items()}

    @property
    def provides(self) -> frozenset[Provides]:
        """What a task may ask for."""
        offered = {
            Provides.VECTORS: self.source is not None,
            Provides.CLASSES: bool(self.head_models),
            Provides.LAYERS: self.has_layers,
        }
        return frozenset(what for what, there in offered.items() if there)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> FloatArray:
        """Vectors (texts, dim) in input order; an empty list gives (0, dim), and so does it keep its type."""
        source = self._source()
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"text {position} is {type(text).__name__}, not str: {text!r:.80}")
        vectors = source.encode(texts, role)
        if len(texts):
            count(zero_vectors=int(np.sum(np.asarray(abs(vectors).sum(axis=1)).ravel() == 0)))
        return vectors

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        """What the head fitted on train set `head` says of each input."""
        if head not in self.head_models:
            raise NotApplicableError(f"no head was fitted on {head}; there are {', '.join(self.head_models) or 'none'}")
        return self.head_models[head].predict(self, inputs)

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        """Every layer of every token, one text at a time."""
        return self._source().hidden_states(texts)

    def word_guesser(self, texts: Sequence[str]) -> WordGuesser:
        """The head that guesses hidden words; one that is fitted on the texts where there is none."""
        from thawbench.strategies.word_guesser import WordGuesser as OfEncoder  # it is built on this module

        return OfEncoder.of(self, texts)

    def remembered(self, kind: type[MemoryT], but: str) -> list[MemoryT]:
        """What the steps so far have kept of this kind, of all train sets but one."""
        return [kept for kept in self.memory if isinstance(kept, kind) and kept.train_set != but]

    def remembering(self, kept: Memory) -> "AdaptedEncoder":
        """The same with one memory more, in the place of an older one of its kind and train set."""
        others = (old for old in self.memory if (type(old), old.train_set) != (type(kept), kept.train_set))
        return dataclasses.replace(self, memory=(*others, kept))

    def save(self, folder: Path) -> None:
        """Write state.safetensors, state.json and, if something was trained, trace.parquet."""
        folder.mkdir(parents=True, exist_ok=True)
        save_state(self.state, folder)
        if self.trace:
            save_trace(self.trace, folder / "trace.parquet")

    def _source(self) -> VectorSource:
        if self.source is None:
            raise NotApplicableError("this adaptation makes no vectors")
        return self.source


def save_state(state: State, folder: Path) -> None:
    """Write a state as state.safetensors and state.json."""
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in state.tensors.items()}
    save_file(tensors, os.fspath(folder / "state.safetensors"))
    values = {"values": dict(state.values), "cost": dataclasses.asdict(state.cost)}
    (folder / "state.json").write_text(json.dumps(values, indent=1, sort_keys=True, allow_nan=False))


def load_state(folder: Path) -> State:
    """Read what `save_state` wrote; never a pickle.

    Raises:
        FileNotFoundError, ValueError: not there, or not whole.
    """
    read = json.loads((folder / "state.json").read_text())
    try:
        tensors = load_file(folder / "state.safetensors")
    except FileNotFoundError:
        raise
    except Exception as error:  # safetensors has an exception type of its own for a damaged file
        raise ValueError(f"{folder / 'state.safetensors'} is damaged: {error}") from error
    return State(tensors, read["values"], Cost(**read["cost"]))


def save_trace(trace: Sequence[TraceRow], path: Path) -> None:
    """Write a fit's trace: step, loss, lr, dev_score, and one gradient_norm column per block of weights."""
    blocks = list(dict.fromkeys(block for row in trace for block in row.gradient_norm))
    columns: dict[str, list[float | int | None]] = {
        "step": [row.step for row in trace],
        "loss": [row.loss for row in trace],
        "lr": [row.lr for row in trace],
        "dev_score": [row.dev_score for row in trace],
    }
    for block in blocks:
        columns[f"gradient_norm.{block}"] = [row.gradient_norm.get(block) for row in trace]
    pq.write_table(pa.table(columns), path)
