"""Drift of layers: states made by hand, whose cosines are worked by hand."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, HiddenStates
from thawbench.tasks.drift import layer_drift, spread


class Inside:
    """Gives fixed states (layers, tokens, 2) by text."""

    def __init__(self, **states: Sequence[Sequence[Sequence[float]]]) -> None:
        self._states = states

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for text in texts:
            states = np.array(self._states[text], np.float32)
            yield HiddenStates(states, np.zeros((states.shape[1], 2), np.int64))


def trail(*states: Inside) -> list[Adapted]:
    return cast("list[Adapted]", list(states))


def test_the_cosine_of_each_token_counts_once_in_each_layer() -> None:
    first = Inside(one=[[[1, 0], [0, 2]], [[1, 0], [1, 0]]], two=[[[1, 0]], [[0, 1]]])
    # layer 0: 1 (twice as long), 0 and 1; layer 1: 4/5, -1 and 1
    other = Inside(one=[[[2, 0], [3, 0]], [[4, 3], [-1, 0]]], two=[[[5, 0]], [[0, 1]]])
    unmoved, moved = layer_drift(trail(first, first, other), ["one", "two"])

    assert unmoved.tolist() == pytest.approx([1, 1])
    assert moved.tolist() == pytest.approx([2 / 3, (4 / 5 - 1 + 1) / 3])


def test_what_lost_its_top_layers_is_compared_in_those_that_it_has() -> None:
    whole = Inside(one=[[[1, 0]], [[0, 1]], [[1, 1]]])
    cut = Inside(one=[[[1, 0]], [[1, 0]]])

    assert layer_drift(trail(whole, cut, whole), ["one"])[0].tolist() == [1, 0]
    assert len(layer_drift(trail(cut, whole), ["one"])[0]) == 2


def test_texts_are_taken_at_even_distances_and_each_once() -> None:
    assert spread(list("abcdefghij"), 3) == ("a", "d", "g")
    assert spread(["a", "b"], 5) == ("a", "b")
    assert spread([("a", "b"), ("b", "c"), ("d", "e"), ("f", "g")], 2) == ("a", "b", "d", "e")
