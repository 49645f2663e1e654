"""Texts to vectors with a transformers model: sorted by length, batched by tokens, returned in input order."""

import copy
import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from thawbench.contracts import FloatArray, HiddenStates, Input, Role
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.encode_meter import count
from thawbench.strategies.feature_cache import FeatureCache, Features
from thawbench.strategies.pooling import layers_read, pool
from thawbench.strategies.precision import computing_in, device_model
from thawbench.strategies.randomness import seeded

ENCODE_VERSION = 1
"""Raised whenever this module or `pooling` comes to give other vectors: old cache entries then no longer match."""

BATCH_TOKENS = {"cpu": 2048, "mps": 8192, "cuda": 32768}
"""Tokens of a batch, padding included. First guesses: not yet tuned on a quiet machine."""

_TURNED_ROUND = frozenset({"xlnet"})
"""Architectures whose blocks see batches as (tokens, texts, dim): what goes into one is no state that can be read."""

_TOKENIZE_AT_ONCE = 2048
_STATES_AT_ONCE = 16

# A child that was forked after its parent used the tokenizer's threads would hang on them.
os.register_at_fork(after_in_child=lambda: os.environ.setdefault("TOKENIZERS_PARALLELISM", "false"))


@dataclass(frozen=True)
class Tokens:
    """One input in tokens: `ids` and `offsets` (tokens, 2) into its characters, (0, 0) for a special token.

    A pair is one row of tokens, [CLS] a [SEP] b [SEP]; `types` says of each whether it is a's (0) or b's (1).
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    truncated: bool
    types: list[int]


class Encoder:
    """A backbone that makes vectors; implements `adapted.VectorSource`.

    A text's vector depends on its neighbours in the list by at most 2e-6 per component in float32 and 5e-2 in
    bfloat16 (where the products themselves are that coarse): another batch shape is another order of summation.
    The same list gives the same bits.

    Whoever changes `model` must do so on a copy, in an Encoder whose info has another `weights_hash`: the feature
    cache goes by it.

    Attributes:
        info: every choice that was made.
        model: in float32, on `info.device`.
        tokenizer: a fast one.
    """

    def __init__(
        self,
        info: BackboneInfo,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        cache: FeatureCache | None = None,
    ) -> None:
        self.info = info
        self.model = model
        self.tokenizer = tokenizer
        self.cache = FeatureCache.default() if cache is None else cache
        self._blocks = _blocks(model)

    @property
    def key(self) -> str:
        """SHA-256 of all that can change a bit of a vector."""
        info = self.info
        changes = {
            "weights": info.weights_hash,
            "tokenizer": info.tokenizer_hash,
            "config": info.config_hash,
            "pooling": info.pooling,
            "layer": info.layer,
            "max_length": info.max_length,
            "precision": info.precision,
            "device": [info.device, device_model(info.device)],
            "versions": [torch.__version__, transformers.__version__, tokenizers.__version__],
            "threads": torch.get_num_threads(),
            "encode": ENCODE_VERSION,
        }
        return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return int(self.model.config.hidden_size)

    @property
    def layer_prefix(self) -> str | None:
        """What the names of the blocks' weights begin with, such as `encoder.layer.`; None if a block serves twice."""
        found = (name for name, module in self.model.named_modules() if module is self._blocks)
        return next((f"{name}." for name in found), None)

    @property
    def total_parameters(self) -> int:
        """Weights held, whether the layer that is read needs them or not."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        """Vectors (texts, dim) float32, in input order, not normalised. Dropout is off; no random number is drawn."""
        if not len(texts):
            return np.zeros((0, self.dim), dtype=np.float32)
        started = time.perf_counter()
        key = self.key
        features = self.cache.get(key, texts)
        if features is None:
            features = self._compute(texts)
            self.cache.put(key, texts, features)
        count(
            texts=len(texts),
            tokens=features.tokens,
            truncated=features.truncated,
            seconds=features.seconds,
            spent=time.perf_counter() - started,
        )
        return features.vectors

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        """Every layer of every token, special tokens included, one text at a time, in input order.

        Yields states (layers + 1, tokens, dim) float32, layer 0 being the embeddings and the last the one that is read:
        those above it are no part of what is measured. Only a few texts' states are held at once.
        """
        for start in range(0, len(texts), _STATES_AT_ONCE):
            yield from self._states(texts[start : start + _STATES_AT_ONCE])

    def tokenize(self, inputs: Sequence[Input]) -> list[Tokens]:
        """Tokens of each text, or of each pair as one; all inputs are of one kind.

        They are cut at `info.max_length`, of a pair the longer text first. A text of no tokens gets one unknown token,
        to have a vector.
        """
        if not len(inputs):
            return []
        encoded = self.tokenizer(
            [_encodable(item) if isinstance(item, str) else tuple(map(_encodable, item)) for item in inputs],
            truncation=True,
            max_length=self.info.max_length,
            padding=False,
            return_offsets_mapping=False,
        ).encodings
        assert encoded is not None  # a fast tokenizer gives them
        empty = self.tokenizer.unk_token_id or 0
        return [
            Tokens(e.ids or [empty], e.offsets or [(0, 0)], bool(e.overflowing), e.type_ids or [0]) for e in encoded
        ]

    def forward(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Tensor:
        """Vectors (texts, dim) of one batch, with gradients if they are on; training goes through here too.

        Args:
            types: of each token, for pairs; an architecture without token types ignores them.
        """
        width = self.info.max_length if self.info.pooling == "sequence_summary" else max(map(len, ids))
        given = self._given(ids, types, width)
        states = self._read(given, layers_read(self.info.pooling, self.info.layer))
        return pool(self.info.pooling, states, given["attention_mask"])

    def token_states(
        self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None
    ) -> tuple[Tensor, Tensor]:
        """States (texts, longest, dim) of the layer that is read, before pooling, and the texts' lengths (texts,)."""
        (states,) = self._read(self._given(ids, types, max(map(len, ids))), (self.info.layer,))
        return states.float(), torch.tensor([len(text) for text in ids])

    def vectors(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> FloatArray:
        """What `encode` makes of these tokens, past the cache: (inputs, dim) float32. For pairs, and amid training."""
        vectors = np.empty((len(ids), self.dim), dtype=np.float32)
        # `delay` and `disable=None`: only for more than two seconds of work, and only on a terminal
        with self._inference(), tqdm(total=len(ids), desc="encode", leave=False, delay=2, disable=None) as bar:
            for rows in self._batches([len(row) for row in ids]):
                batch_types = None if types is None else [types[row] for row in rows]
                vectors[rows] = self.forward([ids[row] for row in rows], batch_types).cpu().numpy()
                bar.update(len(rows))
        return vectors

    def _compute(self, texts: Sequence[str]) -> Features:
        started = time.perf_counter()
        ids: list[list[int]] = []
        truncated = 0
        for start in range(0, len(texts), _TOKENIZE_AT_ONCE):
            for tokens in self.tokenize(texts[start : start + _TOKENIZE_AT_ONCE]):
                ids.append(tokens.ids)
                truncated += tokens.truncated
        vectors = self.vectors(ids)
        seconds = time.perf_counter() - started
        return Features(vectors, sum(map(len, ids)), truncated, seconds)

    def _states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        tokens = self.tokenize(texts)
        states: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
        with self._inference():
            for rows in self._batches([len(text.ids) for text in tokens]):
                ids = [tokens[row].ids for row in rows]
                input_ids, mask = self._padded(ids, max(map(len, ids)))
                read = self.model(input_ids=input_ids, attention_mask=mask, output_hidden_states=True).hidden_states
                inside = [layer.float() for layer in read[: self.info.layer + 1]]
                layers = torch.stack(inside, dim=1).cpu().numpy()
                for place, row in enumerate(rows):
                    states[row] = layers[place, :, : len(ids[place])].copy()
        for text, state in zip(tokens, states, strict=True):
            yield HiddenStates(state, np.array(text.offsets, dtype=np.int64))

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Rows of each batch: longest first, as many as the budget takes."""
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        start = 0
        while start < len(order):
            longest = self.info.max_length if self.info.pooling == "sequence_summary" else lengths[order[start]]
            size = max(1, BATCH_TOKENS[self.info.device] // longest)
            yield order[start : start + size]
            start += size

    def _given(
        self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None, width: int
    ) -> dict[str, Tensor | None]:
        """What the model takes."""
        input_ids, mask = self._padded(ids, width)
        given = {"input_ids": input_ids, "attention_mask": mask}
        if types is not None and "token_type_ids" in self.tokenizer.model_input_names:
            given["token_type_ids"] = torch.from_numpy(_rectangle(types, width, 0)).to(self.info.device)
        return given

    def _padded(self, ids: Sequence[Sequence[int]], width: int) -> tuple[Tensor, Tensor | None]:
        """Ids (texts, width) padded on the right, and the mask, or None if nothing was padded."""
        padded = _rectangle(ids, width, self.tokenizer.pad_token_id or 0)
        input_ids = torch.from_numpy(padded).to(self.info.device)
        lengths = torch.tensor([len(text) for text in ids])
        if bool((lengths == width).all()):
            return input_ids, None
        mask = torch.arange(width)[None, :] < lengths[:, None]
        return input_ids, mask.long().to(self.info.device)

    def _read(self, given: Mapping[str, Tensor | None], layers: Sequence[int]) -> list[Tensor]:
        """The given hidden layers; nothing above the highest of them is computed."""
        last = int(self.model.config.num_hidden_layers)
        hookable = self._blocks is not None and self.model.config.model_type not in _TURNED_ROUND
        if not hookable and tuple(layers) != (last,):
            read = self.model(**given, output_hidden_states=True).hidden_states
            return [read[layer] for layer in layers]
        caught: dict[int, Tensor] = {}
        with ExitStack() as hooks:
            for layer in set(layers) - {last}:
                assert self._blocks is not None
                catch = _catcher(caught, layer, stop=layer == max(layers))
                hooks.enter_context(_Hook(self._blocks[layer], catch))
            with suppress(_ReadEnough):
                caught[last] = self.model(**given).last_hidden_state
        return [caught[layer] for layer in layers]

    @contextmanager
    def _inference(self) -> Iterator[None]:
        training = self.model.training
        self.model.train(False)
        try:
            with torch.inference_mode(), computing_in(self.info.precision, self.info.device):
                yield
        finally:
            self.model.train(training)


def with_random_weights(encoder: Encoder, seed: int) -> Encoder:
    """The same architecture and tokenizer, its weights drawn anew as transformers initialises the model."""
    with seeded(seed, "random_weights"):
        config = copy.deepcopy(encoder.model.config)
        model = AutoModel.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    # of an encoder without its top layers the seed draws others; and what lies in the folder was pretrained
    drawn = f"random weights, seed {seed}, {sum(weight.numel() for weight in model.parameters())} of them"
    info = dataclasses.replace(encoder.info, weights_hash=drawn, folder="")
    return Encoder(info, model.to(info.device).eval(), encoder.tokenizer, encoder.cache)


class _ReadEnough(Exception):
    """Leaves a forward pass once the highest wanted layer is there."""


class _Hook:
    """A forward pre-hook for the length of a `with` block."""

    def __init__(self, module: nn.Module, hook: Callable[..., None]) -> None:
        self._handle = module.register_forward_pre_hook(hook, with_kwargs=True)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._handle.remove()


def _catcher(caught: dict[int, Tensor], layer: int, stop: bool) -> Callable[..., None]:
    """A hook on block `layer`: what goes into it is hidden layer `layer`."""

    def catch(_: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        caught[layer] = args[0] if args else kwargs["hidden_states"]
        if stop:
            raise _ReadEnough

    return catch


def _blocks(model: PreTrainedModel) -> nn.ModuleList | None:
    """The model's transformer blocks, or None where one block serves several layers (ALBERT)."""
    layers = model.config.num_hidden_layers
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == layers]
    return lists[0] if lists else None


def _rectangle(rows: Sequence[Sequence[int]], width: int, fill: int) -> NDArray[np.int64]:
    """(rows, width), each row filled up on its right."""
    filled = np.full((len(rows), width), fill, dtype=np.int64)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return filled


def _encodable(text: str) -> str:
    """The text with `?` for each lone surrogate, which has no UTF-8 and would stop the tokenizer."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
