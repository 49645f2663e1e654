"""The small BERT that is made here: the same bytes each time, files that transformers reads, a tokenizer of words."""

import hashlib
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from thawbench.strategies.backbone import load_backbone, quiet_transformers, resolve_backbone
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.mlm_head import own_head
from thawbench.strategies.mlm_objective import score_mlm
from thawbench.strategies.tiny_backbone import Pretraining, make_backbone, make_tokenizer

SMALL = Pretraining(layers=2, width=32, intermediate=64, max_length=32, steps=300, batch_size=16, lr=2e-3)


def sentences(count: int) -> list[str]:
    """Where the last word follows from the first: what a masked language model can find out."""
    draw = random.Random(0)
    foods = {"cat": "fish", "dog": "bones", "horse": "hay", "bird": "seeds"}
    return [
        f"The {who} {draw.choice(['always', 'never'])} eats {foods[who]}." for who in draw.choices([*foods], k=count)
    ]


def made(folder: Path, recipe: Pretraining = SMALL) -> Path:
    folder.mkdir()
    make_backbone(sentences(200), folder, recipe)
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("made") / "once")


def test_made_twice_it_has_the_same_bytes_whatever_threads_and_random_numbers_are_in_use(
    folder: Path, tmp_path: Path
) -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        with torch.random.fork_rng():
            torch.manual_seed(99)
            again = digests(made(tmp_path / "again"))
        assert torch.get_num_threads() == threads + 1
    finally:
        torch.set_num_threads(threads)
    assert again == digests(folder)
    assert {"config.json", "tokenizer.json", "model.safetensors"} <= again.keys()


def test_another_seed_gives_other_weights_and_the_same_tokenizer(folder: Path, tmp_path: Path) -> None:
    other = digests(made(tmp_path / "other", replace(SMALL, seed=1, steps=1)))
    assert other["model.safetensors"] != digests(folder)["model.safetensors"]
    assert other["tokenizer.json"] == digests(folder)["tokenizer.json"]


def test_it_has_learned_what_follows_from_what(folder: Path) -> None:
    source = load_backbone(resolve_backbone(str(folder), precision="float32", device="cpu")).source
    assert isinstance(source, Encoder)
    head = own_head(source)
    assert head is not None
    scores = score_mlm(source, head, sentences(100))
    assert scores.accuracy > 0.6  # "the" and "eats" are certain, and so is the food or the eater
    assert scores.loss < 1.2


def test_transformers_reads_all_of_it_with_the_head_and_all_but_a_pooler_without(folder: Path) -> None:
    with quiet_transformers():
        model, whole = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
        _, bare = AutoModel.from_pretrained(folder, output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    assert not whole["missing_keys"]
    assert not whole["unexpected_keys"]
    assert {name.partition(".")[0] for name in bare["missing_keys"]} == {"pooler"}
    assert {name.partition(".")[0] for name in bare["unexpected_keys"]} == {"cls"}
    read = tokenizer("The cat always eats [MASK].", return_tensors="pt")
    best = model.eval()(**read).logits[0, 5].argmax()
    assert tokenizer.decode(best) == "fish"
    assert model.config.hidden_dropout_prob == 0.1  # off while it is pretrained, on for whoever tunes it


def test_the_tokenizer_keeps_words_whole_spells_others_and_reads_any_text() -> None:
    tokenizer = make_tokenizer(["The goalkeeper's old-fashioned goalkeeper", "the cat"], max_length=32)
    assert tokenizer.tokenize("The GOALKEEPER, the cat's") == ["the", "goalkeeper", ",", "the", "cat", "'", "s"]
    assert tokenizer.tokenize("a dog 7") == ["a", "d", "##o", "##g", "7"]
    assert tokenizer.tokenize("人") == ["[UNK]"]
    assert tokenizer("cat", "the").tokens() == ["[CLS]", "cat", "[SEP]", "the", "[SEP]"]
    assert tokenizer("cat", "the")["token_type_ids"] == [0, 0, 0, 1, 1]
    assert [tokenizer.convert_ids_to_tokens(place) for place in range(5)] == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    places = [tokenizer.get_vocab()[word] for word in ("goalkeeper", "the", "cat")]
    assert places == sorted(places)  # frequent words first, and of equals by the alphabet for the rest
