"""The head that training puts on vectors, to predict classes or a score."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import Adapted, ClassTarget, FloatArray, Input, ScoreTarget, Target
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.encode_meter import count
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.pair_features import are_pairs, encode_once
from thawbench.strategies.readout import LinearReadout
from thawbench.strategies.sources import MappedSource

HeadKind = Literal["linear", "mlp", "relu50"]
"""`mlp` has a hidden layer of the vectors' width and tanh. `relu50` has one of 50 and ReLU, its first weights are
PyTorch's own, and no dropout is in it: so that what changes with the layers removed may be this head, as in the
experiment that `drop_top` repeats, and can be told from what the layers change."""
Items = Literal["texts", "joint", "siamese"]
"""What a vector stands for: a text, a pair read as one text, or one of a pair's two texts."""


class Classifier(nn.Module):
    """Logits, or one score scaled to [0, 1], in float32.

    It reads what the standard read-out reads, L2-normalised vectors and [u; v; |u-v|; u*v] for siamese pairs, but each
    component times sqrt(dim) (a product's times dim). They are about 1 then whatever the backbone, so that one
    learning rate suits all, and a read-out's weights divided by the same factors predict the same.

    Args:
        tree: what the outputs stand for where they are no classes.
    """

    scale: Tensor

    def __init__(
        self,
        kind: HeadKind,
        items: Items,
        dim: int,
        outputs: int,
        dropout: float = 0.0,
        tree: ClassTree | None = None,
    ) -> None:
        super().__init__()
        self.kind, self.items, self.tree = kind, items, tree
        once = torch.full((dim,), dim**0.5)
        self.register_buffer("scale", torch.cat([once, once, once, once**2]) if items == "siamese" else once, False)
        width = len(self.scale)
        if kind == "relu50":
            self.layers = nn.Sequential(nn.Linear(width, 50), nn.ReLU(), nn.Linear(50, outputs))
            return
        inner = [nn.Linear(width, dim), nn.Tanh(), nn.Dropout(dropout)] if kind == "mlp" else []
        self.layers = nn.Sequential(nn.Dropout(dropout), *inner, nn.Linear(dim if inner else width, outputs))
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    @property
    def dim(self) -> int:
        """Components of the vectors that it reads."""
        return self.scale.numel() // (4 if self.items == "siamese" else 1)

    @property
    def last(self) -> nn.Linear:
        """The layer that gives the logits."""
        layer = self.layers[-1]
        assert isinstance(layer, nn.Linear)
        return layer

    def forward(self, vectors: Tensor, others: Tensor | None = None) -> Tensor:
        """(n, dim), for siamese pairs twice, to (n, outputs)."""
        with torch.autocast(vectors.device.type, enabled=False):
            features = functional.normalize(vectors.float(), dim=-1)
            if others is not None:
                right = functional.normalize(others.float(), dim=-1)
                features = joined(features, right)
            logits: Tensor = self.layers(features * self.scale)
        return logits

    def take_readout(self, readout: LinearReadout) -> bool:
        """Predict what a read-out predicts, if this head can; whether it can."""
        if self.kind != "linear" or readout.weight.shape != self.last.weight.shape:
            return False
        low, span = _range(readout.target)
        with torch.no_grad():
            self.last.weight.copy_(torch.from_numpy(readout.weight / np.float32(span)) / self.scale.cpu())
            self.last.bias.copy_(torch.from_numpy((readout.bias - np.float32(low)) / np.float32(span)))
        return True

    def take_weights(self, other: "Classifier") -> bool:
        """Predict what another head predicts, if it is of the same shape; whether it is."""
        ours = {name: weight.shape for name, weight in self.state_dict().items()}
        theirs = {name: weight.shape for name, weight in other.state_dict().items()}
        if (self.items, self.tree, ours) != (other.items, other.tree, theirs):
            return False
        self.load_state_dict(other.state_dict())
        return True

    def loss(self, logits: Tensor, gold: Tensor, target: Target) -> Tensor:
        """Cross-entropy, or the tree's own loss, or the squared error of the scaled score."""
        if self.tree is not None:
            return self.tree.loss(logits, gold)
        if isinstance(target, ClassTarget):
            return functional.cross_entropy(logits, gold)
        low, span = _range(target)
        return functional.mse_loss(logits.squeeze(-1), (gold - low) / span)

    def read(self, outputs: Tensor) -> Tensor:
        """Logits (n, classes) of what `forward` gives; itself unless a tree stands between."""
        return outputs if self.tree is None else self.tree.read(outputs)


