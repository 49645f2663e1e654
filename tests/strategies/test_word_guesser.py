"""The head that is kept: fitted where there is none, the same for all that start alike, higher loss after tuning."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, weights

from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.mlm_head import new_head
from thawbench.strategies.mlm_objective import score_mlm
from thawbench.strategies.word_guesser import WordGuesser, fitted_head

READ = ["the cat sat on a mat", "the dog ran under the rug", "who was bad"] * 20
"""What is hidden can be told from what is left."""


def guesser(adapted: AdaptedEncoder) -> WordGuesser:
    found = adapted.word_guesser(READ)
    assert isinstance(found, WordGuesser)
    return found


def test_a_backbone_without_a_head_gets_one_that_guesses_better_than_a_new_one_and_is_left_as_it_was(
    tiny: AdaptedEncoder,
) -> None:
    before = {name: weight.clone() for name, weight in weights(tiny).items()}
    assert isinstance(tiny.source, Encoder)
    fresh = score_mlm(tiny.source, new_head(tiny.source, 0), READ).loss

    assert guesser(tiny).loss(tiny, READ) < 0.8 * fresh
    assert all(torch.equal(weight, before[name]) for name, weight in weights(tiny).items())
    assert not tiny.source.model.training


def test_a_head_that_knows_no_more_than_how_frequent_words_are_is_none(tiny: AdaptedEncoder) -> None:
    rng = np.random.default_rng(0)
    drawn = [" ".join(rng.choice(["cat", "dog", "rug", "mat", "film"], 6)) for _ in range(60)]

    with pytest.raises(NotApplicableError, match="on 60 texts, guesses no better than by the frequency"):
        tiny.word_guesser(drawn)


def test_it_is_fitted_once_for_all_that_start_alike_and_again_with_the_same_bits(tiny: AdaptedEncoder) -> None:
    first = guesser(tiny).head
    assert guesser(tiny).head is first
    assert isinstance(tiny.source, Encoder)
    again = fitted_head(tiny.source, tuple(text for place, text in enumerate(READ) if place % 5))

    assert again is not first
    assert all(torch.equal(weight, again.state_dict()[name]) for name, weight in first.state_dict().items())


def test_the_loss_is_the_same_twice_and_rises_by_tuning_on_something_else(tiny: AdaptedEncoder) -> None:
    tuned = fit("finetune", tiny, lr=3e-3)
    kept = guesser(tiny)

    assert kept.loss(tiny, READ) == kept.loss(tiny, READ)
    assert kept.loss(tuned, READ) > kept.loss(tiny, READ)


@pytest.mark.parametrize("name", ["frozen_ebm", "progressive", "frozen_mlp"])
def test_what_only_maps_vectors_has_lost_nothing(tiny: AdaptedEncoder, name: str) -> None:
    kept = guesser(tiny)

    assert kept.loss(fit(name, tiny), TEXTS) == kept.loss(tiny, TEXTS)


def test_a_checkpoint_that_has_a_head_is_held_against_that(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    own = new_head(tiny.source, 7)

    assert guesser(replace(tiny, mlm_head=own)).head is own


def test_what_comes_from_no_encoder_cannot_be_asked(tiny: AdaptedEncoder) -> None:
    blind = replace(tiny, source=None)

    with pytest.raises(NotApplicableError, match="the vectors come from nothing"):
        blind.word_guesser(READ)
    with pytest.raises(NotApplicableError, match="the vectors come from nothing"):
        guesser(tiny).loss(blind, TEXTS)
    with pytest.raises(NotApplicableError, match="no text has a word"):
        tiny.word_guesser([""])
