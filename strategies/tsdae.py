"""A text's vector must hold what it says: from it alone, made of the few words left, the text is written anew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from thawbench.contracts import Seeds
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.mlm_head import MlmHead, head_of, word_table
from thawbench.strategies.optimizer import Block
from thawbench.strategies.trainable import Body
from thawbench.strategies.tsdae_decoder import TiedDecoder
from thawbench.strategies.unlabelled import Text, TextObjective, TextStrategy, UnlabelledConfig
from thawbench.strategies.words import SPECIAL, words_of

_IGNORED = -100


@dataclass(frozen=True)
class TsdaeConfig(UnlabelledConfig):
    """As the authors train, but for a rate that falls where theirs is constant, and the length of it.

    Attributes:
        ratio: the share of a text's words that is deleted.
        pooling: of the vector that the decoder sees; `backbone` takes what the backbone's own vectors are pooled by.
    """

    batch_size: int = 8
    ratio: float = 0.6
    pooling: Literal["cls", "backbone"] = "cls"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ratio <= 1:
            raise ValueError("ratio must be in [0, 1]")


def without_words(row: Text, ratio: float, rng: np.random.Generator) -> list[int]:
    """The ids left of a text: of its n words, ratio * n are deleted, rounded to the nearest (half to even), never all.

    Whole words go, whatever pieces they fall into; special tokens stay. (Current examples of sentence-transformers
    keep this share where the paper deletes it.)
    """
    words = words_of(row.text, row.tokens.offsets)
    count = int(words.max(initial=SPECIAL)) + 1
    gone = rng.permutation(count)[: min(int(np.rint(ratio * count)), max(count - 1, 0))]
    return [token for token, word in zip(row.tokens.ids, words, strict=True) if word not in gone]


class DenoisingAutoEncoder(TextObjective):
    """Wang, Reimers and Gurevych, "TSDAE", Findings of EMNLP 2021, eq. 1: the mean of -log P(word | words before, s).

    s is the vector of the text without most of its words; the decoder gets the text as it was, word after word. All
    layers are trained, whichever the vectors are read from, since the decoder uses all.
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: TiedDecoder,
        head: MlmHead,
        texts: Sequence[str],
        *,
        ratio: float,
        pooling: Literal["cls", "backbone"],
        batch_size: int,
        seed: int,
    ) -> None:
        info = encoder.info
        self._encoder, self._decoder, self._head, self._ratio = encoder, decoder, head, ratio
        read = info if pooling == "backbone" else replace(info, pooling="cls")
        self._reader = Encoder(read, encoder.model, encoder.tokenizer, encoder.cache)
        whole = replace(info, layer=int(encoder.model.config.num_hidden_layers))
        blocks = [
            *Body(Encoder(whole, encoder.model, encoder.tokenizer, encoder.cache)).blocks(),
            Block("decoder", decoder.own),
            Block("mlm_head", dict(head.named_parameters())),
        ]
        module = nn.ModuleDict({"encoder": encoder.model, "decoder": decoder, "mlm_head": head})
        super().__init__(encoder, module, blocks, texts, batch_size=batch_size, seed=seed)

    def batch_loss(self, rows: Sequence[Text], rng: np.random.Generator) -> Tensor:
        """The mean over the batch's tokens, the first one left out, in nats."""
        return self.rebuilding_loss(
            [without_words(row, self._ratio, rng) for row in rows], [row.tokens.ids for row in rows]
        )

    def rebuilding_loss(self, damaged: Sequence[Sequence[int]], whole: Sequence[Sequence[int]]) -> Tensor:
        """The loss of writing the `whole` texts from the vectors of the `damaged` ones."""
        sentence = self._reader.forward(damaged)
        width = max(map(len, whole))
        read = np.full((len(whole), width), self._encoder.tokenizer.pad_token_id or 0)
        wanted = np.full((len(whole), width), _IGNORED)
        for place, ids in enumerate(whole):
            read[place, : len(ids)] = wanted[place, : len(ids)] = ids
        device = sentence.device
        states = self._decoder(torch.from_numpy(read[:, :-1]).to(device), sentence)
        targets = torch.from_numpy(wanted[:, 1:]).to(device)
        asked = targets != _IGNORED  # padding is not decoded: the vocabulary is most of the work
        logits = self._head(states[asked], word_table(self._encoder)).float()
        return functional.cross_entropy(logits, targets[asked])


@strategies.register("tsdae")
class Tsdae(TextStrategy):
    """Denoising by a decoder that is tied to the encoder and thrown away afterwards.

    In training the text's vector is the [CLS] state, which the authors chose on STS-B; what comes out is pooled as the
    backbone is. For one that is pooled by a mean the two differ: `pooling=backbone` trains what is then used.
    `init` is drawn on for the decoder's cross-attention, and for its head where the backbone has none.
    """

    version = 2
    Config: ClassVar[type[Any]] = TsdaeConfig
    config: TsdaeConfig
    draws = frozenset({"init", "order"})
    lr = 3e-5

    def objective(self, start: AdaptedEncoder, body: Body, texts: Sequence[str], seeds: Seeds) -> DenoisingAutoEncoder:
        """The encoder below whatever maps stand on it."""
        config, encoder = self.config, body.encoder
        return DenoisingAutoEncoder(
            encoder,
            TiedDecoder(encoder, seeds.init, config.dropout),
            head_of(start, encoder, seeds.init),
            texts,
            ratio=config.ratio,
            pooling=config.pooling,
            batch_size=config.batch_size,
            seed=seeds.order,
        )
