"""The mixture by hand, on average, and in the network; what is mixed and what is left of it."""

import torch
from small_fits import fit, weights

from thawbench.contracts import Seeds
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.mixout import Mixed, Mixout, MixoutConfig
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body

START = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
NOW = torch.tensor([[2.0, 2.0], [3.0, 0.0]])


def draws(p: float, count: int) -> torch.Tensor:
    mixed = Mixed(START, p)
    with seeded(0, "test"):
        return torch.stack([mixed(NOW) for _ in range(count)])


def test_an_input_falls_back_with_all_its_weights_or_moves_on_by_one_over_one_minus_p() -> None:
    """Of p = .75: a column is the start's, or start + 4 (now - start): (5, 3) and (2, -12)."""
    seen = draws(0.75, 200)

    assert {tuple(column) for column in seen[:, :, 0].tolist()} == {(1.0, 3.0), (5.0, 3.0)}
    assert {tuple(column) for column in seen[:, :, 1].tolist()} == {(2.0, 4.0), (2.0, -12.0)}
    assert 0.65 < (seen[:, 0, 0] == 1.0).float().mean() < 0.85
    assert len({tuple(draw.ravel().tolist()) for draw in seen}) == 4  # the columns do not fall together


def test_the_mean_over_many_draws_is_the_weight_itself() -> None:
    assert torch.allclose(draws(0.3, 20_000).mean(dim=0), NOW, atol=0.05)


def test_out_of_training_it_is_the_weight_and_where_nothing_moved_too() -> None:
    mixed = Mixed(START, 0.5).eval()
    assert torch.equal(mixed(NOW), NOW)
    assert torch.equal(mixed.train()(START), START)


def test_the_gradient_is_that_of_the_mixture() -> None:
    weight = NOW.clone().requires_grad_()
    with seeded(0, "test"):
        mixed = Mixed(START, 0.75)(weight)
    mixed.sum().backward()
    kept = (mixed.detach() != START).any(dim=0)

    assert weight.grad is not None
    assert torch.equal(weight.grad, (4.0 * kept).expand(2, 2))


def test_in_training_every_linear_layer_that_takes_part_mixes_and_dropout_makes_room(tiny: AdaptedEncoder) -> None:
    start = Body.of(tiny.source)
    body = start.copy(0.1)
    names = set(weights(tiny))
    with Mixout(MixoutConfig(p=0.5)).in_training(body, start, Seeds(), 0) as network:
        model = network.encoder.model
        mixing = {name for name, module in model.named_modules() if isinstance(module, Mixed)}
        rates = {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}
        assert sum(block.name.startswith("layer.") for block in network.blocks()) == 2

    assert len(mixing) == 2 * 6
    assert not any(name.startswith("pooler.") for name in mixing)
    assert rates == {0.0}
    assert set(dict(body.encoder.model.named_parameters())) == names


def test_it_keeps_the_weights_nearer_to_their_start(tiny: AdaptedEncoder) -> None:
    """With p = .9 most of a gradient falls away at most steps."""
    far, near = (fit("mixout", tiny, p=p, lr=1e-3, weight_decay=0.0, dropout=0.0) for p in (0.0, 0.9))
    name = "encoder.layer.0.intermediate.dense.weight"
    before = weights(tiny)[name]

    assert (weights(near)[name] - before).norm() < (weights(far)[name] - before).norm()
