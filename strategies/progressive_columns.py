"""The network of `progressive`: columns of hidden layers side by side, each of which reads all columns before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import FloatArray
from thawbench.strategies.randomness import seeded

_SCALES = (1.0, 0.1, 0.01)
"""What the factors of lateral inputs are drawn from at first; appendix of the paper."""

_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class ColumnShape:
    """One column.

    Attributes:
        earlier: the widths of the columns before it, the backbone's vectors first.
        width: of its hidden layers and of its adapters.
        depth: number of hidden layers.
    """

    earlier: tuple[int, ...]
    width: int
    depth: int


class Adapter(nn.Module):
    """What earlier columns have to say to one layer: a = ReLU(V [alpha_0 h_0; alpha_1 h_1; …]).

    Each factor alpha is learned, as the columns differ in scale.
    """

    def __init__(self, shape: ColumnShape) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(_SCALES)[torch.randint(len(_SCALES), (len(shape.earlier),))])
        self.project = nn.Linear(sum(shape.earlier), shape.width)

    def forward(self, earlier: Sequence[Tensor]) -> Tensor:
        """(n, width of column j) for each earlier column j to (n, width)."""
        scaled = [alpha * states for alpha, states in zip(self.alpha, earlier, strict=True)]
        return torch.relu(self.project(torch.cat(scaled, dim=-1)))


class Column(nn.Module):
    """Hidden layers h_i = ReLU(W_i h_(i-1) + U_i a_i), where a_i is what layer i's adapter reads in earlier columns.

    Layer 1 has no adapter: below it all columns are one, the backbone's vector. The adapter above the top layer belongs
    to the output, whose weights are those of the head that reads both.
    """

    def __init__(self, shape: ColumnShape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        above = range(shape.depth - 1)
        self.own = nn.ModuleList(
            [nn.Linear(shape.earlier[0], shape.width), *(nn.Linear(shape.width, shape.width) for _ in above)]
        )
        self.lateral = nn.ModuleList(nn.Linear(shape.width, shape.width, bias=False) for _ in above)
        self.adapters = nn.ModuleList(Adapter(shape) for _ in range(shape.depth))
        self.dropout = nn.Dropout(dropout)

    def forward(self, earlier: Sequence[Sequence[Tensor]]) -> tuple[list[Tensor], Tensor]:
        """Its hidden layers from the bottom up, and what the adapter of the output says; each (n, width).

        Args:
            earlier: each column's hidden layers; the backbone, column 0, has one. A column that ends below a layer is
                read at its top.
        """
        first, *others = self.own
        hidden = [torch.relu(first(self.dropout(earlier[0][0])))]
        for depth, (own, lateral) in enumerate(zip(others, self.lateral, strict=True)):
            said = self.adapters[depth](_at(earlier, depth))
            hidden.append(torch.relu(own(self.dropout(hidden[-1])) + lateral(said)))
        return hidden, self.adapters[-1](_at(earlier, self.shape.depth - 1))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All weights by name."""
        return {name: tensor.numpy(force=True).copy() for name, tensor in self.state_dict().items()}

    @classmethod
    def from_tensors(cls, shape: ColumnShape, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """What `tensors` was taken from."""
        with seeded(0, "overwritten"):  # a layer draws its first weights, whoever replaces them
            column = cls(shape)
        column.load_state_dict({name: torch.from_numpy(np.array(tensor)) for name, tensor in tensors.items()})
        return column.eval()


class Columns(nn.Module):
    """A backbone's vectors to [h; a] of the last column: its top layer, and what the adapter above that says.

    The backbone's vectors go in at length sqrt(dim), so that their components are about 1 whatever the backbone.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = nn.ModuleList(columns)

    @property
    def widths(self) -> tuple[int, ...]:
        """Of all columns, the backbone's vectors first."""
        last = self.columns[-1]
        assert isinstance(last, Column)
        return (*last.shape.earlier, last.shape.width)

    @property
    def dim(self) -> int:
        """Components of a vector that comes out."""
        return 2 * self.widths[-1]

    def forward(self, vectors: Tensor) -> Tensor:
        """(n, dim of the backbone) to (n, 2 width), in float32."""
        with torch.autocast(vectors.device.type, enabled=False):
            known: list[list[Tensor]] = [[functional.normalize(vectors.float(), dim=-1) * vectors.shape[-1] ** 0.5]]
            for column in self.columns:
                hidden, said = column(known)
                known.append(hidden)
            return torch.cat([known[-1][-1], said], dim=-1)

    def project(self, vectors: FloatArray) -> FloatArray:
        """`forward` in and out of numpy, dropout off."""
        self.eval()
        device = next(self.parameters()).device
        made = np.empty((len(vectors), self.dim), np.float32)
        with torch.inference_mode():
            for start in range(0, len(vectors), _ROWS_AT_ONCE):
                rows = np.ascontiguousarray(vectors[start : start + _ROWS_AT_ONCE], dtype=np.float32)
                made[start : start + len(rows)] = self(torch.from_numpy(rows).to(device)).numpy(force=True)
        return made

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All weights of all columns by name."""
        return {name: tensor.numpy(force=True) for name, tensor in self.state_dict().items()}


def _at(columns: Sequence[Sequence[Tensor]], depth: int) -> list[Tensor]:
    return [hidden[min(depth, len(hidden) - 1)] for hidden in columns]
