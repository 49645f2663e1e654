"""New top layers: drawn as the source says, from the init seed, and nothing below them touched."""

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, moved, weights

from thawbench.contracts import Budget, Seeds
from thawbench.strategies.adapted import AdaptedEncoder

NOTHING = Budget(steps=0)


def test_matrices_are_normal_biases_zero_and_norms_one(tiny: AdaptedEncoder) -> None:
    fresh = fit("reinit_top", tiny, budget=NOTHING, k=1)
    top = {name: weight for name, weight in weights(fresh).items() if name.startswith("encoder.layer.1.")}
    drawn = torch.cat([weight.detach().ravel() for weight in top.values() if weight.ndim > 1])

    assert moved(fresh, tiny) <= set(top)
    assert {name for name in top if name.endswith("weight") and top[name].ndim > 1} <= moved(fresh, tiny)
    assert len(drawn) == 4 * 32 * 32 + 2 * 32 * 64
    assert drawn.mean().item() == pytest.approx(0.0, abs=0.01)
    assert drawn.std().item() == pytest.approx(0.2, rel=0.02)  # the initializer_range of this model
    for name, weight in top.items():
        if weight.ndim == 1:
            assert torch.equal(weight, torch.full_like(weight, 0.0 if name.endswith("bias") else 1.0))


def test_the_layers_below_make_what_they_made(tiny: AdaptedEncoder) -> None:
    fresh = fit("reinit_top", tiny, budget=NOTHING, k=1)

    for new, old in zip(fresh.hidden_states(TEXTS), tiny.hidden_states(TEXTS), strict=True):
        assert np.array_equal(new.states[:2], old.states[:2])
        assert not np.allclose(new.states[2], old.states[2], atol=0.1)


def test_they_come_from_the_init_seed(tiny: AdaptedEncoder) -> None:
    one, again, other = (fit("reinit_top", tiny, seeds=Seeds(init=seed), budget=NOTHING, k=2) for seed in (0, 0, 1))

    assert np.array_equal(one.encode(TEXTS), again.encode(TEXTS))
    assert not np.allclose(one.encode(TEXTS), other.encode(TEXTS), atol=0.1)
