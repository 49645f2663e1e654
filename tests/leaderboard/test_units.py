"""Units: who is paired with whom, and which tasks one draw moves together."""

import numpy as np
import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.units import Units, units_of
from thawbench.suite.records import Record


def score(record: Record) -> float | None:
    return None if record.main is None else record.main.value


def units(records: list[Record], strategies: list[str], tasks: list[str]) -> Units:
    return units_of(records, strategies, tasks, score, up=True)


def test_runs_of_one_sample_are_averaged_and_stand_at_its_seed() -> None:
    values = {(7, 0): 0.2, (7, 1): 0.4, (3, 0): 0.9}
    records = [make_record("a", "s/x", value, crossed=Seeds(*seeds, 0)) for seeds, value in values.items()]
    found = units(records, ["a"], ["s/x"])
    np.testing.assert_allclose(found.scores, [[[0.9, 0.3]]])
    assert not found.fixed.any()


def test_a_strategy_that_draws_nothing_stands_at_every_seed() -> None:
    records = [make_record("a", "s/x", 0.1 * k, crossed=Seeds(k, k, k)) for k in range(3)]
    found = units([*records, make_record("frozen", "s/x", 0.5)], ["a", "frozen"], ["s/x"])
    np.testing.assert_allclose(found.scores[1], [[0.5, 0.5, 0.5]])
    assert found.fixed.tolist() == [[False], [True]]


def test_one_that_draws_no_sample_is_dealt_over_the_samples_in_order_of_its_seeds() -> None:
    records = [make_record("a", "s/x", 0.1 * k, crossed=Seeds(k, k, k)) for k in range(3)]
    other = [make_record("b", "s/x", value, seed=seed) for seed, value in ((9, 0.9), (2, 0.2))]
    found = units([*records, *other], ["a", "b"], ["s/x"])
    np.testing.assert_allclose(found.scores[1], [[0.2, 0.9, np.nan]])


def test_seeds_that_only_one_strategy_has_are_missing_from_the_other() -> None:
    records = [make_record("a", "s/x", 0.1, crossed=Seeds(k, k, k)) for k in (0, 1)]
    records += [make_record("b", "s/x", 0.2, crossed=Seeds(k, k, k)) for k in (1, 2)]
    found = units(records, ["a", "b"], ["s/x"])
    np.testing.assert_allclose(found.scores[:, 0], [[0.1, 0.1, np.nan], [np.nan, 0.2, 0.2]])


@pytest.mark.parametrize(
    ("trains", "strata"),
    [
        (("nli", "nli", "nli"), (0, 0, 0)),
        (("sst2@20", "rte@100", "sst2@100"), (0, 1, 0)),
        (("sst2@20", "rte@20", "emotion@20"), (0, 1, 2)),
        ((None, None, "rte@20"), (0, 0, 1)),  # drawn on no rows: the same weights on both tasks
    ],
)
def test_tasks_of_one_train_set_share_a_stratum_whatever_the_size(
    trains: tuple[str | None, ...], strata: tuple[int, ...]
) -> None:
    tasks = ["s/x", "s/y", "s/z"]
    records = [make_record("a", task, crossed=Seeds(), train=name) for task, name in zip(tasks, trains, strict=True)]
    found = units(records, ["a"], tasks).strata
    assert [[found[a] == found[b] for a in range(3)] for b in range(3)] == [
        [strata[a] == strata[b] for a in range(3)] for b in range(3)
    ]


def test_tasks_are_joined_through_a_third_and_not_by_strategies_that_are_not_compared() -> None:
    tasks = ["s/x", "s/y", "s/z"]
    records = [make_record("a", task, crossed=Seeds(), train=f"set{i}") for i, task in enumerate(tasks)]
    records += [make_record("b", task, crossed=Seeds(), train="set0") for task in tasks[:2]]
    records += [make_record("c", task, crossed=Seeds(), train="set0") for task in tasks]
    found = units(records, ["a", "b"], tasks[:2]).strata
    assert found[0] == found[1]
    assert len(set(units(records, ["a"], tasks).strata)) == 3


def test_some_tasks_alone_keep_their_strata() -> None:
    records = [make_record("a", task, 0.1, crossed=Seeds(), train=task[2:]) for task in ("s/x", "s/y", "s/z")]
    found = units(records, ["a"], ["s/x", "s/y", "s/z"]).on([1, 2])
    assert (found.tasks, found.members, found.scores.shape) == (("s/y", "s/z"), [[0], [1]], (1, 2, 1))


def test_a_task_is_repeated_if_somebody_ran_it_often_enough_or_no_seed_moves_anybody() -> None:
    records = [make_record("a", "s/x", 0.1, crossed=Seeds(k, k, k)) for k in range(3)]
    records += [make_record("a", "s/y", 0.1, crossed=Seeds()), make_record("a", "s/z", 0.1)]
    records += [make_record("b", task, 0.1) for task in ("s/x", "s/y", "s/z")]
    assert units(records, ["a", "b"], ["s/x", "s/y", "s/z"]).repeated(3) == [0, 2]


def test_a_sample_seed_has_one_place_on_all_tasks() -> None:
    seeds = {"s/x": (0, 1, 2), "s/y": (0, 2)}
    records = [
        make_record("a", task, 0.1 * k, crossed=Seeds(k, k, k), train="set") for task in seeds for k in seeds[task]
    ]
    found = units(records, ["a"], ["s/x", "s/y"])
    np.testing.assert_allclose(found.scores[0], [[0, 0.1, 0.2], [0, np.nan, 0.2]])


def test_one_that_draws_no_sample_is_dealt_over_the_samples_of_its_task() -> None:
    records = [make_record("a", "s/x", 0.1, crossed=Seeds(k, k, k)) for k in range(3)]
    records += [make_record("a", "s/y", 0.1, crossed=Seeds(k, k, k)) for k in (0, 2)]
    other = [make_record("b", task, 0.1 * seed, seed=seed) for task in ("s/x", "s/y") for seed in (1, 2, 3)]
    found = units([*records, *other], ["a", "b"], ["s/x", "s/y"])
    np.testing.assert_allclose(found.scores[1], [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2]])
