"""A small BERT made here: its tokenizer, and its pretraining on given texts. One seed gives the same files again."""

import logging
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from thawbench.strategies.backbone import load_backbone, quiet_transformers, resolve_backbone
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.mlm_head import own_head
from thawbench.strategies.mlm_objective import MaskedLanguageModel
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule, train

_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_MARKS = re.compile(r"[^\w\s]|_")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pretraining:
    """How the small BERT is built and trained. Dropout is off while it is pretrained: no text comes twice.

    Attributes:
        rate: share of the words to guess. 40 % and not BERT's 15 % (Wettig et al., EACL 2023): few steps have to do,
            and each then teaches more. On a quarter of the world's test texts, judged at 15 %, the loss after 400
            steps was 4.1 with 15 % and 3.6 with 30 %.
        initializer_range: wider than BERT's 0.02, with which 300 steps learn no more than how frequent words are.
    """

    layers: int = 4
    width: int = 128
    heads: int = 2
    intermediate: int = 512
    max_length: int = 128
    steps: int = 700
    batch_size: int = 16
    lr: float = 7e-4
    rate: float = 0.4
    initializer_range: float = 0.06
    seed: int = 0


def make_backbone(texts: Sequence[str], folder: Path, recipe: Pretraining) -> None:
    """Fill `folder` with config.json, the tokenizer and model.safetensors, in the layout of `BertForMaskedLM`.

    It runs on one thread of the CPU, since the number of threads changes bits: the weights do not depend on how many
    cores there are. Another processor, torch or transformers may still give others.
    """
    with _one_thread():
        _write_start(texts, folder, recipe)
        start = load_backbone(resolve_backbone(str(folder), precision="float32", device="cpu"))
        encoder = Body.of(start.source).copy(dropout=0.0).encoder
        head = own_head(encoder)
        assert head is not None
        objective = MaskedLanguageModel(
            encoder, head, texts, batch_size=recipe.batch_size, seed=recipe.seed, rate=recipe.rate
        )
        with checkpointing(None):  # nothing of it belongs to the fit that may be going on
            train(objective, Schedule(recipe.lr, recipe.steps), seed=recipe.seed, info=encoder.info)
        with quiet_transformers():
            model = BertForMaskedLM.from_pretrained(folder, local_files_only=True)
            model.bert.load_state_dict(encoder.model.state_dict(), strict=False)
            predictions = model.cls.predictions
            predictions.transform.dense.load_state_dict(head.dense.state_dict())
            predictions.transform.LayerNorm.load_state_dict(head.norm.state_dict())
            with torch.no_grad():
                predictions.bias.copy_(head.bias)
            model.save_pretrained(folder)


def make_tokenizer(texts: Sequence[str], max_length: int) -> PreTrainedTokenizerFast:
    """A lower-case WordPiece tokenizer that knows the words of the texts, and spells all others.

    Its vocabulary is counted and not trained: the words, the frequent ones first, then every letter and digit as the
    beginning and as the continuation of a word, and the marks of ASCII.
    """
    counts = Counter(word for text in texts for word in re.findall(r"\w+", _MARKS.sub(" ", text.lower())))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    characters = string.ascii_lowercase + string.digits
    pieces = [*_SPECIAL.values(), *string.punctuation, *words, *characters, *(f"##{one}" for one in characters)]
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(WordPiece(vocabulary, unk_token=_SPECIAL["unk"]))
    backend.normalizer = BertNormalizer(lowercase=True)
    backend.pre_tokenizer = BertPreTokenizer()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, vocabulary[mark]) for mark in (_SPECIAL["cls"], _SPECIAL["sep"])],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": mark for name, mark in _SPECIAL.items()},
    )


def _write_start(texts: Sequence[str], folder: Path, recipe: Pretraining) -> None:
    tokenizer = make_tokenizer(texts, recipe.max_length)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.width,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        intermediate_size=recipe.intermediate,
        max_position_embeddings=recipe.max_length,
        initializer_range=recipe.initializer_range,
        pad_token_id=tokenizer.pad_token_id,
    )
    with quiet_transformers():
        with seeded(recipe.seed, "tiny"):
            model = BertForMaskedLM(config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
