"""What is known of a backbone before its weights are loaded."""

from dataclasses import dataclass

from thawbench.strategies.pooling import Pooling
from thawbench.strategies.precision import Precision


@dataclass(frozen=True)
class BackboneInfo:
    """A backbone, with every choice made: plain JSON types only, nothing left at `auto`.

    Attributes:
        name: as boards show it: `embedded`, `org/name[@revision]` or a folder, and the options that were given.
        revision: the commit on the Hub; empty for anything else.
        folder: where config.json, the tokenizer and *.safetensors lie.
        weights_hash: SHA-256 of the safetensors file, or of the hashes of several.
        tokenizer_hash: SHA-256 over the tokenizer's files.
        config_hash: SHA-256 of config.json, which settles what is computed with the weights.
        layer: the hidden layer that is read; 0 = embeddings.
        max_length: tokens of a text that are read, special tokens included.
    """

    name: str
    revision: str
    folder: str
    weights_hash: str
    tokenizer_hash: str
    config_hash: str
    pooling: Pooling
    layer: int
    max_length: int
    precision: Precision
    device: str
