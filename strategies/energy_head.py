"""G: the network that the energy is taken of."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import FloatArray
from thawbench.strategies.randomness import seeded

_PREFIX = "head."
_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class HeadShape:
    """Linear layers, ReLU and dropout between them, tanh at the end.

    Attributes:
        inputs: width of what goes in.
        hidden: width of the layers between.
        dim: width of what comes out.
        depth: number of linear layers.
    """

    inputs: int
    hidden: int
    dim: int
    depth: int


class EnergyHead(nn.Module):
    """G(x) = tanh(MLP((x - mean) / std)): every component within (-1, 1), so that energies have an upper bound.

    Also holds a and log b of `energy.bce_loss`, which only that loss trains.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, shape: HeadShape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        widths = [shape.inputs, *[shape.hidden] * (shape.depth - 1), shape.dim]
        self.linear = nn.ModuleList(nn.Linear(wide, narrow) for wide, narrow in pairwise(widths))
        self.dropout = nn.Dropout(dropout)
        self.offset = nn.Parameter(torch.zeros(()))
        self.log_slope = nn.Parameter(torch.zeros(()))
        self.register_buffer("mean", torch.zeros(shape.inputs))
        self.register_buffer("std", torch.ones(shape.inputs))

    def copy(self, dropout: float) -> "EnergyHead":
        """The same network with weights of its own, to be trained."""
        twin = copy.deepcopy(self)
        twin.dropout.p = dropout
        return twin

    def standardise(self, features: FloatArray) -> None:
        """Take the features' mean and standard deviation; a constant feature keeps its scale."""
        std = features.std(axis=0, dtype=np.float64)
        self.mean.copy_(torch.from_numpy(features.mean(axis=0, dtype=np.float64)))
        self.std.copy_(torch.from_numpy(np.where(std > 1e-8, std, 1.0)))

    def calibrate(self, bound: float) -> None:
        """Start `energy.bce_loss` at sigmoid(a - b E) between .92 (E = 0) and .0006 (E = `bound`): not saturated."""
        with torch.no_grad():
            self.offset.fill_(2.5)
            self.log_slope.fill_(math.log(10 / bound))

    def forward(self, features: Tensor) -> Tensor:
        """(n, inputs) to (n, dim)."""
        hidden: Tensor = (features - self.mean) / self.std
        *inner, last = self.linear
        for layer in inner:
            hidden = self.dropout(torch.relu(layer(hidden)))
        projected: Tensor = torch.tanh(last(hidden))
        return projected

    def project(self, features: FloatArray) -> FloatArray:
        """`forward` in and out of numpy, dropout off."""
        self.eval()
        projected = np.empty((len(features), self.shape.dim), np.float32)
        with torch.inference_mode():
            for start in range(0, len(features), _ROWS_AT_ONCE):
                rows = np.ascontiguousarray(features[start : start + _ROWS_AT_ONCE], dtype=np.float32)
                there = torch.from_numpy(rows).to(self.mean.device)  # while it is trained it may lie beside the encoder
                projected[start : start + len(rows)] = self(there).cpu().numpy()
        return projected

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All weights and the standardisation, by name."""
        return {_PREFIX + name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> "EnergyHead":
        """What `tensors` was taken from; the shape is read off the weights."""
        state = {name.removeprefix(_PREFIX): array for name, array in tensors.items() if name.startswith(_PREFIX)}
        weights = [state[f"linear.{layer}.weight"] for layer in range(sum(name.endswith(".weight") for name in state))]
        shape = HeadShape(weights[0].shape[1], weights[0].shape[0], weights[-1].shape[0], len(weights))
        with seeded(0, "restored"):  # a new layer draws weights, to be overwritten, from the global generator
            head = cls(shape)
        # a copy: a stored array may be read-only, and it is the state's own
        head.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in state.items()})
        return head.eval()

    @property
    def parameters_held(self) -> int:
        """Trainable numbers of the linear layers."""
        return sum(parameter.numel() for parameter in self.linear.parameters())
