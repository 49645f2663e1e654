"""A decoder that shares the encoder's weights and sees of the text no more than one vector."""

import copy

import torch
from torch import Tensor, nn
from transformers import AutoModel

from thawbench.errors import NotApplicableError
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import set_dropout


class TiedDecoder(nn.Module):
    """The encoder's own layers, each looking back only, with attention to the sentence vector between its halves.

    That cross-attention is new, and drawn from `seed`; all other weights are the encoder's, so that training one
    trains both. As the vector is the only key, each layer adds to every position the same linear image of it.

    Args:
        dropout: the rate in each of its layers; None keeps what the model's configuration has.

    Attributes:
        own: the weights that the encoder does not have, by name.

    Raises:
        NotApplicableError: the architecture has no such decoder.
    """

    def __init__(self, encoder: Encoder, seed: int, dropout: float | None = None) -> None:
        super().__init__()
        config = copy.deepcopy(encoder.model.config)
        config.is_decoder = True
        config.add_cross_attention = True
        with seeded(seed, "decoder"):
            self.body = AutoModel.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
        self.body.to(encoder.info.device)
        if dropout is not None:
            set_dropout(self.body, dropout)
        shared = dict(encoder.model.named_parameters())
        self.own = {name: weight for name, weight in self.body.named_parameters() if name not in shared}
        if not any("crossattention" in name for name in self.own):
            raise NotApplicableError(
                f"the backbone is a {config.model_type}, of which there is no decoder to tie to it"
            )
        for name, weight in shared.items():
            owner, _, leaf = name.rpartition(".")
            setattr(self.body.get_submodule(owner), leaf, weight)

    def forward(self, ids: Tensor, sentence: Tensor) -> Tensor:
        """States (texts, tokens, dim) that tell, at each position of `ids` (texts, tokens), of what follows there.

        Args:
            sentence: (texts, dim).
        """
        states: Tensor = self.body(
            input_ids=ids, encoder_hidden_states=sentence.unsqueeze(1), use_cache=False
        ).last_hidden_state
        return states
