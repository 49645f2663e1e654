"""Two copies of an encoder must agree on a text and disagree on different ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body
from thawbench.strategies.unlabelled import Text, TextObjective, TextStrategy, UnlabelledConfig


@dataclass(frozen=True)
class CtConfig(UnlabelledConfig):
    """As the authors' code trains, but for AdamW in the place of RMSProp, and the length of it.

    Attributes:
        dropout: none, as in their code; sentence-transformers leaves the model's on.
        negatives: K, the pairs of different texts for each pair of one text with itself.
    """

    dropout: float | None = 0.0
    negatives: int = 7

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives < 1:
            raise ValueError("negatives must be at least 1")


def contrastive_tension_loss(left: Tensor, right: Tensor, same: Tensor) -> Tensor:
    """Carlsson et al., "Semantic Re-Tuning with Contrastive Tension", ICLR 2021, eq. 1, summed over the pairs.

    -log sigmoid(l . r) of a text with itself, -log sigmoid(-l . r) of two texts. The vectors are not normalised, or no
    pair of different texts could be told from chance.

    Args:
        left, right: (pairs, dim), from one copy and from the other.
        same: (pairs,) bool.
    """
    scores = (left * right).sum(dim=-1)
    return functional.binary_cross_entropy_with_logits(scores, same.to(scores.dtype), reduction="sum")


class ContrastiveTension(TextObjective):
    """A batch falls into groups of K + 1 texts; the first of each is paired with all of them, itself included.

    Args:
        body: the copy that is kept; it reads the right side of the pairs.
    """

    def __init__(self, body: Body, texts: Sequence[str], *, negatives: int, batch_size: int, seed: int) -> None:
        self._right, self._left = body, body.copy()
        self._negatives = negatives
        blocks = [*body.blocks(), *(Block(f"other.{b.name}", b.parameters) for b in self._left.blocks())]
        module = nn.ModuleDict({"kept": body.module(), "other": self._left.module()})
        super().__init__(body.encoder, module, blocks, texts, batch_size=batch_size, seed=seed)

    def batch_loss(self, rows: Sequence[Text], rng: np.random.Generator) -> Tensor:
        """Who is whose negative is drawn, as a batch comes sorted by length."""
        ids = [rows[place].tokens.ids for place in rng.permutation(len(rows))]
        groups = np.array_split(np.arange(len(ids)), -(-len(ids) // (self._negatives + 1)))
        anchors = self._left.forward([ids[group[0]] for group in groups])
        group_of = torch.from_numpy(np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
        same = torch.zeros(len(ids), dtype=torch.bool)
        same[[int(group[0]) for group in groups]] = True
        device = anchors.device
        return contrastive_tension_loss(anchors[group_of.to(device)], self._right.forward(ids), same.to(device))


@strategies.register("ct")
class Ct(TextStrategy):
    """Contrastive tension on the vectors that the start makes; of the two copies the second is kept.

    sentence-transformers keeps the same one, the authors' code the better one on labelled pairs, which are not there to
    choose by. Both draw two new texts for each negative pair; this holds one text against K others, as the paper draws
    it in appendix A.1, and reads half as many texts for as many pairs.
    """

    Config: ClassVar[type[Any]] = CtConfig
    config: CtConfig
    lr = 1e-5

    def objective(self, start: AdaptedEncoder, body: Body, texts: Sequence[str], seeds: Seeds) -> ContrastiveTension:
        """Both copies begin as the start."""
        config = self.config
        return ContrastiveTension(
            body, texts, negatives=config.negatives, batch_size=config.batch_size, seed=seeds.order
        )
