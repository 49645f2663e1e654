"""Quick-Thoughts: the two readers of token states, how their scores are judged, and the vectors that they make."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from thawbench.contracts import FloatArray, HiddenStates, Role
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.sources import digest

ReaderKind = Literal["gru", "linear"]
SelfScore = Literal["zero", "exclude", "keep"]
_SPREAD = 0.1


class Reader(nn.Module):
    """From a sentence's token states to its vector.

    Args:
        kind: `gru` reads in both directions and ends with dim / 2 components from each; `linear` maps the mean state.
        width: of a token's state.
        dim: of the vector; even.
    """

    def __init__(self, kind: ReaderKind, width: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.gru = nn.GRU(width, dim // 2, batch_first=True, bidirectional=True) if kind == "gru" else None
        self.linear = nn.Linear(width, dim) if kind == "linear" else None
        for weight in self.parameters():
            nn.init.uniform_(weight, -_SPREAD, _SPREAD)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(texts, dim) of states (texts, tokens, width), of which each text's first `lengths` (texts,) count."""
        if self.gru is not None:
            packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
            last: Tensor = self.gru(packed)[1]
            return torch.cat([last[0], last[1]], dim=-1)
        assert self.linear is not None
        counts = lengths.to(states.device).unsqueeze(-1)
        inside = torch.arange(states.shape[1], device=states.device) < counts
        mean = (states * inside.unsqueeze(-1)).sum(dim=1) / counts
        made: Tensor = self.linear(mean)
        return made


def two_readers(kind: ReaderKind, width: int, dim: int) -> nn.ModuleDict:
    """f, for the sentence at hand, and g, for those that may stand beside it; they share nothing."""
    return nn.ModuleDict({name: Reader(kind, width, dim) for name in ("f", "g")})


def neighbours(places: NDArray[np.intp], documents: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(sentences, sentences): whether j comes just before or after i in one document.

    Args:
        places: (sentences,) where each stands among all sentences.
        documents: (sentences,) which document each is of.
    """
    beside: NDArray[np.bool_] = np.abs(places[:, None] - places[None, :]) == 1
    beside &= documents[:, None] == documents[None, :]
    return beside


def quick_thoughts_loss(scores: Tensor, beside: Tensor, self_score: SelfScore) -> Tensor:
    """Logeswaran and Lee, "An efficient framework for learning sentence representations", ICLR 2018, eq. 2.

    The cross-entropy between softmax over each row and a uniform target over the neighbours of its sentence, the mean
    over the sentences that have one.

    Args:
        scores: (n, n), f(s_i) . g(s_j).
        beside: (n, n) bool, of `neighbours`.
        self_score: what a sentence scores as its own neighbour: `zero`, as the authors' code has it, so that it stays
            a candidate; `exclude` takes it out; `keep` leaves f(s_i) . g(s_i).
    """
    if self_score != "keep":
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(own, 0.0 if self_score == "zero" else -torch.inf)
    asked = beside.any(dim=1)
    log_shares = functional.log_softmax(scores[asked], dim=1)
    wanted = beside[asked]
    return -(log_shares.masked_fill(~wanted, 0.0).sum(dim=1) / wanted.sum(dim=1)).mean()


class QuickThoughtsSource:
    """Vectors [f(s); g(s)] (texts, 2 dim) over a frozen encoder; implements `adapted.VectorSource`.

    It is no `Encoder`, so that no later step tunes the weights below and forgets the readers.
    """

    def __init__(self, encoder: Encoder, readers: nn.ModuleDict) -> None:
        self._inner = _Reading(encoder, readers)

    @property
    def key(self) -> str:
        return self._inner.key

    @property
    def dim(self) -> int:
        return self._inner.dim

    @property
    def total_parameters(self) -> int:
        return self._inner.total_parameters

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        """Through the feature cache, as an encoder's."""
        return self._inner.encode(texts, role)

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        """The frozen encoder's."""
        return self._inner.hidden_states(texts)


class _Reading(Encoder):
    """An encoder whose vectors come from the readers in the place of pooling."""

    def __init__(self, encoder: Encoder, readers: nn.ModuleDict) -> None:
        tensors = {name: tensor.numpy(force=True) for name, tensor in readers.state_dict().items()}
        info = replace(encoder.info, weights_hash=digest(encoder.info.weights_hash, "quick thoughts", tensors=tensors))
        super().__init__(info, encoder.model, encoder.tokenizer, encoder.cache)
        self._readers = readers.eval()
        self._dims = [int(reader.dim) for reader in readers.values()]  # type: ignore[arg-type]

    @property
    def dim(self) -> int:
        return sum(self._dims)

    @property
    def total_parameters(self) -> int:
        return super().total_parameters + sum(weight.numel() for weight in self._readers.parameters())

    def forward(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Tensor:
        states, lengths = self.token_states(ids)
        with torch.autocast(states.device.type, enabled=False):
            return torch.cat([reader(states, lengths) for reader in self._readers.values()], dim=-1)
