"""Treebanks: multiword tokens and empty nodes are no words, the world's trees and real ones have one form."""

import pytest

from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.treebank import TREEBANKS, read_row

ROW = {
    # `don't` is a multiword token; the second `find` an empty node
    "text": "We don't find.",
    "tokens": ["We", "don't", "do", "n't", "find", "find", "."],
    "upos": [1, 0, 2, 3, 4, 4, 5],
    "head": ["4", "None", "4", "4", "0", "None", "4"],
    "deprel": ["nsubj", "_", "aux", "advmod:neg", "root", "_", "punct"],
}
UPOS = ["_", "PRON", "AUX", "PART", "VERB", "PUNCT"]


def test_multiword_tokens_and_empty_nodes_are_no_words() -> None:
    sentence = read_row("here", ROW, UPOS)

    assert [sentence.text[start:end] for start, end in sentence.spans] == ["We", "do", "n't", "find", "."]
    assert sentence.heads == (4, 4, 4, 0, 4)
    assert sentence.relations == ("nsubj", "aux", "advmod", "root", "punct")
    assert sentence.upos == ("PRON", "AUX", "PART", "VERB", "PUNCT")


def test_rows_with_parts_of_speech_by_name_and_heads_as_numbers_are_read_too() -> None:
    row = {**ROW, "upos": [UPOS[tag] for tag in ROW["upos"]], "head": [4, None, 4, 4, 0, None, 4]}  # type: ignore[call-overload]

    assert read_row("here", row) == read_row("here", ROW, UPOS)


def test_the_world_has_a_dev_split_that_is_apart() -> None:
    bank = TREEBANKS["world"].load()

    assert (len(bank.train), len(bank.dev), len(bank.test)) == (640, 160, 200)
    assert not {each.text for each in bank.train} & {each.text for each in (*bank.dev, *bank.test)}
    assert len(fingerprint(bank.rows())) == 64


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_english_ewt_and_pud_are_whole_and_every_sentence_stands_in_its_own_text() -> None:
    bank = TREEBANKS["ewt"].load()

    assert (len(bank.train), len(bank.dev), len(bank.test), len(bank.shifted["pud"])) == (12544, 2001, 2077, 1000)
    assert sum(map(len, bank.train)) == 204577
    assert sum(len(each) == 1 for each in bank.test) == 151
    contracted = next(each for each in bank.test if "don't" in each.text)
    assert "n't" in [contracted.text[start:end] for start, end in contracted.spans]
