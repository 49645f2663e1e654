"""From a token's state to what the word there may be: a masked-language-model head, a checkpoint's own or a new one."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional
from transformers.activations import ACT2FN

from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import seeded


class MlmHead(nn.Module):
    """Transform, LayerNorm, and a decoder that is the table of word embeddings, with a bias of its own.

    Devlin et al., "BERT", NAACL 2019, as its code has it: softmax(E LayerNorm(act(W h + b)) + c). The table E is given
    with every call, since it is the encoder's: so the two are one, whoever trains or copies them.

    Args:
        width: of a state.
        table: (words, width of a word) of the embeddings.
        activation: by transformers' name.
    """

    def __init__(self, width: int, table: tuple[int, int], activation: str = "gelu", eps: float = 1e-12) -> None:
        super().__init__()
        words, word_width = table
        self.dense = nn.Linear(width, word_width)
        self.norm = nn.LayerNorm(word_width, eps=eps)
        self.bias = nn.Parameter(torch.zeros(words))
        self._activation = ACT2FN[activation]

    def forward(self, states: Tensor, table: Tensor) -> Tensor:
        """Logits (tokens, words) of states (tokens, width)."""
        return functional.linear(self.norm(self._activation(self.dense(states))), table, self.bias)


@dataclass(frozen=True)
class _Layout:
    """What a family of checkpoints calls the parts of its head."""

    dense: str
    norm: str
    bias: str


_LAYOUTS = (
    # BERT
    _Layout("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    # RoBERTa, XLM-R, CamemBERT, MPNet
    _Layout("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    # DistilBERT
    _Layout("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    # ALBERT
    _Layout("predictions.dense", "predictions.LayerNorm", "predictions.bias"),
)


def word_table(encoder: Encoder) -> nn.Parameter:
    """The embeddings (words, width) of the encoder's vocabulary."""
    table = encoder.model.get_input_embeddings().weight
    assert isinstance(table, nn.Parameter)
    return table


def head_of(adapted: AdaptedEncoder, encoder: Encoder, seed: int) -> MlmHead:
    """A head to be trained: a copy of the one that an earlier step tuned, else the checkpoint's own, else a new one."""
    if isinstance(adapted.mlm_head, MlmHead):
        return copy.deepcopy(adapted.mlm_head)
    return own_head(encoder) or new_head(encoder, seed)


def own_head(encoder: Encoder) -> MlmHead | None:
    """The head that lies in the backbone's folder beside its weights; None if there is none of a known layout.

    One whose decoder is not tied to the embeddings counts as none; weights drawn at random have no folder.
    """
    folder, config = Path(encoder.info.folder), encoder.model.config
    if not encoder.info.folder or not getattr(config, "tie_word_embeddings", True):
        return None
    places = {name: file for file in sorted(folder.glob("*.safetensors")) for name in _names(file)}
    for layout in _LAYOUTS:
        # the first BERTs call a LayerNorm's weight gamma, and its bias beta
        wanted = {
            "dense.weight": (f"{layout.dense}.weight",),
            "dense.bias": (f"{layout.dense}.bias",),
            "norm.weight": (f"{layout.norm}.weight", f"{layout.norm}.gamma"),
            "norm.bias": (f"{layout.norm}.bias", f"{layout.norm}.beta"),
            "bias": (layout.bias,),
        }
        found = {ours: next((name for name in theirs if name in places), None) for ours, theirs in wanted.items()}
        names = {ours: name for ours, name in found.items() if name is not None}
        if len(names) == len(wanted):
            return head_from(encoder, {ours: _tensor(places[name], name) for ours, name in names.items()})
    return None


def new_head(encoder: Encoder, seed: int) -> MlmHead:
    """One with weights drawn as the model draws its own, on the encoder's device."""
    with seeded(seed, "mlm_head"):
        head = _empty(encoder)
        nn.init.normal_(head.dense.weight, std=getattr(encoder.model.config, "initializer_range", 0.02))
        nn.init.zeros_(head.dense.bias)
    return head.to(encoder.info.device)


def head_from(encoder: Encoder, tensors: Mapping[str, Tensor]) -> MlmHead:
    """A head out of its `state_dict`, on the encoder's device."""
    with seeded(0, "overwritten"):  # a layer draws its first weights, whoever replaces them
        head = _empty(encoder)
    head.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return head.to(encoder.info.device)


def _empty(encoder: Encoder) -> MlmHead:
    config = encoder.model.config
    words, width = word_table(encoder).shape
    activation = next(
        (getattr(config, field) for field in ("hidden_act", "activation") if hasattr(config, field)), "gelu"
    )
    return MlmHead(encoder.dim, (words, width), str(activation), getattr(config, "layer_norm_eps", 1e-12))


def _names(file: Path) -> list[str]:
    with safe_open(file, framework="pt") as opened:
        return list(opened.keys())


def _tensor(file: Path, name: str) -> Tensor:
    with safe_open(file, framework="pt") as opened:
        tensor: Tensor = opened.get_tensor(name)
        return tensor
