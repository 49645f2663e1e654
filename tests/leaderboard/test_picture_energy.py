"""The gradients of the pair energies: what autograd and differences say, and what the picture tells of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from thawbench.leaderboard.picture_energy import Norm, draw_energy, energies, gradients
from thawbench.strategies.energy import energy

DRAWS = np.random.default_rng(11)
VECTORS, PARTNER = DRAWS.standard_normal((20, 5)), DRAWS.standard_normal(5)
NORMS: tuple[Norm, ...] = ("l1", "l2", "cosine")


@pytest.mark.parametrize("norm", NORMS)
def test_energies_and_gradients_are_those_that_strategies_train_on(norm: Norm) -> None:
    vectors = torch.from_numpy(VECTORS).requires_grad_()
    found = energy(vectors, torch.from_numpy(PARTNER).expand(20, 5), norm)
    found.sum().backward()  # type: ignore[no-untyped-call]

    assert vectors.grad is not None
    np.testing.assert_allclose(energies(norm, VECTORS, PARTNER), found.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(gradients(norm, VECTORS, PARTNER), vectors.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_gradients_are_the_limits_of_differences(norm: Norm) -> None:
    step = 1e-6
    moved = [
        (energies(norm, VECTORS + step * axis, PARTNER) - energies(norm, VECTORS - step * axis, PARTNER)) / (2 * step)
        for axis in np.eye(5)
    ]

    np.testing.assert_allclose(gradients(norm, VECTORS, PARTNER), np.stack(moved, axis=-1), atol=1e-7)


def test_their_lengths_are_what_the_picture_says() -> None:
    lengths = {norm: np.linalg.norm(gradients(norm, VECTORS, PARTNER), axis=1) for norm in NORMS}
    sines = np.sqrt(1 - (1 - energies("cosine", VECTORS, PARTNER)) ** 2)

    np.testing.assert_allclose(lengths["l1"], np.sqrt(5))
    np.testing.assert_allclose(lengths["l2"], 1)
    np.testing.assert_allclose(lengths["cosine"], sines / np.linalg.norm(VECTORS, axis=1))
    np.testing.assert_allclose((gradients("cosine", VECTORS, PARTNER) * VECTORS).sum(axis=1), 0, atol=1e-12)


def test_at_the_partner_itself_l1_and_l2_pull_nowhere() -> None:
    here: NDArray[np.float64] = PARTNER[None]

    assert not gradients("l1", here, PARTNER).any()
    assert not gradients("l2", here, PARTNER).any()
    assert np.isnan(gradients("cosine", np.zeros((1, 5)), PARTNER)).all()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_has_the_same_bytes_each_time_and_others_in_the_dark(tmp_path: Path, kind: str) -> None:
    files = [tmp_path / f"{name}.{kind}" for name in ("one", "two", "dark")]
    draw_energy(files[0])
    draw_energy(files[1])
    draw_energy(files[2], "dark")
    one, two, dark = (file.read_bytes() for file in files)

    assert one == two != dark
    assert len(one) > 10_000
    assert list(tmp_path.iterdir()) != []
    assert not list(tmp_path.glob(".*"))
