"""Sources of vectors that are no encoder: a map over another source's vectors, and a base for those without layers."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import nn

from thawbench.contracts import FloatArray, HiddenStates, Json, Role
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import VectorSource
from thawbench.strategies.encode_meter import count


def digest(*values: Json, tensors: Mapping[str, Any] | None = None) -> str:
    """SHA-256 of plain JSON values and named arrays: a key for whatever they determine."""
    sha = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name, tensor in sorted((tensors or {}).items()):
        array = np.ascontiguousarray(tensor)
        sha.update(f"{name} {array.dtype} {array.shape} ".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


@dataclass(frozen=True)
class MappedSource:
    """Another source's vectors through a function of the vectors alone; its layers stay as they are.

    Attributes:
        map: (texts, inner dim) to (texts, dim); it must take zero rows too.
        map_key: a hash of all that the map depends on.
        parameters: how many numbers the map holds.
        module: the map as a network in float32, if it is one: later steps can then train through it.
    """

    inner: VectorSource
    map: Callable[[FloatArray], FloatArray]
    map_key: str
    parameters: int = 0
    module: nn.Module | None = None

    @cached_property
    def key(self) -> str:
        return digest(self.inner.key, self.map_key)

    @cached_property
    def dim(self) -> int:
        return int(self.map(np.zeros((0, self.inner.dim), np.float32)).shape[1])

    @property
    def total_parameters(self) -> int:
        return self.inner.total_parameters + self.parameters

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        vectors = self.inner.encode(texts, role)
        started = time.perf_counter()
        mapped = self.map(vectors)
        count(seconds=time.perf_counter() - started)
        return mapped

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        return self.inner.hidden_states(texts)


class LayerlessSource:
    """A base for sources that turn texts into vectors without a network; `vectors` is what they define."""

    total_parameters: int = 0

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        """(texts, dim) float32; dense or CSR."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        started = time.perf_counter()
        vectors = self.vectors(texts)
        count(texts=len(texts), seconds=time.perf_counter() - started)
        return vectors

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        raise NotApplicableError(f"{type(self).__name__} has no layers")
