"""The part of an adapted encoder that training moves: an encoder, and the networks that earlier steps put on it."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from thawbench.contracts import FloatArray
from thawbench.errors import NotApplicableError, UserError
from thawbench.strategies.adapted import VectorSource
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.feature_cache import FeatureCache, Features
from thawbench.strategies.optimizer import Block
from thawbench.strategies.sources import MappedSource, digest

_GONE = "thawbench_layers_gone"
"""An attribute of a model's configuration: how many layers it has lost at its top."""


@dataclass(frozen=True)
class Body:
    """Texts to vectors, with gradients.

    Attributes:
        maps: networks on the encoder's vectors, the innermost first; they compute in float32.
    """

    encoder: Encoder
    maps: tuple[nn.Module, ...] = ()

    @classmethod
    def of(cls, source: VectorSource | None) -> "Body":
        """The body that makes a source's vectors.

        Raises:
            NotApplicableError: something in it is no network.
        """
        maps: list[nn.Module] = []
        while isinstance(source, MappedSource) and source.module is not None:
            maps.insert(0, source.module)
            source = source.inner
        if not isinstance(source, Encoder):
            what = "nothing" if source is None else type(source).__name__
            raise NotApplicableError(f"only an encoder's weights can be tuned; here the vectors come from {what}")
        return cls(source, tuple(maps))

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return self.source().dim

    @property
    def depth(self) -> int:
        """The layers that its vectors come from."""
        return self.encoder.info.layer

    def check_layers(self, k: int, *, others: int = 0) -> None:
        """Refuse to tell `k` layers from the others where there are fewer, or where all are one.

        Args:
            others: how many there must be besides.

        Raises:
            UserError: there are fewer.
            NotApplicableError: one block serves as every layer.
        """
        name, most = self.encoder.info.name, self.depth - others
        if k > max(most, 0):
            raise UserError(f"k={k} is too many for backbone {name}: it has {self.depth} layers, so k is 0 to {most}")
        if k and self.encoder.layer_prefix is None:
            raise NotApplicableError(f"all layers of backbone {name} are one and the same block")

    def layers(self) -> nn.ModuleList:
        """All blocks of the model, those above the layer that is read too; only after `check_layers` with k > 0."""
        found = self.encoder.model.get_submodule((self.encoder.layer_prefix or "").rstrip("."))
        assert isinstance(found, nn.ModuleList)
        return found

    def copy(self, dropout: float | None = None) -> "Body":
        """One with weights of its own, to be trained; it never meets the feature cache, which goes by fixed weights.

        Args:
            dropout: the rate in every dropout layer; None keeps what the model has.
        """
        info = dataclasses.replace(self.encoder.info, weights_hash="in training")
        encoder = Encoder(info, copy.deepcopy(self.encoder.model), self.encoder.tokenizer, _NoCache(Path()))
        maps = tuple(copy.deepcopy(network).to(info.device) for network in self.maps)
        if dropout is not None:
            set_dropout(encoder.model, dropout)
        return Body(encoder, maps)

    def without_top(self, k: int) -> "Body":
        """One that ends `k` layers below the backbone's top; itself if it does so already. One layer stays at least.

        Raises:
            UserError, NotApplicableError: see `check_layers`.
        """
        gone = getattr(self.encoder.model.config, _GONE, 0)
        if k <= gone:
            return self
        self.check_layers(k - gone, others=1)
        model, layer = copy.deepcopy(self.encoder.model), self.depth - (k - gone)
        encoder = Encoder(self.encoder.info, model, self.encoder.tokenizer, self.encoder.cache)
        del Body(encoder).layers()[layer:]
        model.config.num_hidden_layers = layer
        setattr(model.config, _GONE, k)
        hashed = digest(self.encoder.info.weights_hash, {"layers": layer})
        info = dataclasses.replace(self.encoder.info, layer=layer, weights_hash=hashed)
        return Body(Encoder(info, model, encoder.tokenizer, encoder.cache), self.maps)

    def forward(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Tensor:
        """Vectors (texts, dim) of one batch."""
        vectors = self.encoder.forward(ids, types)
        with torch.autocast(vectors.device.type, enabled=False):
            for network in self.maps:
                vectors = network(vectors)
        return vectors

    def vectors(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> FloatArray:
        """The same for any number of texts, as float32 arrays, without gradients and with dropout off."""
        vectors = self.encoder.vectors(ids, types)
        for network in self.maps:
            vectors = _applied(network)(vectors)
        return vectors

    def blocks(self) -> list[Block]:
        """The weights that take part: `embeddings`, `layer.0`, … up to the layer that is read, and `map.0`, …"""
        found: dict[str, dict[str, nn.Parameter]] = {}
        for name, weight in self.encoder.model.named_parameters():
            block = self._block(name)
            if block is not None:
                found.setdefault(block, {})[name] = weight
        for place, network in enumerate(self.maps):
            found[f"map.{place}"] = dict(network.named_parameters())
        return [Block(name, weights) for name, weights in found.items()]

    def changed(self, start: "Body") -> dict[str, NDArray[Any]]:
        """The weights that differ from those of `start`, by name."""
        before = start._weights()
        now = self._weights().items()
        return {
            name: weight.numpy(force=True).copy()
            for name, weight in now
            if not torch.equal(weight, before[name].to(weight.device))
        }

    def with_weights(self, changed: Mapping[str, NDArray[Any]]) -> "Body":
        """The body that `changed` was taken from, on top of its start; itself if nothing changed."""
        if not changed:
            return self
        ours = {name: array for name, array in changed.items() if name.startswith("encoder.")}
        hashed = digest(self.encoder.info.weights_hash, tensors=ours) if ours else self.encoder.info.weights_hash
        info = dataclasses.replace(self.encoder.info, weights_hash=hashed)
        model = copy.deepcopy(self.encoder.model) if ours else self.encoder.model
        encoder = Encoder(info, model, self.encoder.tokenizer, self.encoder.cache)
        body = Body(encoder, tuple(copy.deepcopy(network) for network in self.maps))
        weights = body._weights()
        with torch.no_grad():
            for name, array in changed.items():
                weights[name].copy_(torch.from_numpy(array))
        return body

    def source(self) -> VectorSource:
        """What makes vectors with these weights, through the cache."""
        source: VectorSource = self.encoder
        for network in self.maps:
            tensors = {name: tensor.numpy(force=True) for name, tensor in network.state_dict().items()}
            key = digest(type(network).__name__, tensors=tensors)
            source = MappedSource(source, _applied(network), key, sum(map(torch.numel, network.parameters())), network)
        return source

    def module(self, **more: nn.Module) -> nn.Module:
        """All of it as one module, and what is given besides."""
        return nn.ModuleDict({"encoder": self.encoder.model, "maps": nn.ModuleList(self.maps), **more})

    def _weights(self) -> dict[str, Tensor]:
        weights = {f"encoder.{name}": weight.detach() for name, weight in self.encoder.model.named_parameters()}
        for place, network in enumerate(self.maps):
            weights |= {f"map.{place}.{name}": weight.detach() for name, weight in network.named_parameters()}
        return weights

    def _block(self, parameter: str) -> str | None:
        """The block of one of the encoder's parameters; None if the vectors do not depend on it."""
        layers, reads = self.encoder.layer_prefix, self.encoder.info.layer
        if layers and parameter.startswith(layers):
            place = int(parameter.removeprefix(layers).partition(".")[0])
            return f"layer.{place}" if place < reads else None
        if parameter.startswith("pooler."):
            return None
        return "embeddings" if "embeddings" in parameter else "other"


def set_dropout(network: nn.Module, rate: float) -> None:
    """The rate of every dropout layer in it."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


def apart(tensors: Mapping[str, NDArray[Any]], prefix: str) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """The tensors whose names begin with a prefix, without it, and the others."""
    chosen = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    return chosen, {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}


def _applied(network: nn.Module) -> Any:
    """A network as a function of arrays, dropout off."""

    def apply(vectors: FloatArray) -> FloatArray:
        network.eval()
        device = next(network.parameters()).device
        with torch.inference_mode():
            made: FloatArray = network(torch.from_numpy(vectors).to(device)).cpu().numpy()
        return made

    return apply


class _NoCache(FeatureCache):
    """Remembers nothing: weights in training have no name to remember them by."""

    def get(self, key: str, texts: Sequence[str]) -> Features | None:
        return None

    def put(self, key: str, texts: Sequence[str], features: Features) -> None:
        pass
