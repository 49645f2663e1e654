"""Heads of other train sets, on the body that one set's own head is trained on."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import Json
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.classification import Classification, head_block
from thawbench.strategies.classifier import Classifier, ClassifierHead, outputs_of
from thawbench.strategies.optimizer import Block
from thawbench.strategies.randomness import seeded
from thawbench.strategies.readout import target_from_json, target_to_json
from thawbench.strategies.trainable import Body, set_dropout

Tensors = Mapping[str, NDArray[Any]]


class Together:
    """Implements `training.Objective`: one set's lesson, and other heads whose weights are trained along.

    What derives from this says what else is lowered than the lesson's loss, of which the others have no part.

    Attributes:
        heads: the others, by train set.
    """

    def __init__(self, lesson: Classification, heads: Mapping[str, ClassifierHead]) -> None:
        self.lesson, self.heads = lesson, heads
        others = nn.ModuleList(head.module for head in heads.values())
        self._module = nn.ModuleDict({"lesson": lesson.module, "others": others})

    @property
    def module(self) -> nn.Module:
        """Body and all heads."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """The lesson's, and a block for each of the others, at the rate of its own head."""
        blocks = self.lesson.blocks()
        scale = blocks[-1].lr_scale
        others = (head_block(head.module, scale, f"head.{name}") for name, head in self.heads.items())
        return [*blocks, *others]

    def batches(self, epoch: int) -> Sequence[Any]:
        """The lesson's."""
        return self.lesson.batches(epoch)

    def loss(self, batch: Any, step: int) -> Tensor:
        """The lesson's."""
        return self.lesson.loss(batch, step)

    def dev_score(self) -> float | None:
        """The lesson's."""
        return self.lesson.dev_score()


def heads_of_others(start: AdaptedEncoder, but: str, dropout: float = 0.0) -> dict[str, ClassifierHead]:
    """Copies of what earlier steps have trained as heads of other sets, for one to train on.

    Heads of another kind, and those that a later step has taken their vectors from, are not among them.
    """
    dim = Body.of(start.source).dim
    found = {}
    for name, head in start.head_models.items():
        if name == but or not isinstance(head, ClassifierHead) or head.module.dim != dim:
            continue
        module = copy.deepcopy(head.module)
        set_dropout(module, dropout)
        found[name] = ClassifierHead(head.target, module)
    return found


def head_to_json(train_set: str, head: ClassifierHead) -> dict[str, Json]:
    """All of a head but its tensors."""
    tree = head.module.tree
    return {
        "set": train_set,
        "target": target_to_json(head.target),
        "head": head.module.kind,
        "items": head.module.items,
        **({} if tree is None else {"tree": tree.to_json()}),
    }


def head_to_tensors(head: ClassifierHead, prefix: str) -> dict[str, NDArray[Any]]:
    """A head's weights, by name."""
    return {prefix + name: weight.numpy(force=True) for name, weight in head.module.state_dict().items()}


def head_from(values: Mapping[str, Json], tensors: Tensors, body: Body) -> tuple[str, ClassifierHead]:
    """The train set and the head that `head_to_json` and `head_to_tensors` (without the prefix) wrote, for a body."""
    target = target_from_json(values["target"])
    kind, items = (cast(Any, values[name]) for name in ("head", "items"))
    tree = ClassTree.from_json(values["tree"]) if "tree" in values else None
    with seeded(0, "overwritten"):  # a layer draws its first weights, whoever replaces them
        module = Classifier(kind, items, body.dim, outputs_of(target, tree), tree=tree)
    module.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
    module.to(body.encoder.info.device)
    return str(values["set"]), ClassifierHead(target, module)
