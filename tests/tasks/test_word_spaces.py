"""Which words are looked at, and what one pass over the texts keeps of them."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, HiddenStates
from thawbench.errors import DegenerateError, NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.tasks import room
from thawbench.tasks.isotropy import intra_similarity
from thawbench.tasks.word_pieces import shares, words_of
from thawbench.tasks.word_spaces import choose_words, layer_means, read_drawn, read_spaces

TEXTS = [
    "the cat sat on the mat.",
    "the dog ran",
    "what is the plot?",
    "who was the cat",
    "a film is not the plot of the film",
    "good",
]


class Unfinished:
    """An encoder one of whose texts has a state that is no number."""

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for number, _ in enumerate(texts):
            states = np.ones((3, 2, 4), dtype=np.float32)
            if number == 1:
                states[2, 1, 0] = np.nan
            yield HiddenStates(states, np.array([[0, 0], [0, 3]]))


# ---- words and their tokens -----------------------------------------------------------------------------------------


def test_words_are_runs_of_letters_and_digits_and_single_signs() -> None:
    text = "It's 3 naïve_cats, (no)…"

    assert [text[start:end] for start, end in words_of(text)] == [
        *("It", "'", "s", "3", "naïve_cats", ",", "(", "no", ")", "…")
    ]
    assert words_of(" \n") == ()


def test_a_word_shares_itself_out_among_its_tokens_and_one_without_a_token_has_none() -> None:
    # [CLS], "un", "do", "ing it" across two words, [SEP]; the last word was cut off
    offsets = np.array([[0, 0], [0, 2], [2, 4], [4, 10], [0, 0]])
    found = shares([(0, 7), (8, 10), (11, 14)], offsets)

    expected = np.array([[0, 1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert shares([], offsets).shape == (0, 5)


def test_a_word_that_the_window_cuts_has_none_of_its_first_pieces() -> None:
    offsets = np.array([[0, 0], [0, 3], [4, 6], [6, 7], [0, 0]])  # "the in·c" of "the incomprehensible"
    assert shares([(0, 3), (4, 20)], offsets).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert shares([(0, 3)], np.zeros((2, 2), dtype=np.int64)).tolist() == [[0, 0]]


def test_a_word_is_repeated_if_five_texts_have_it_and_counts_once_in_each() -> None:
    words = choose_words(TEXTS)
    (the,) = words.repeated

    assert the == ((0, 0), (1, 0), (2, 2), (3, 2), (4, 4))
    assert choose_words(TEXTS[:4]).repeated == ()


def test_of_a_word_in_many_texts_the_first_ten_are_taken() -> None:
    words = choose_words([f"the {number}" for number in range(30)])

    assert words.repeated == (tuple((number, 0) for number in range(10)),)


def test_the_word_that_is_drawn_from_a_text_depends_on_that_text_alone_and_on_all_of_it() -> None:
    texts = [" ".join(f"{number}{letter}" for letter in "abcd") for number in range(400)]
    drawn = choose_words(texts).drawn

    assert choose_words(texts[::-1]).drawn == drawn[::-1]
    assert np.bincount(drawn, minlength=4).min() > 70  # of 100 each


# ---- one pass -------------------------------------------------------------------------------------------------------


def test_a_pass_keeps_what_reading_every_word_by_hand_gives(tiny: AdaptedEncoder) -> None:
    words = choose_words(TEXTS)
    by_hand: list[list[Any]] = []
    means = []
    for text, inside in zip(TEXTS, tiny.hidden_states(TEXTS), strict=True):
        own = []
        for start, end in words_of(text):
            tokens = [t for t, (a, b) in enumerate(inside.offsets) if a < b and start <= a and b <= end]
            own.append(inside.states[:, tokens].mean(axis=1))
        by_hand.append(own)
        means.append(inside.states.mean(axis=1))
    everything = np.array([word for own in by_hand for word in own])  # (words, layers, dim)

    found = read_spaces(tiny, TEXTS, words, "here")

    for number, place in enumerate(words.drawn):
        np.testing.assert_allclose(found.drawn.vectors[:, number], by_hand[number][place], atol=1e-6)
    (the,) = found.repeated
    np.testing.assert_allclose(the[:, 2], by_hand[2][2], atol=1e-6)
    np.testing.assert_allclose(found.means, np.stack(means, axis=1), atol=1e-6)
    for layer in range(3):
        longer = [np.array(own)[:, layer] for own in by_hand if len(own) > 1]
        assert len(longer) == 5
        assert found.intra[layer] == pytest.approx(np.mean([intra_similarity(own) for own in longer]), abs=1e-6)
        np.testing.assert_allclose(found.covariance[layer], np.cov(everything[:, layer].T, bias=True), atol=1e-5)


def test_the_drawn_words_alone_are_the_same(tiny: AdaptedEncoder) -> None:
    words = choose_words(TEXTS)
    alone, together = read_drawn(tiny, TEXTS, words), read_spaces(tiny, TEXTS, words, "here").drawn

    np.testing.assert_array_equal(alone.vectors, together.vectors)
    assert alone.seen.all()


def test_the_mean_of_the_last_layer_is_the_vector_of_mean_pooling(tiny: AdaptedEncoder) -> None:
    found = layer_means(tiny, TEXTS, "here")

    assert found.shape == (3, 6, 32)
    np.testing.assert_allclose(found[-1], tiny.encode(TEXTS), atol=1e-5)


def test_a_word_beyond_the_window_is_not_seen_and_nothing_is_made_up_for_it(tiny: AdaptedEncoder) -> None:
    texts = [" ".join(["the"] * 70 + [f"cat {number}"]) for number in range(5)]
    words = choose_words(texts)
    last = type(words)(words.spans, (71,) * 5, (*words.repeated, tuple((number, 70) for number in range(5))))
    found = read_spaces(tiny, texts, last, "here")

    assert not found.drawn.seen.any()
    assert len(last.repeated) == 3  # `the`, `cat`, and `cat` once more
    assert [each.shape for each in found.repeated] == [(3, 5, 32)]


def test_texts_of_one_word_have_no_similarity_within() -> None:
    class OneToken:
        def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
            for number, _ in enumerate(texts):
                yield HiddenStates(np.full((2, 1, 3), number + 1, dtype=np.float32), np.array([[0, 1]]))

    texts = ["a", "b", "c"]
    assert np.isnan(read_spaces(cast("Adapted", OneToken()), texts, choose_words(texts), "here").intra).all()


def test_a_state_that_is_no_number_is_told_with_its_layer() -> None:
    texts, unfinished = ["one", "two"], cast("Adapted", Unfinished())
    told = "the states of text 2 of 2 are not finite in layer 2"

    with pytest.raises(DegenerateError, match=told):
        read_drawn(unfinished, texts, choose_words(texts))
    with pytest.raises(DegenerateError, match=told):
        read_spaces(unfinished, texts, choose_words(texts), "here")
    with pytest.raises(DegenerateError, match="not finite in layer 2"):
        layer_means(unfinished, texts, "here")


def test_an_encoder_that_has_a_token_for_no_word_is_degenerate() -> None:
    class Blind:
        def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
            for _ in texts:
                yield HiddenStates(np.ones((2, 1, 3), dtype=np.float32), np.array([[0, 0]]))

    with pytest.raises(DegenerateError, match="of all words of 2 texts fewer than two have a token"):
        read_spaces(cast("Adapted", Blind()), ["a", "b"], choose_words(["a", "b"]), "here")


def test_what_takes_too_much_memory_is_refused_before_it_is_taken(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # of three layers of 32: a mean and two drawn words of each of six texts, `the` of five, all but the means twice
    vectors = 6 + 2 * (2 * 6 + 5)
    needed = 3 * 32 * (4 * vectors + 2 * 8 * 32)
    words = choose_words(TEXTS)

    monkeypatch.setattr(room, "MOST_BYTES", needed)
    assert read_spaces(tiny, TEXTS, words, "geometry/stsb").means.shape == (3, 6, 32)
    monkeypatch.setattr(room, "MOST_BYTES", needed - 1)
    with pytest.raises(
        NotApplicableError, match=r"geometry/stsb@9 would hold .* take fewer texts, as in geometry/stsb@1000"
    ):
        read_spaces(tiny, TEXTS, words, "geometry/stsb@9")
    monkeypatch.setattr(room, "MOST_BYTES", 3 * 32 * 6 * 4 - 1)
    with pytest.raises(NotApplicableError, match="layers/sst2 would hold"):
        layer_means(tiny, TEXTS, "layers/sst2")
