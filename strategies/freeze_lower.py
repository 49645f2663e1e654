"""The lower layers stay as they are; what they make of a text is computed once, and not in every epoch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body, set_dropout

_BY_TOKEN = frozenset(["mean", "max", "cls"])
"""Poolings that read nothing but the top states of a text's own tokens."""


@dataclass(frozen=True)
class FreezeLowerConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        k: how many layers, and the embeddings with them; 0 is `finetune`, all of them leave the head. None takes what
            `thawbench tune` chose for the backbone's size, else two thirds, the source's 8 of 12.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.k or 0) < 0:
            raise ValueError("k must not be negative")


@strategies.register("freeze_lower")
class FreezeLower(Finetune):
    """`finetune` of the layers above the `k` lowest, and of the head.

    Merchant et al., "What Happens To BERT Embeddings During Fine-tuning?", BlackboxNLP 2020: freezing 8 of BERT's
    12 layers hardly costs anything on MNLI and SQuAD. There is no dropout in the frozen part, and its outputs
    take 4 bytes of memory for each component of each token. Where they cannot be kept (XLNet's layers see batches
    turned round, and two poolings read more than the top states), they are computed anew in every step.
    """

    Config: ClassVar[type[FreezeLowerConfig]] = FreezeLowerConfig
    config: FreezeLowerConfig

    @contextmanager
    def in_training(self, body: Body, start: Body, seeds: Seeds, place: int) -> Iterator[Body]:
        """The upper layers, on what the start's lower ones make of each text.

        Raises:
            UserError, NotApplicableError: see `Body.check_layers`.
        """
        k = self._frozen(body)
        body.check_layers(k)
        if not k:
            yield body
            return
        layers = body.layers()
        set_dropout(body.encoder.model, 0.0)
        for layer in layers[k:]:
            set_dropout(layer, self.config.dropout)
        encoder, whole = body.encoder, k == body.depth
        output = _output(layers[0], encoder)
        if not whole and (output is None or encoder.info.pooling not in _BY_TOKEN):
            yield body
            return
        lower = Encoder(replace(encoder.info, layer=k), start.encoder.model, encoder.tokenizer, encoder.cache)
        below = list(layers[:k])
        for place in range(k):
            layers[place] = _Skipped(isinstance(output, tuple))
        yield Body(_Upper(encoder, lower, None if whole else layers[k]), body.maps)
        for place, layer in enumerate(below):
            layers[place] = layer

    def blocks(self, body: Body) -> list[Block]:
        """The upper layers, and networks that earlier steps put on them."""
        k = self._frozen(body)
        lower = {"embeddings", "other", *(f"layer.{place}" for place in range(k))} if k else set()
        return [block for block in body.blocks() if block.name not in lower]

    def _frozen(self, body: Body) -> int:
        return body.depth * 2 // 3 if self.config.k is None else self.config.k


class _Upper(Encoder):
    """An encoder whose layers begin at `entry`, where the states of `lower` come in; without an entry it has none."""

    def __init__(self, encoder: Encoder, lower: Encoder, entry: nn.Module | None) -> None:
        super().__init__(encoder.info, encoder.model, encoder.tokenizer, encoder.cache)
        self._lower, self._entry = lower, entry
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...] | None], Tensor] = {}

    def forward(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Tensor:
        known = [self._below(row, None if types is None else types[place]) for place, row in enumerate(ids)]
        if self._entry is None:
            return torch.stack(known)
        states = pad_sequence(known, batch_first=True)

        def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return ((states, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": states})

        with self._entry.register_forward_pre_hook(enter, with_kwargs=True):
            return super().forward(ids, types)

    def _below(self, ids: Sequence[int], types: Sequence[int] | None) -> Tensor:
        """A text's states (tokens, dim), or its vector (dim,); of each text alone, or a resumed run had others."""
        key = tuple(ids), None if types is None else tuple(types)
        if key not in self._known:
            one, of = [ids], None if types is None else [types]
            with torch.no_grad():
                made = self._lower.forward(one, of) if self._entry is None else self._lower.token_states(one, of)[0]
            self._known[key] = made[0]
        return self._known[key]


class _Skipped(nn.Module):
    """In a frozen layer's place: what comes in goes out, in the form that the model expects."""

    def __init__(self, as_tuple: bool) -> None:
        super().__init__()
        self._as_tuple = as_tuple

    def forward(self, hidden_states: Tensor, *_: Any, **__: Any) -> Tensor | tuple[Tensor, None]:
        return (hidden_states, None) if self._as_tuple else hidden_states


def _output(layer: nn.Module, encoder: Encoder) -> Any:
    """What a layer gives; None if its states are not (texts, tokens, dim)."""
    made: list[Any] = []
    with torch.no_grad(), layer.register_forward_hook(lambda _, __, output: made.append(output)):
        encoder.forward([[0] * 3, [0] * 3])
    states = made[0][0] if isinstance(made[0], tuple) else made[0]
    return made[0] if states.shape[:2] == (2, 3) else None
