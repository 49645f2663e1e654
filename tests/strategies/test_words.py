"""Words out of tokens."""

from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.words import SPECIAL, spelled, words_of


def test_the_pieces_of_a_word_are_one_and_punctuation_stands_for_itself() -> None:
    text = "The mats, don't2 x"
    offsets = [(0, 0), (0, 3), (4, 7), (7, 8), (8, 9), (10, 13), (13, 14), (14, 15), (15, 16), (17, 18), (0, 0)]
    words = words_of(text, offsets)
    assert words.tolist() == [SPECIAL, 0, 1, 1, 2, 3, 4, 5, 5, 6, SPECIAL]
    assert spelled(text, offsets, words) == ["The", "mats", ",", "don", "'", "t2", "x"]


def test_a_text_of_no_tokens_has_no_words() -> None:
    words = words_of("", [(0, 0), (0, 0)])
    assert words.tolist() == [SPECIAL, SPECIAL]
    assert spelled("", [(0, 0), (0, 0)], words) == []


def test_a_real_tokenizers_words_are_those_of_the_text(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    text = "The zebras sat, not the dog"
    (tokens,) = tiny.source.tokenize([text])
    assert len(tokens.ids) > 9  # the tokenizer spells what it does not know
    named = spelled(text, tokens.offsets, words_of(text, tokens.offsets))
    assert named == ["The", "zebras", "sat", ",", "not", "the", "dog"]
