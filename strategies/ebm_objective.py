"""What `ebm` trains: the energies of pairs under G, through the encoder below it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.preprocessing import normalize
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import FloatArray, Input
from thawbench.strategies.encoder import Tokens
from thawbench.strategies.energy import Norm
from thawbench.strategies.energy_head import EnergyHead
from thawbench.strategies.energy_training import Loss, pair_loss
from thawbench.strategies.optimizer import Block
from thawbench.strategies.pair_features import are_pairs, pair_features
from thawbench.strategies.pair_sampling import PairRows, Places
from thawbench.strategies.trainable import Body


@dataclass(frozen=True)
class Items:
    """Texts or pairs of texts in tokens, every distinct text once.

    Attributes:
        sides: places of each item's text, or of its two texts, among `tokens`.
    """

    tokens: list[Tokens]
    sides: tuple[Places, ...]

    @classmethod
    def of(cls, body: Body, inputs: Sequence[Input]) -> "Items":
        """Tokenise the inputs, which are all of one kind."""
        place: dict[str, int] = {}
        lists = zip(*inputs, strict=True) if are_pairs(inputs) else [inputs]
        sides = [np.array([place.setdefault(str(text), len(place)) for text in side], np.intp) for side in lists]
        return cls(body.encoder.tokenize(list(place)), tuple(sides))

    def vectors(self, body: Body) -> FloatArray:
        """What G reads of every item: as `pair_features.item_features`, with the weights as they are."""
        vectors = body.vectors([text.ids for text in self.tokens])
        if len(self.sides) == 1:
            return vectors[self.sides[0]]
        unit = normalize(vectors)
        features: FloatArray = pair_features(unit[self.sides[0]], unit[self.sides[1]])
        return features

    def features(self, body: Body, items: Places) -> Tensor:
        """The same for some of them, with gradients."""
        places = np.concatenate([side[items] for side in self.sides])
        texts, rows = np.unique(places, return_inverse=True)
        vectors = body.forward([self.tokens[text].ids for text in texts]).float()[torch.from_numpy(rows)]
        if len(self.sides) == 1:
            return vectors
        left, right = torch.split(functional.normalize(vectors, dim=-1), len(items))
        return torch.cat([left, right, (left - right).abs(), left * right], dim=-1)


class EnergyOfPairs:
    """Implements `training.Objective` for energies of pairs of items.

    Args:
        draw_epoch: an epoch's pairs, by its number.
        judge: the dev score out of the features of `dev`.
        classes: of the items, if the pairs were drawn by class.
        head_lr_scale: G's learning rate over the encoder's.
    """

    def __init__(
        self,
        body: Body,
        head: EnergyHead,
        items: Items,
        draw_epoch: Callable[[int], PairRows],
        judge: Callable[[], float | None],
        *,
        norm: Norm,
        loss: Loss,
        batch_size: int,
        classes: Places | None,
        head_lr_scale: float,
    ) -> None:
        self._body, self._head, self._items = body, head, items
        self._draw_epoch, self._judge = draw_epoch, judge
        self._norm, self._loss, self._batch_size, self._classes = norm, loss, batch_size, classes
        self._head_lr_scale = head_lr_scale
        self._module = body.module(head=head)

    @property
    def module(self) -> nn.Module:
        """Encoder and G."""
        return self._module

    def blocks(self) -> Sequence[Block]:
        """All weights; a and b of the energy's sigmoid only where the loss knows them."""
        learned = {
            name: weight
            for name, weight in self._head.named_parameters()
            if self._loss == "bce" or name.startswith("linear.")
        }
        return [*self._body.blocks(), Block("head", learned, self._head_lr_scale)]

    def batches(self, epoch: int) -> list[PairRows]:
        """The epoch's pairs in their order, genuine and impostor in turn."""
        pairs = self._draw_epoch(epoch)
        return [pairs[start : start + self._batch_size] for start in range(0, len(pairs), self._batch_size)]

    def loss(self, batch: PairRows, step: int) -> Tensor:
        """`frozen_ebm`'s loss, with gradients for the encoder."""
        features = self._items.features(self._body, np.concatenate([batch.left, batch.right]))
        with torch.autocast(features.device.type, enabled=False):
            left, right = torch.split(self._head(features), len(batch))
            return pair_loss(self._head, left, right, batch, self._norm, self._loss, self._classes)

    def dev_score(self) -> float | None:
        """As `frozen_ebm` judges."""
        return self._judge()
