"""Units into tasks: how many, how long, in which order."""

import random

import pytest

from thawbench.slurm.packing import GOOD_S, LEAST_S, MOST_TASKS, Pack, pack
from thawbench.slurm.units import Unit

HOUR = 3600.0


def units(*seconds: float) -> list[Unit]:
    return [Unit((place,), value) for place, value in enumerate(seconds)]


def length(packed: Pack) -> float:
    return sum(unit.seconds for unit in packed)


def test_little_work_is_one_task() -> None:
    assert [len(packed) for packed in pack(units(*[1.0] * 30), slots=8, limit_s=HOUR)] == [30]


def test_slots_share_the_work_as_long_as_each_has_the_least() -> None:
    packs = pack(units(*[1.0] * 200), slots=4, limit_s=HOUR)

    assert [length(packed) for packed in packs] == [50.0] * 4


def test_much_work_makes_tasks_of_the_good_length_and_none_below_the_least() -> None:
    draw = random.Random(0)
    some = units(*(draw.uniform(0.1, 20) for _ in range(5000)))

    lengths = [length(packed) for packed in pack(some, slots=8, limit_s=HOUR)]

    assert len(lengths) == int(sum(unit.seconds for unit in some) / GOOD_S)
    assert min(lengths) > LEAST_S
    assert max(lengths) < GOOD_S + 2 * 20


def test_every_unit_is_in_one_task_and_neighbours_stay_together() -> None:
    packs = pack(units(*[7.0] * 1000), slots=3, limit_s=HOUR)

    assert sorted(unit.places[0] for packed in packs for unit in packed) == list(range(1000))
    for packed in packs:
        places = [unit.places[0] for unit in packed]
        assert places == list(range(places[0], places[0] + len(places)))


def test_the_longest_task_is_sent_first() -> None:
    lengths = [length(packed) for packed in pack(units(50, 60, 300, 45, 41), slots=5, limit_s=HOUR)]

    assert lengths[0] >= 300
    assert lengths == sorted(lengths, reverse=True)


def test_a_task_is_expected_to_end_in_half_of_its_time() -> None:
    lengths = [length(packed) for packed in pack(units(*[1.0] * 1800), slots=1, limit_s=180.0)]

    assert max(lengths) <= 90


def test_there_are_not_too_many_tasks_while_their_time_allows_it() -> None:
    work = units(*[100.0] * 20_000)

    assert len(pack(work, slots=8, limit_s=HOUR)) == MOST_TASKS
    assert len(pack(work, slots=8, limit_s=300.0)) > MOST_TASKS


def test_nothing_makes_no_task() -> None:
    assert pack([], slots=4, limit_s=HOUR) == []


@pytest.mark.parametrize("count", [1, 7])
def test_units_that_take_no_time_are_packed_too(count: int) -> None:
    assert [len(packed) for packed in pack(units(*[0.0] * count), slots=4, limit_s=HOUR)] == [count]
