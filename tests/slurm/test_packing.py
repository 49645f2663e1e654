"""Units into tasks: how many, how long, in which order."""

import random

import pytest

from thawbench.slurm.packing import GOOD_S, MOST_TASKS, Pack, pack
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


def test_much_work_makes_long_tasks_first_and_short_ones_last_none_below_the_good_length() -> None:
    lengths = [length(packed) for packed in pack(units(*[1.0] * 8000), slots=4, limit_s=10 * HOUR)]

    assert lengths[:3] == [1000, 875, 766]  # half of an even share of 8000, 7000 and 6125
    assert min(lengths) >= 8000 / 4 / 16 / 2
    assert len(lengths) < 8000 / GOOD_S / 2


def test_slots_end_together_though_what_was_expected_is_wrong() -> None:
    draw = random.Random(0)
    took = [draw.uniform(0.1, 20) for _ in range(5000)]
    packs = pack(units(*[10.0] * 5000), slots=8, limit_s=10 * HOUR)

    slots = [0.0] * 8
    for packed in packs:
        slots[slots.index(min(slots))] += sum(took[unit.places[0]] for unit in packed)

    assert max(slots) < 1.05 * sum(took) / 8


def test_work_for_a_little_more_than_the_good_length_a_slot_is_not_cut_below_it() -> None:
    lengths = [length(packed) for packed in pack(units(*[1.0] * 500), slots=4, limit_s=HOUR)]

    assert lengths == [140.0, 120.0, 120.0, 120.0]


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

    assert 0.8 * MOST_TASKS < len(pack(work, slots=4000, limit_s=HOUR)) <= MOST_TASKS
    assert len(pack(work, slots=4000, limit_s=300.0)) > MOST_TASKS


def test_nothing_makes_no_task() -> None:
    assert pack([], slots=4, limit_s=HOUR) == []


@pytest.mark.parametrize("count", [1, 7])
def test_units_that_take_no_time_are_packed_too(count: int) -> None:
    assert [len(packed) for packed in pack(units(*[0.0] * count), slots=4, limit_s=HOUR)] == [count]
