"""What all strategies hold to that are `finetune` and a little more: their limits, their state, their way back."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_fits import TEXTS, fit, inputs_of, moods, moved, pairs, restored, same_bytes, weights

from thawbench.contracts import Provides, Seeds
from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.classification import Classification
from thawbench.strategies.interruption import Interrupted

LIMITS: list[tuple[str, dict[str, Any]]] = [
    ("drop_top", {"k": 0}),
    ("freeze_lower", {"k": 0}),
    ("reinit_top", {"k": 0}),
    ("llrd", {"factor": 1.0}),
    ("label_smoothing", {"smoothing": 0.0}),
    ("mixout", {"p": 0.0}),
]
GENTLE: list[tuple[str, dict[str, Any]]] = [
    ("drop_top", {"k": 1}),
    ("freeze_lower", {"k": 1}),
    ("freeze_lower", {"k": 2}),
    ("reinit_top", {"k": 1}),
    ("llrd", {"factor": 0.5}),
    ("label_smoothing", {"smoothing": 0.2}),
    ("mixout", {"p": 0.5}),
    ("bitfit", {}),
    ("lora", {"r": 4}),
]
SPELLED = [f"{name}:{','.join(f'{key}={value}' for key, value in config.items())}" for name, config in GENTLE]


@pytest.mark.parametrize("data", [moods(dev=True), pairs()], ids=["texts", "pairs"])
@pytest.mark.parametrize(("name", "config"), LIMITS, ids=[name for name, _ in LIMITS])
def test_at_its_limit_it_is_finetune_to_the_bit(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any], data: Any
) -> None:
    plain, limit = (
        fit(kind, tiny, data, Seeds(0, 1, 2), **given) for kind, given in (("finetune", {}), (name, config))
    )

    assert same_bytes(plain, limit, inputs_of(data), data.name)
    assert moved(limit, tiny)


@pytest.mark.parametrize(("name", "config"), GENTLE, ids=SPELLED)
def test_away_from_it_it_learns_something_else_and_repeats_it(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    plain, one, again = fit("finetune", tiny), fit(name, tiny, **config), fit(name, tiny, **config)

    assert same_bytes(one, again, TEXTS, "moods")
    assert not np.allclose(one.predict(TEXTS, "moods"), plain.predict(TEXTS, "moods"), atol=1e-6)
    for other in (Seeds(init=1), Seeds(order=1)):
        assert not same_bytes(one, fit(name, tiny, seeds=other, **config), TEXTS, "moods")


@pytest.mark.parametrize("data", [moods(dev=True), pairs()], ids=["texts", "pairs"])
@pytest.mark.parametrize(("name", "config"), GENTLE, ids=SPELLED)
def test_saved_and_restored_it_is_the_same_to_the_last_bit(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any], data: Any, tmp_path: Path
) -> None:
    fitted = fit(name, tiny, data, **config)
    fitted.save(tmp_path)
    kind = strategies.get(name)
    loaded = kind(kind.Config(**config)).restore(tiny, load_state(tmp_path))

    assert np.array_equal(loaded.predict(inputs_of(data), data.name), fitted.predict(inputs_of(data), data.name))
    assert np.array_equal(loaded.encode(TEXTS), fitted.encode(TEXTS))
    assert loaded.provides == {Provides.VECTORS, Provides.CLASSES, Provides.LAYERS}
    for one, other in zip(loaded.hidden_states(TEXTS), fitted.hidden_states(TEXTS), strict=True):
        assert np.array_equal(one.states, other.states)


@pytest.mark.parametrize(("name", "config"), GENTLE, ids=SPELLED)
def test_its_state_holds_the_weights_that_differ_from_the_start_and_the_head(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any]
) -> None:
    fitted = fit(name, tiny, **config)
    stored = {key.removeprefix("encoder.") for key in fitted.state.tensors if key.startswith("encoder.")}

    assert stored == moved(fitted, tiny)
    assert {key for key in fitted.state.tensors if not key.startswith("encoder.")} == {
        "head.layers.1.weight",
        "head.layers.1.bias",
    }
    held = sum(weight.numel() for weight in weights(fitted).values()) + 2 * 32 + 2
    assert fitted.state.cost.total_parameters == held
    assert set(weights(restored(name, tiny, fitted, **config))) == set(weights(fitted))


@pytest.mark.parametrize(("name", "config"), GENTLE, ids=SPELLED)
def test_the_start_is_left_as_it_was(tiny: AdaptedEncoder, name: str, config: dict[str, Any]) -> None:
    before = {key: weight.clone() for key, weight in weights(tiny).items()}
    vectors = tiny.encode(TEXTS)
    fit(name, tiny, **config)

    assert all(torch.equal(weight, before[key]) for key, weight in weights(tiny).items())
    assert all(weight.requires_grad for weight in weights(tiny).values())
    assert tiny.source is not None
    assert np.array_equal(tiny.source.encode(TEXTS), vectors)


@pytest.mark.parametrize(("name", "config"), GENTLE, ids=SPELLED)
def test_cut_off_by_a_signal_and_fitted_again_it_is_the_same(
    tiny: AdaptedEncoder, name: str, config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = fit(name, tiny, batch_size=2, **config)
    loss = Classification.loss

    def cut_off(objective: Any, batch: Any, step: int) -> Any:
        if step == 4:
            monkeypatch.setattr(Classification, "loss", loss)
            signal.raise_signal(signal.SIGTERM)
        return loss(objective, batch, step)

    monkeypatch.setattr(Classification, "loss", cut_off)
    with pytest.raises(Interrupted), checkpointing(tmp_path):
        fit(name, tiny, batch_size=2, **config)
    assert list(tmp_path.iterdir())
    with checkpointing(tmp_path):
        resumed = fit(name, tiny, batch_size=2, **config)

    assert same_bytes(undisturbed, resumed, TEXTS, "moods")


@pytest.mark.parametrize("name", ["drop_top", "freeze_lower", "reinit_top"])
def test_more_layers_than_there_are_is_one_clear_error(tiny: AdaptedEncoder, name: str) -> None:
    with pytest.raises(UserError, match=r"k=3 is too many for backbone .*: it has 2 layers, so k is 0 to [12]$"):
        fit(name, tiny, k=3)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("drop_top", {"k": -1}),
        ("freeze_lower", {"k": -1}),
        ("reinit_top", {"k": -1}),
        ("llrd", {"factor": 0.0}),
        ("llrd", {"factor": 1.5}),
        ("label_smoothing", {"smoothing": 1.0}),
        ("mixout", {"p": 1.0}),
        ("lora", {"r": 0}),
        ("lora", {"batch_size": 0}),
    ],
)
def test_a_configuration_out_of_range_is_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        strategies.get(name).Config(**wrong)
