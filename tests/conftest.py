"""Encoders and a cache folder that the tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.strategies.randomness import seeded

_WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat",
    "rug",
    "who",
    "what",
    "is",
    "was",
    "not",
    "good",
    "bad",
    "film",
    "plot",
    "wing",
    "flow",
    "of",
    "in",
    "and",
]


def pytest_configure() -> None:
    """Let each of several workers have one thread: they would wait for one another's otherwise."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"  # of what tests start
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or leaves anything in the user's cache; what tests start inherits this through the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THAWBENCH_CACHE", os.fspath(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def embedded() -> AdaptedEncoder:
    """all-MiniLM-L6-v2 out of its package, in float32 on the CPU."""
    return load_backbone(resolve_backbone("embedded", precision="float32", device="cpu"))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 2 layers, 32 wide, with random weights and a WordPiece tokenizer of a few words and all letters."""
    folder = tmp_path_factory.mktemp("tiny")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!?'", *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys([*pieces, *_WORDS]))}
    backend = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = BertNormalizer(lowercase=True)
    backend.pre_tokenizer = BertPreTokenizer()
    marks = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,  # with the usual 0.02 all texts would look alike
    )
    with seeded(0, "tiny"):
        model = BertModel(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> AdaptedEncoder:
    """The encoder of `tiny_folder`, in float32 on the CPU: for tests that need an encoder and not a good one."""
    return load_backbone(resolve_backbone(os.fspath(tiny_folder), precision="float32", device="cpu"))
