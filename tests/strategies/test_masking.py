"""Masking: what is chosen, what is read in its place, and in which shares."""

from typing import cast

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.masking import Masking
from thawbench.strategies.randomness import generator


@pytest.fixture(scope="module")
def tokenizer(tiny: AdaptedEncoder) -> PreTrainedTokenizerFast:
    return cast(Encoder, tiny.source).tokenizer


def sentences(tokenizer: PreTrainedTokenizerFast, count: int, words: int) -> np.ndarray:
    """Rows of [CLS] words [SEP] [PAD], the words drawn from all that are no special tokens."""
    rng = np.random.default_rng(0)
    cls, sep, pad = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    ordinary = [place for place in range(len(tokenizer)) if place not in tokenizer.all_special_ids]
    return np.array([[cls, *rng.choice(ordinary, words), sep, pad] for _ in range(count)], dtype=np.int64)


def test_of_every_text_15_percent_of_the_words_are_chosen_rounded(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = sentences(tokenizer, 50, 20)
    masked = Masking(tokenizer)(ids, generator(0, "test"))
    assert np.bincount(masked.places // ids.shape[1]).tolist() == [3] * 50
    assert (masked.targets == ids.ravel()[masked.places]).all()


def test_a_text_of_one_word_has_that_word_chosen_and_one_of_none_has_none(tokenizer: PreTrainedTokenizerFast) -> None:
    cls, sep, pad = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    ids = np.array([[cls, 30, sep, pad], [cls, sep, pad, pad]], dtype=np.int64)
    masked = Masking(tokenizer)(ids, generator(0, "test"))
    assert masked.places.tolist() == [1]
    assert masked.targets.tolist() == [30]


def test_special_tokens_and_padding_are_never_touched_nor_read_instead(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = sentences(tokenizer, 300, 8)
    special = np.array(tokenizer.all_special_ids)
    masked = Masking(tokenizer, rate=1.0)(ids, generator(3, "test"))
    kept = np.isin(ids, special)
    assert (masked.ids[kept] == ids[kept]).all()
    assert len(masked.places) == 300 * 8
    assert set(np.unique(masked.ids[~kept])) & set(special.tolist()) == {tokenizer.mask_token_id}


def test_80_percent_are_hidden_10_replaced_and_10_left(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = sentences(tokenizer, 2000, 20)
    masked = Masking(tokenizer)(ids, generator(0, "test"))
    read = masked.ids.ravel()[masked.places]
    hidden, left = read == tokenizer.mask_token_id, read == masked.targets
    words = len(tokenizer) - len(tokenizer.all_special_ids)
    # 6000 places: three standard deviations are .0155 and .0116; a replacement is by chance the word itself
    assert abs(hidden.mean() - 0.8) < 0.0155
    assert abs(left.mean() - (0.1 + 0.1 / words)) < 0.0116
    replaced = read[~hidden & ~left]
    assert len(np.unique(replaced)) == words  # every word serves
    untouched = np.setdiff1d(np.arange(ids.size), masked.places)
    assert (masked.ids.ravel()[untouched] == ids.ravel()[untouched]).all()


def test_every_place_is_as_likely_as_another(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = sentences(tokenizer, 4000, 10)
    masked = Masking(tokenizer, rate=0.3)(ids, generator(1, "test"))
    often = np.bincount(masked.places % ids.shape[1], minlength=ids.shape[1])[1:11] / 4000
    assert np.abs(often - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / 4000)


def test_the_same_generator_gives_the_same_masks_and_another_seed_others(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = sentences(tokenizer, 20, 10)
    masking = Masking(tokenizer)
    first, again, other = (masking(ids, generator(seed, "test")) for seed in (0, 0, 1))
    assert np.array_equal(first.ids, again.ids)
    assert not np.array_equal(first.ids, other.ids)


def test_a_tokenizer_without_a_mask_is_refused() -> None:
    class Maskless:
        mask_token_id = None

    with pytest.raises(NotApplicableError, match="no mask token"):
        Masking(cast(PreTrainedTokenizerFast, Maskless()))
