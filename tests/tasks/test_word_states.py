"""A word is the mean of its pieces; what has no piece, is not finite or takes too much memory is told."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from thawbench.contracts import FloatArray, HiddenStates
from thawbench.errors import DegenerateError, NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.tasks import room
from thawbench.tasks.parsed_sentence import ParsedSentence, parsed
from thawbench.tasks.treebank import read_row
from thawbench.tasks.word_states import collect


def chain(words: str) -> ParsedSentence:
    """Each word under the one before it."""
    each = words.split()
    return parsed(words, words, each, range(len(each)), ["dep"] * len(each), ["NOUN"] * len(each))


@dataclass
class Given:
    """An adaptation with these states and offsets for any text."""

    states: FloatArray
    offsets: Sequence[tuple[int, int]]

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for _ in texts:
            yield HiddenStates(self.states, np.array(self.offsets, dtype=np.int64))


def test_a_word_is_the_mean_of_its_pieces_in_every_layer() -> None:
    # [CLS] gre|en e|ggs, the third piece reaching over the blank
    states = np.array([[[9], [1], [3], [6], [8]], [[9], [10], [30], [60], [80]]], dtype=np.float32)
    given = Given(states, [(0, 0), (0, 3), (3, 5), (4, 7), (7, 10)])

    found = collect(given, [chain("green eggs")] * 2, "here")  # type: ignore[arg-type]

    np.testing.assert_allclose(found.states[:, :, 0], [[10 / 3, 7] * 2, [100 / 3, 70] * 2])
    assert (found.starts, found.left_out) == ((0, 2), 0)


def test_the_words_of_a_multiword_token_share_the_piece_that_reaches_over_both() -> None:
    row = {
        "text": "We don't.",
        "tokens": ["We", "don't", "do", "n't", "."],
        "upos": ["PRON", "_", "AUX", "PART", "PUNCT"],
        "head": ["2", "None", "0", "2", "2"],
        "deprel": ["nsubj", "_", "root", "advmod", "punct"],
    }
    # [CLS] we don ' t .
    states = np.array([[[9], [1], [2], [4], [6], [8]]], dtype=np.float32)
    given = Given(states, [(0, 0), (0, 2), (3, 6), (6, 7), (7, 8), (8, 9)])

    found = collect(given, [read_row("here", row)], "here")  # type: ignore[arg-type]

    assert found.states[0, :, 0].tolist() == [1, 2, 4, 8]
    assert found.left_out == 0


def test_a_sentence_that_reaches_beyond_the_window_is_left_out(tiny: AdaptedEncoder) -> None:
    sentences = [chain("the cat sat"), chain("the cat sat " * 30), chain("a dog ran")]

    found = collect(tiny, sentences, "here")

    assert (found.sentences, found.starts, found.left_out) == ((sentences[0], sentences[2]), (0, 3), 1)
    inside = next(tiny.hidden_states(["a dog ran"]))
    np.testing.assert_allclose(found.states[:, 3:], inside.states[:, 1:4], atol=1e-5)


def test_so_is_one_whose_last_word_the_window_cuts() -> None:
    short, long = (load_backbone(resolve_backbone(f"tiny:max_length={window}", device="cpu")) for window in (8, 64))
    sentence = chain("the dog saw the incomprehensibilities")

    assert collect(short, [sentence], "here").left_out == 1
    assert collect(long, [sentence], "here").left_out == 0


def test_where_no_sentence_is_left_there_are_no_states(tiny: AdaptedEncoder) -> None:
    found = collect(tiny, [chain("the cat sat " * 30)], "here")

    assert (found.sentences, found.left_out, found.states.size) == ((), 1, 0)


def test_states_that_are_not_finite_are_degenerate() -> None:
    given = Given(np.array([[[np.nan], [1], [2]]], dtype=np.float32), [(0, 0), (0, 1), (2, 3)])

    with pytest.raises(DegenerateError, match="hidden states of a b are not all finite"):
        collect(given, [chain("a b")], "here")  # type: ignore[arg-type]


def test_what_takes_too_much_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_BYTES", 2**20)
    given = Given(np.zeros((2, 2, 2**16), dtype=np.float32), [(0, 1), (2, 3)])

    with pytest.raises(NotApplicableError, match=re.escape("take fewer sentences, as in probe/ewt@1000")):
        collect(given, [chain("a b")] * 2, "probe/ewt@2000")  # type: ignore[arg-type]
