"""Classes in a hierarchy, and what a head's outputs have to do with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, cast, get_args

import torch
from torch import Tensor
from torch.nn import functional

from thawbench.contracts import ClassTarget, Json, Labelled

Code = Literal["path", "multihot"]


@dataclass(frozen=True)
class ClassTree:
    """A tree whose leaves are classes, written as a head's outputs in one of two ways.

    `path`: a softmax for each level, over the nodes of that level. A class that ends above a level stands there as a
    node of its own, so that every level shares out all rows. `multihot`: a sigmoid for each node, which is to be 1 on
    the way down to the row's class. The outputs go from the top level down, nodes of a level in the classes' order.

    Attributes:
        paths: for each class, in the target's order, the nodes from the top down to itself. Two nodes of one name are
            the same if all above them is.
    """

    code: Code
    paths: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, code: Code, target: ClassTarget, rows: Sequence[Labelled]) -> Self:
        """The tree that the rows' paths make; a class without a path is its own.

        A path that goes on below its row's class is cut there.
        """
        found: dict[str, tuple[str, ...]] = {}
        for row in rows:
            label = str(row.label)
            above = row.path[: row.path.index(label)] if label in row.path else row.path
            found.setdefault(label, (*above, label))
        return cls(code, tuple(found.get(name, (name,)) for name in target.classes))

    @property
    def outputs(self) -> int:
        """How many numbers a head gives."""
        return sum(len(nodes) for nodes in self._levels)

    def loss(self, logits: Tensor, gold: Tensor) -> Tensor:
        """Minus the log-likelihood of the rows' nodes, by row: a scalar.

        Args:
            logits: (rows, outputs).
            gold: (rows,) classes as places in the target's order.
        """
        if self.code == "multihot":
            wanted = self._members(logits)[gold]
            found = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
            return found.sum(dim=-1).mean()
        losses = [functional.cross_entropy(level, places[gold]) for level, places in self._by_level(logits)]
        return torch.stack(losses).sum()

    def read(self, logits: Tensor) -> Tensor:
        """What outputs (rows, outputs) say of the classes, (rows, classes): the likeliest path has the most.

        `path`: the log-probability of a class's nodes, one a level. `multihot`: the sum of the logits on its way down;
        that and the log-likelihood of its whole row of ones and zeros differ by the same number for every class.
        """
        if self.code == "multihot":
            return logits @ self._members(logits).T
        found = [level.log_softmax(dim=-1)[:, places] for level, places in self._by_level(logits)]
        return torch.stack(found).sum(dim=0)

    def to_json(self) -> Json:
        """Enough for `from_json`."""
        return {"code": self.code, "paths": [list(path) for path in self.paths]}

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """What `to_json` wrote.

        Raises:
            ValueError: it was something else.
        """
        match value:
            case {"code": str() as code, "paths": [*paths]} if code in get_args(Code):
                return cls(cast(Code, code), tuple(tuple(map(str, cast("list[Json]", path))) for path in paths))
        raise ValueError(f"no tree of classes: {value!r:.80}")

    @cached_property
    def _levels(self) -> list[list[tuple[str, ...]]]:
        """The nodes of each level, each as the path down to it."""
        levels = []
        for depth in range(1, max(map(len, self.paths)) + 1):
            reaching = self.paths if self.code == "path" else [path for path in self.paths if len(path) >= depth]
            levels.append(list(dict.fromkeys(path[:depth] for path in reaching)))
        return levels

    def _by_level(self, logits: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Of each level its logits (rows, nodes), and the node (classes,) that each class goes through."""
        levels = torch.split(logits, [len(nodes) for nodes in self._levels], dim=-1)
        through = [[nodes.index(path[: depth + 1]) for path in self.paths] for depth, nodes in enumerate(self._levels)]
        return [
            (level, torch.tensor(places, device=logits.device)) for level, places in zip(levels, through, strict=True)
        ]

    def _members(self, like: Tensor) -> Tensor:
        """(classes, outputs): 1 for the nodes on a class's way down, else 0."""
        nodes = [node for level in self._levels for node in level]
        rows = [[float(path[: len(node)] == node) for node in nodes] for path in self.paths]
        return torch.tensor(rows, dtype=like.dtype, device=like.device)
