import numpy as np
import torch

from thawbench.strategies.randomness import generator, seeded


def test_a_seeded_block_draws_the_same_whatever_was_drawn_before() -> None:
    with seeded(3, "order", 7):
        first = torch.rand(4)
    torch.rand(11)
    with seeded(3, "order", 7):
        second = torch.rand(4)
    assert torch.equal(first, second)


def test_seed_stream_and_step_each_change_what_is_drawn() -> None:
    draws = []
    for seed, stream, step in ((0, "init", 0), (1, "init", 0), (0, "order", 0), (0, "init", 1)):
        with seeded(seed, stream, step):
            draws.append(float(torch.rand(1)))
    assert len(set(draws)) == 4


def test_a_seeded_block_leaves_the_global_generators_as_they_were() -> None:
    torch_before, numpy_before = torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
    with seeded(0, "init"):
        torch.rand(5)
        generator(0, "init").random(5)
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert repr(np.random.get_state()) == numpy_before  # noqa: NPY002


def test_an_error_inside_a_seeded_block_restores_the_generator_too() -> None:
    before = torch.get_rng_state()
    try:
        with seeded(0, "init"):
            torch.rand(5)
            raise KeyError
    except KeyError:
        pass
    assert torch.equal(torch.get_rng_state(), before)


def test_blocks_nest_without_disturbing_each_other() -> None:
    with seeded(0, "order"):
        expected = torch.rand(2)
    with seeded(0, "order"):
        first = torch.rand(1)
        with seeded(1, "init"):
            torch.rand(9)
        rest = torch.rand(1)
    # one draw of two and two draws of one are the same two numbers of the stream
    assert torch.equal(torch.cat([first, rest]), expected)


def test_generators_of_the_same_name_agree_and_others_do_not() -> None:
    assert generator(0, "order", 2).random() == generator(0, "order", 2).random()
    assert generator(0, "order", 2).random() != generator(0, "order", 3).random()
