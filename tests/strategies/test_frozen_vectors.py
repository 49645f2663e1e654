"""Strategies that move no weight of the backbone: a network as a head, and whitened vectors."""

import numpy as np
import pytest
from fakes import LengthSource
from small_fits import BAD, GOOD, MOODS, TEXTS, fit, inputs_of, moods, moved, pairs, restored, scores

from thawbench.contracts import Budget, ClassTarget, Labelled, Provides, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.frozen_mlp import FrozenMlpConfig
from thawbench.strategies.pca_whitening import PcaWhiteningConfig

POOL = tuple(f"{first} {second} {third}" for first in TEXTS for second in ("cat", "dog") for third in ("sat", "ran"))


def test_a_head_on_frozen_vectors_leaves_them_as_they_are_to_the_bit(tiny: AdaptedEncoder) -> None:
    fitted = fit("frozen_mlp", tiny)
    assert np.array_equal(fitted.encode(TEXTS), tiny.encode(TEXTS))
    assert not moved(fitted, tiny)
    assert fitted.source is tiny.source
    assert fitted.provides >= {Provides.VECTORS, Provides.CLASSES}


def test_it_learns_its_rows_and_comes_back_from_its_state(tiny: AdaptedEncoder) -> None:
    data = moods()
    fitted = fit("frozen_mlp", tiny, data, budget=Budget(steps=150), lr=1e-2)
    found = fitted.predict(inputs_of(data), "moods").argmax(axis=1)
    assert [MOODS.classes[place] for place in found] == [row.label for row in data.labelled]
    assert np.array_equal(restored("frozen_mlp", tiny, fitted).predict(TEXTS, "moods"), fitted.predict(TEXTS, "moods"))


def test_each_text_is_encoded_once_however_long_it_trains(tiny: AdaptedEncoder) -> None:
    with metered() as meter:
        fit("frozen_mlp", tiny, moods(dev=True), budget=Budget(steps=30))
    assert meter.texts == len(TEXTS)


def test_pairs_are_read_one_text_at_a_time_and_scores_come_back_in_their_range(tiny: AdaptedEncoder) -> None:
    fitted = fit("frozen_mlp", tiny, pairs(), budget=Budget(steps=60), lr=3e-3)
    found = fitted.predict(inputs_of(pairs()), "pairs").argmax(axis=1)
    truth = [MOODS.classes.index(str(row.label)) for row in pairs().labelled]
    assert np.mean(found == truth) > 0.9
    scored = fit("frozen_mlp", tiny, scores(), budget=Budget(steps=150), lr=1e-2)
    good, bad = scored.predict(GOOD, "scores"), scored.predict(BAD, "scores")
    assert good.mean() > bad.mean() + 1


def test_without_a_budget_a_small_set_gets_200_steps(tiny: AdaptedEncoder) -> None:
    assert len(fit("frozen_mlp", tiny, budget=Budget()).trace) == 200


def test_a_head_needs_labels_and_an_encoder(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="empty has no labelled rows"):
        fit("frozen_mlp", tiny, TrainSet("empty", 1, "e"))
    with pytest.raises(NotApplicableError, match="the vectors come from LengthSource"):
        fit("frozen_mlp", AdaptedEncoder(LengthSource()))


def test_whitened_texts_have_mean_0_and_covariance_1(tiny: AdaptedEncoder) -> None:
    fitted = fit("pca_whitening", tiny, TrainSet("pool", 1, "p", texts=POOL))
    vectors = fitted.encode(POOL).astype(np.float64)
    assert vectors.shape == (len(POOL), 31)  # the layer norm at the end takes one of 32 directions away
    assert np.abs(vectors.mean(axis=0)).max() < 1e-4
    assert np.abs(np.cov(vectors, rowvar=False, bias=True) - np.eye(vectors.shape[1])).max() < 1e-4


def test_dim_keeps_the_directions_of_the_greatest_variance(tiny: AdaptedEncoder) -> None:
    data = TrainSet("pool", 1, "p", texts=POOL)
    whole, cut = fit("pca_whitening", tiny, data).encode(POOL), fit("pca_whitening", tiny, data, dim=3).encode(POOL)
    assert np.array_equal(whole[:, :3], cut) or np.allclose(whole[:, :3], cut, atol=1e-5)
    centred = tiny.encode(POOL) - tiny.encode(POOL).mean(axis=0)
    greatest = np.linalg.svd(centred.astype(np.float64), full_matrices=False)[0][:, :3] * np.sqrt(len(POOL))
    assert np.allclose(np.abs((greatest * cut).mean(axis=0)), 1, atol=1e-3)


def test_no_text_gives_no_row_of_the_same_width(tiny: AdaptedEncoder) -> None:
    fitted = fit("pca_whitening", tiny, TrainSet("pool", 1, "p", texts=POOL), dim=5)
    assert fitted.encode([]).shape == (0, 5)
    assert fitted.encode(["who"]).dtype == np.float32


def test_fewer_texts_than_components_give_as_many_directions_as_they_span(tiny: AdaptedEncoder) -> None:
    texts = tuple(TEXTS[:5])
    vectors = fit("pca_whitening", tiny, TrainSet("few", 1, "f", texts=texts)).encode(texts).astype(np.float64)
    assert vectors.shape == (5, 4)
    assert np.allclose(np.cov(vectors, rowvar=False, bias=True), np.eye(4), atol=1e-3)


def test_a_large_pool_is_read_at_even_distances(tiny: AdaptedEncoder) -> None:
    with metered() as meter:
        fitted = fit("pca_whitening", tiny, TrainSet("pool", 1, "p", texts=POOL), texts=20)
    assert meter.texts == len(POOL[::3]) == 16
    mean = tiny.encode(POOL[::3]).mean(axis=0)
    assert np.allclose(fitted.state.tensors["mean"], mean, atol=1e-5)


def test_one_text_has_no_variance(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="no two texts with different vectors"):
        fit("pca_whitening", tiny, TrainSet("one", 1, "o", texts=("good", "good")))
    with pytest.raises(NotApplicableError, match="no two texts with different vectors"):
        fit("pca_whitening", tiny, TrainSet("none", 1, "o", ClassTarget(("a", "b")), (Labelled("good", "a"),)))


def test_a_configuration_that_cannot_be_is_refused() -> None:
    for config in (PcaWhiteningConfig, FrozenMlpConfig):
        for options in ({"dim": 0}, {"texts": 1}) if config is PcaWhiteningConfig else ({"lr": -1.0}, {"dropout": 1.0}):
            with pytest.raises(ValueError, match="must be"):
                config(**options)
