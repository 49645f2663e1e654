"""The control with the backbone's architecture and none of its knowledge."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Budget, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.random_vectors import RandomSource
from thawbench.strategies.trainable import Body
from thawbench.strategies.untrained import Untrained

TEXTS = ["the cat sat", "", "a dog ran"]


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(start: AdaptedEncoder, init: int) -> AdaptedEncoder:
    return Untrained().fit(start, TrainSet("t", 1, "f"), seeds=Seeds(init=init), budget=Budget(), adapt=no_adapt)


def test_weights_follow_from_the_init_seed(tiny: AdaptedEncoder) -> None:
    one, two = fit(tiny, 1), fit(tiny, 2)

    assert np.array_equal(Untrained().restore(tiny, one.state).encode(TEXTS), one.encode(TEXTS))
    assert np.array_equal(fit(tiny, 1).encode(TEXTS), one.encode(TEXTS))
    assert not np.allclose(one.encode(TEXTS), two.encode(TEXTS))
    assert not np.allclose(one.encode(TEXTS), tiny.encode(TEXTS))


def test_it_is_as_large_as_the_backbone_and_has_its_layers(tiny: AdaptedEncoder) -> None:
    adapted = fit(tiny, 0)

    assert tiny.source is not None
    assert adapted.state.cost.total_parameters == tiny.source.total_parameters
    assert adapted.state.cost.trainable_parameters == 0
    assert adapted.provides == tiny.provides
    assert len(next(adapted.hidden_states(TEXTS)).states) == 3


def test_what_is_no_encoder_cannot_be_untrained() -> None:
    with pytest.raises(NotApplicableError, match="replaced the backbone"):
        fit(AdaptedEncoder(RandomSource(0, 4)), 0)


def test_a_shallower_backbone_has_other_random_weights_and_another_key(tiny: AdaptedEncoder) -> None:
    shallow = replace(tiny, source=Body.of(tiny.source).without_top(1).source())
    one, two = fit(shallow, 1), fit(tiny, 1)
    assert one.source is not None
    assert two.source is not None
    assert one.source.key != two.source.key