@dataclass(frozen=True)
class ClassifierHead:
    """A trained `Classifier` as a head of an adapted encoder. It reads the encoder as later steps leave it."""

    target: Target
    module: Classifier

    def predict(self, adapted: Adapted, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes) logits, or (inputs, 1) scores in the target's range."""
        if not len(inputs):
            return np.zeros((0, outputs_of(self.target)), np.float32)
        if are_pairs(inputs) == (self.module.items == "texts"):
            kinds = ("single texts", "pairs") if self.module.items == "texts" else ("pairs", "single texts")
            raise NotApplicableError(f"the head was trained on {kinds[0]} and got {kinds[1]}")
        return self.logits(*self._vectors(adapted, inputs))

    def logits(self, *vectors: FloatArray) -> FloatArray:
        """What the head makes of vectors (n, dim), of siamese pairs' twice, dropout off."""
        self.module.eval()
        device = self.module.scale.device
        with torch.inference_mode():
            outputs = self.module(*(torch.from_numpy(array).to(device) for array in vectors))
            made: FloatArray = self.module.read(outputs).cpu().numpy()
        low, span = _range(self.target)
        return made if isinstance(self.target, ClassTarget) else (low + span * made).astype(np.float32)

    def _vectors(self, adapted: Adapted, inputs: Sequence[Input]) -> list[FloatArray]:
        if self.module.items == "joint":
            assert isinstance(adapted, AdaptedEncoder)
            vectors = [joint_vectors(adapted.source, inputs)]
        elif self.module.items == "siamese":
            made, (left, right) = encode_once(adapted, [item[0] for item in inputs], [item[1] for item in inputs])
            vectors = [made[left], made[right]]
        else:
            vectors = [adapted.encode([str(item) for item in inputs])]
        if vectors[0].shape[1] != self.module.dim:
            raise NotApplicableError(
                f"the head was trained on vectors of {self.module.dim} components and got {vectors[0].shape[1]}: "
                "a later step changed their width"
            )
        return vectors


def joined(left: Tensor, right: Tensor) -> Tensor:
    """[u; v; |u-v|; u*v] by row: (n, dim) twice to (n, 4 dim)."""
    return torch.cat([left, right, (left - right).abs(), left * right], dim=-1)


def joint_vectors(source: VectorSource | None, pairs: Sequence[Input]) -> FloatArray:
    """Vectors (pairs, dim) of pairs, each read as one text.

    Raises:
        NotApplicableError: the vectors come from no encoder.
    """
    if isinstance(source, MappedSource):
        return source.map(joint_vectors(source.inner, pairs))
    if not isinstance(source, Encoder):
        raise NotApplicableError("only an encoder can read a pair as one text; pairs=siamese takes any vectors")
    started = time.perf_counter()
    tokens = source.tokenize(pairs)
    vectors = source.vectors([pair.ids for pair in tokens], [pair.types for pair in tokens])
    count(
        texts=len(pairs),
        tokens=sum(len(pair.ids) for pair in tokens),
        truncated=sum(pair.truncated for pair in tokens),
        seconds=time.perf_counter() - started,
    )
    return vectors


def outputs_of(target: Target, tree: ClassTree | None = None) -> int:
    """How many numbers a head gives."""
    if tree is not None:
        return tree.outputs
    return len(target.classes) if isinstance(target, ClassTarget) else 1


def _range(target: Target) -> tuple[float, float]:
    """Where scores begin and how far they reach; 0 and 1 for classes, whose logits have no scale."""
    return (target.low, target.high - target.low) if isinstance(target, ScoreTarget) else (0.0, 1.0)
