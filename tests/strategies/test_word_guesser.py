"""The head that is kept: fitted where there is none, the same for all that start alike, higher loss after tuning."""

from dataclasses import replace

import pytest
import torch
from small_fits import TEXTS, fit, weights

from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.mlm_head import new_head
from thawbench.strategies.mlm_objective import score_mlm
from thawbench.strategies.word_guesser import WordGuesser, fitted_head

READ = [f"the {beast} {what}" for beast in ("cat", "dog") for what in ("sat on a mat", "ran under the rug", "was bad")]


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


def test_it_is_fitted_once_for_all_that_start_alike_and_again_with_the_same_bits(tiny: AdaptedEncoder) -> None:
    first = guesser(tiny).head
    assert guesser(tiny).head is first
    assert isinstance(tiny.source, Encoder)
    again = fitted_head(tiny.source, tuple(READ))

    assert again is not first
    assert all(torch.equal(weight, again.state_dict()[name]) for name, weight in first.state_dict().items())


def test_the_loss_is_the_same_twice_and_rises_by_tuning_on_something_else(tiny: AdaptedEncoder) -> None:
    tuned = fit("finetune", tiny, lr=3e-3)
    kept = tiny.word_guesser(TEXTS)

    assert kept.loss(tiny, TEXTS) == kept.loss(tiny, TEXTS)
    assert kept.loss(tuned, TEXTS) > kept.loss(tiny, TEXTS)


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
