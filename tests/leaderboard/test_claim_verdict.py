"""Verdicts: what records decide, what they leave open, and what is never a number."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from records_by_hand import make_record

from thawbench.contracts import Curve, Seeds
from thawbench.leaderboard.claim_cells import Aside, Gap, shelve
from thawbench.leaderboard.claim_statement import Claim, Part
from thawbench.leaderboard.claim_verdict import PartVerdict, judge
from thawbench.suite.records import MetricValue, Record, Usage

TASKS = ("fewshot/a@100", "fewshot/b@100")


def part(**given: Any) -> Part:
    values: dict[str, Any] = {"kind": "difference", "direction": "higher", "smallest": 1.0, "tasks": TASKS}
    return Part(**{**values, "first": "new", "second": "old", **given})


def verdict(records: list[Record], *parts: Part) -> str:
    return judge(Claim("c", "New is better.", "nobody", parts), shelve(records)).outcome


def judged(records: list[Record], one: Part) -> PartVerdict:
    return judge(Claim("c", "New is better.", "nobody", (one,)), shelve(records)).parts[0]


def run(strategy: str, task: str, seed: int, value: float, **given: Any) -> Record:
    train = task.partition("/")[2].partition(":")[0]
    return make_record(strategy, task, value, crossed=Seeds(seed, seed, seed), train=train, **given)


def both(
    new: float, old: float, *, seeds: int = 5, spread: float = 0.01, tasks: tuple[str, ...] = TASKS
) -> list[Record]:
    """Runs whose differences are new - old on average, and spread a little."""
    generator = np.random.default_rng(0)
    records = []
    for task in tasks:
        noise = generator.normal(size=seeds)
        noise -= noise.mean()
        shared = generator.normal(size=seeds)
        for seed in range(seeds):
            records.append(run("new", task, seed, new + spread * noise[seed] + 0.05 * shared[seed]))
            records.append(run("old", task, seed, old + 0.05 * shared[seed]))
    return records


@pytest.mark.parametrize(
    ("new", "smallest", "direction", "expected"),
    [
        (0.70, 1.0, "higher", "supported"),
        (0.70, 1.0, "lower", "refuted"),
        (0.60, 1.0, "higher", "refuted"),
        (0.608, 1.0, "higher", "undecided"),
        (0.598, -1.0, "higher", "undecided"),  # a loss of 0.2 and up to 1.4: a point is not excluded
        (0.620, -1.0, "higher", "supported"),
        (0.50, 1.0, "lower", "supported"),
    ],
)
def test_the_interval_stands_beyond_short_of_or_across_what_matters(
    new: float, smallest: float, direction: str, expected: str
) -> None:
    spread = 0.015 if smallest < 0 else 0.007
    records = both(new, 0.60, spread=spread)
    assert verdict(records, part(smallest=smallest, direction=direction)) == expected


def test_effect_lines_and_cells_are_those_of_the_pairs() -> None:
    values = {"new": (0.7, 0.8, 0.9), "old": (0.6, 0.6, 0.6)}
    records = [
        run(name, task, seed, value[seed]) for name, value in values.items() for task in TASKS for seed in range(3)
    ]
    found = judged(records, part())
    assert found.effect is not None
    assert found.effect.value == pytest.approx(0.2)
    assert [(line.name, line.seeds) for line in found.lines] == [(task, 3) for task in TASKS]
    assert [line.effect for line in found.lines] == pytest.approx([0.2, 0.2])
    assert len(found.used) == 12
    assert (found.cells.gaps, found.cells.aside) == ((), ())


def test_pairs_are_of_one_sample_seed() -> None:
    records = [run("new", task, seed, 0.5 + 0.1 * seed + 0.02) for task in TASKS for seed in range(3)]
    records += [run("old", task, seed, 0.5 + 0.1 * seed - 0.001 * seed) for task in TASKS for seed in (2, 1, 0)]
    found = judged(records, part())
    assert found.outcome == "supported"  # apart from the sample there is next to no spread


def test_without_records_all_cells_are_missing() -> None:
    found = judged([], part(seeds=4))
    assert (found.outcome, found.effect, found.used, found.why) == (
        "undecided", None, (), "no task has numbers of both sides",
    )  # fmt: skip
    assert found.cells.gaps == tuple(
        Gap(strategy, task, (0, 1, 2, 3)) for strategy in ("new", "old") for task in TASKS
    )  # fmt: skip
    assert found.missing == 16


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_or_two_seeds_decide_nothing(seeds: int) -> None:
    found = judged(both(0.9, 0.1, seeds=seeds), part())
    assert (found.outcome, found.effect) == ("undecided", None)
    assert found.why == "0 of 2 tasks have 3 seeds, of 0 data sets"


def test_a_verdict_needs_as_many_seeds_as_the_claim_asks_for() -> None:
    records = both(0.9, 0.1, seeds=4)
    assert verdict(records, part(seeds=5)) == "undecided"
    assert verdict(records, part(seeds=4)) == "supported"
    assert judged(records, part(seeds=5)).cells.gaps[0] == Gap("new", TASKS[0], (4,))


def test_other_seeds_than_the_first_are_as_good() -> None:
    records = [run(name, task, seed, value + 0.001 * seed * len(name)) for seed in (7, 8, 9) for task in TASKS
               for name, value in (("new", 0.9), ("older", 0.1))]  # fmt: skip
    found = judged(records, part(second="older"))
    assert found.outcome == "supported"
    assert found.cells.gaps == ()


def test_two_n_of_one_set_are_one_data_set() -> None:
    tasks = ("fewshot/a@20", "fewshot/a@100", "fewshot/b@100")
    records = [record for record in both(0.9, 0.1, tasks=tasks) if record.task != "fewshot/b@100"]
    found = judged(records, part(tasks=tasks))
    assert (found.outcome, found.why) == ("undecided", "2 of 3 tasks have 3 seeds, of 1 data sets")


def test_a_missing_strategy_is_no_strategy_that_scores_nothing() -> None:
    records = [record for record in both(0.9, 0.1) if record.strategy == "new"]
    found = judged(records, part())
    assert (found.outcome, found.effect, found.lines) == ("undecided", None, ())
    assert {gap.strategy for gap in found.cells.gaps} == {"old"}


@pytest.mark.parametrize("status", ["failed", "timeout", "degenerate", "not_applicable"])
def test_runs_without_a_score_take_their_task_out_of_the_claim(status: Any) -> None:
    tasks = (*TASKS, "fewshot/c@100")
    records = both(0.9, 0.1, tasks=tasks)
    lost = next(record for record in records if record.task == "fewshot/c@100" and record.strategy == "old")
    records[records.index(lost)] = run("old", lost.task, 0, 0.0, status=status, why="out of luck")
    found = judged(records, part(tasks=tasks))
    assert [line.name for line in found.lines] == list(TASKS)
    assert found.cells.aside == (Aside("old", "fewshot/c@100", f"{status.replace('_', ' ')} 1 of 5"),)
    assert found.outcome == "supported"
    assert lost.key not in found.used
    assert found.missing == 1


def test_a_record_without_the_metric_is_not_taken() -> None:
    drop = (MetricValue("drop", 0.1, "down"),)
    records = [run(name, task, seed, 0.5, others=drop if task == TASKS[0] else ())
               for name in ("new", "old") for task in TASKS for seed in range(3)]  # fmt: skip
    found = judged(records, part(metric="drop"))
    assert {each.outcome for each in found.cells.aside} == {"not taken 3 of 3"}
    assert found.effect is None


def test_shuffled_records_give_the_same_verdict() -> None:
    records = both(0.65, 0.6)
    parts = (part(), part(kind="spread", direction="lower", smallest=0.0, seeds=5))
    claim = Claim("c", "New is better.", "nobody", parts)
    expected = judge(claim, shelve(records))
    for seed in range(3):
        shuffled = records.copy()
        random.Random(seed).shuffle(shuffled)
        assert judge(claim, shelve(shuffled)) == expected


def test_a_claim_holds_if_all_of_its_parts_do_and_fails_if_one_does() -> None:
    records = both(0.7, 0.6)
    holds, fails, open_ = part(), part(direction="lower"), part(smallest=10.0)
    assert verdict(records, holds, holds) == "supported"
    assert verdict(records, holds, open_) == "undecided"
    assert verdict(records, holds, open_, fails) == "refuted"


def test_parts_share_the_chance_to_refute_wrongly() -> None:
    records = both(0.60, 0.60)
    effect = judged(records, part()).effect
    assert effect is not None
    intervals = effect.interval(0.05), effect.interval(0.025)
    edges = [interval.high for interval in intervals if interval is not None]
    between = part(smallest=50 * sum(edges))
    assert verdict(records, between) == "refuted"
    assert verdict(records, between, part(smallest=-10.0)) == "undecided"


def test_other_backbones_are_not_read() -> None:
    records = [replace(record, backbone="tiny") for record in both(0.9, 0.1)]
    assert judged(records, part()).effect is None
    assert verdict(records, part(backbone="tiny")) == "supported"


def test_a_strategy_can_be_compared_with_itself_on_other_tasks() -> None:
    near, far = (
        ("geometry/a:train=a@100", "geometry/b:train=b@100"),
        ("geometry/c:train=a@100", "geometry/c:train=b@100"),
    )
    records = [run("new", task, seed, 0.7 + 0.001 * seed) for task in near for seed in range(3)]
    records += [run("new", task, seed, 0.9) for task in far for seed in range(3)]
    found = judged(records, part(second="new", tasks=near, second_tasks=far, direction="lower"))
    assert found.outcome == "supported"
    assert found.lines[0].name == f"{near[0]} – {far[0]}"


def test_seconds_are_compared_by_their_logarithms() -> None:
    seconds = {"new": (8.0, 9.0, 8.5), "old": (10.0, 10.0, 10.0)}
    records = [run(name, task, seed, 0.5, usage=Usage(fit_s=each[seed]))
               for name, each in seconds.items() for task in TASKS for seed in range(3)]  # fmt: skip
    found = judged(records, part(metric="fit_s", direction="lower", smallest=5))
    assert found.effect is not None
    assert found.effect.value == pytest.approx(-np.mean(np.log([0.8, 0.9, 0.85])))
    assert found.outcome == "supported"


def test_the_lines_are_of_the_seeds_that_count() -> None:
    tasks = ("fewshot/a@20", "fewshot/a@100", "fewshot/b@20", "fewshot/b@100")
    gains = {"fewshot/a@20": 0.0, "fewshot/a@100": 0.1, "fewshot/b@20": 0.0, "fewshot/b@100": 0.2}
    records = []
    for task in tasks:
        for seed in range(3 if task == "fewshot/a@100" else 6):
            seeds, train = Seeds(seed, seed, seed), task.removeprefix("fewshot/")[:1]
            new = 0.5 + gains[task] + 0.01 * seed**2
            records += [make_record(name, task, value, crossed=seeds, train=train)
                        for name, value in (("new", new), ("old", 0.5))]  # fmt: skip
    found = judged(records, part(kind="trend", tasks=tasks, smallest=0.0, seeds=3))
    lines = {line.name: line for line in found.lines}
    assert found.effect is not None
    rises = [(lines[f"fewshot/{name}@100"].effect or 0) - (lines[f"fewshot/{name}@20"].effect or 0) for name in "ab"]
    assert found.effect.value == pytest.approx(np.mean(rises))
    assert (lines["fewshot/a@20"].seeds, lines["fewshot/a@100"].seeds) == (3, 3)


def test_of_a_spread_only_the_seeds_that_both_ran_count() -> None:
    values = (0.4, 0.5, 0.7, 0.1, 0.9)
    records = [run(name, task, seed, value) for task in TASKS for name, count in (("new", 3), ("old", 5))
               for seed, value in enumerate(values[:count])]  # fmt: skip
    found = judged(records, part(kind="spread", direction="lower", smallest=0.0, seeds=3))
    assert found.effect is not None
    assert found.effect.value == 0


@pytest.mark.parametrize(("minutes", "outcome"), [(8, "supported"), (12, "undecided")])
def test_seconds_of_runs_that_lie_far_apart_in_time_are_not_compared(minutes: int, outcome: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    records = [replace(run(name, task, seed, 0.5, usage=Usage(fit_s=seconds + 0.1 * seed)), started=at.isoformat())
               for name, seconds, at in (("new", 8.0, start), ("old", 10.0, start + timedelta(minutes=minutes)))
               for task in TASKS for seed in range(3)]  # fmt: skip
    found = judged(records, part(metric="fit_s", direction="lower", smallest=5))
    assert found.outcome == outcome
    if outcome == "undecided":
        assert found.why == "no task has numbers of both sides, of runs within ten minutes of each other"


def spreads(wide: float, narrow: float, seeds: int) -> list[Record]:
    generator = np.random.default_rng(0)
    return [run(name, task, seed, 0.5 + spread * float(noise))
            for task in TASKS for name, spread in (("new", narrow), ("old", wide))
            for seed, noise in enumerate(generator.normal(size=seeds))]  # fmt: skip


def test_a_spread_that_is_much_less_is_found_and_an_equal_one_is_not() -> None:
    one = part(kind="spread", direction="lower", smallest=0.0, seeds=5)
    assert judged(spreads(0.1, 0.01, 10), one).outcome == "supported"
    assert judged(spreads(0.1, 0.1, 10), one).outcome == "undecided"
    found = judged(spreads(0.1, 0.01, 10), one)
    assert found.lines[0].second is not None
    assert found.lines[0].first < 0.2 * found.lines[0].second


def dev_and_test(agreement: float, seeds: int = 6) -> list[Record]:
    generator = np.random.default_rng(0)
    records = []
    for task in TASKS:
        for seed in range(seeds):
            test, other = generator.normal(size=2)
            dev = agreement * test + (1 - agreement) * other
            records.append(run("new", task, seed, 0.5 + 0.05 * test, dev_score=0.5 + 0.05 * dev))
    return records


def test_a_best_of_k_helps_where_dev_tells_what_test_will_say() -> None:
    one = part(kind="best_of", second="", k=3, smallest=0.5, seeds=5)
    found = judged(dev_and_test(1.0), one)
    assert found.outcome == "supported"
    assert judged(dev_and_test(0.0), one).outcome == "undecided"
    expected = [record.main.value for record in dev_and_test(1.0) if record.task == TASKS[0] and record.main]
    ordered = sorted(value for value in expected if value is not None)
    best = sum(value * math.comb(at, 2) for at, value in enumerate(ordered)) / math.comb(6, 3)
    assert found.lines[0].first == pytest.approx(best)  # the jackknife of an unbiased estimate leaves it as it is
    assert found.lines[0].second == pytest.approx(sum(ordered) / 6)


def test_a_best_of_k_needs_dev_scores_and_runs_that_differ() -> None:
    one = part(kind="best_of", second="", k=3, seeds=5)
    without = judged([run("new", task, seed, 0.5) for task in TASKS for seed in range(6)], one)
    assert {each.outcome for each in without.cells.aside} == {"not taken 6 of 6"}
    still = judged([make_record("new", task, 0.5, dev_score=0.5, train=None) for task in TASKS], one)
    assert (still.outcome, still.effect) == ("undecided", None)


def curved(strategy: str, task: str, seed: int | None, rise: float) -> Record:
    curve = Curve("anisotropy", "layer", (0.0, 1.0, 2.0, 3.0), tuple(0.1 + rise * x / 3 for x in (0.0, 1.0, 2.0, 3.0)))
    record = make_record(strategy, task, train=None) if seed is None else run(strategy, task, seed, 0.5)
    return replace(record, curves=(curve, replace(curve, name="other", y=(0.0, 0.0, 0.0, 0.0))))


def test_a_trend_is_the_rise_of_a_curve_and_speaks_of_data_sets_where_no_seed_moves_it() -> None:
    tasks = tuple(f"geometry/{name}" for name in "abcd")
    rises = (0.30, 0.36, 0.33, 0.35)
    records = [curved("new", task, None, rise) for task, rise in zip(tasks, rises, strict=True)]
    one = part(kind="trend", second="", tasks=tasks, curve="aniso*", smallest=5)
    found = judged(records, one)
    assert found.effect is not None
    assert found.effect.value == pytest.approx(np.mean(rises))
    assert (found.effect.unit, found.effect.count, found.outcome) == ("data sets", 4, "supported")
    two = judged(records[:2], one)
    assert (two.outcome, two.why) == ("undecided", "no seed moves anything, and 2 data sets are too few")


def test_two_trends_are_compared_by_seed() -> None:
    tasks = ("geometry/a", "geometry/b")
    records = [curved("new", task, seed, 0.2 + 0.01 * seed) for task in tasks for seed in range(3)]
    records += [curved("old", task, None, 0.4) for task in tasks]
    found = judged(records, part(kind="trend", tasks=tasks, curve="anisotropy", direction="lower"))
    assert found.effect is not None
    assert found.effect.value == pytest.approx(0.19)
    assert (found.effect.unit, found.outcome) == ("seeds", "supported")


def test_a_trend_over_n_is_a_line_over_its_logarithm() -> None:
    sizes: Mapping[str, tuple[int, ...]] = {"a": (20, 100, 500), "b": (100, 1000), "c": (100,)}
    tasks = tuple(f"fewshot/{name}@{n}" for name, each in sizes.items() for n in each)
    values = {task: 0.1 * math.log10(int(task.partition("@")[2])) for task in tasks}
    records = [run("new", task, seed, value + 0.001 * seed) for task, value in values.items() for seed in range(3)]
    found = judged(records, part(kind="trend", second="", tasks=tasks))
    assert found.effect is not None
    assert found.effect.value == pytest.approx(0.1 * (math.log10(25) + 1) / 2)  # c has one n, and no trend


def test_a_correlation_is_over_strategies_that_have_all_cells() -> None:
    names = tuple(f"s{at}" for at in range(9))
    columns = (("sts/a", "sts/b"), ("ir/c", "ir/d"))
    records = [
        run(name, task, seed, 0.1 + sign * 0.05 * at + 0.001 * seed)
        for at, name in enumerate(names)
        for sign, tasks in zip((1, -1), columns, strict=True)
        for task in tasks
        for seed in range(3)
    ]
    one = part(kind="correlation", first="", second="", strategies=names, tasks=columns[0], second_tasks=columns[1],
               direction="lower", smallest=0)  # fmt: skip
    found = judged(records, one)
    assert found.effect is not None
    assert found.effect.value == pytest.approx(1.0)
    assert (found.effect.count, found.outcome) == (9, "supported")
    assert found.lines[1].first == pytest.approx(0.151)
    short = [record for record in records if record.strategy > "s2" or record.task != "ir/d"]
    assert judged(short, one).why == "6 of 9 strategies have all cells; 7 are needed"


def test_a_side_with_several_runs_of_a_sample_does_not_seem_to_spread_less() -> None:
    generator = np.random.default_rng(0)
    supported = 0
    for _ in range(20):
        records = [
            make_record(name, task, 0.5 + 0.05 * generator.normal(), crossed=Seeds(sample, init, sample), train=task)
            for task in TASKS
            for name, inits in (("new", 4), ("old", 1))
            for sample in range(10)
            for init in range(inits)
        ]
        supported += (
            judged(records, part(kind="spread", direction="lower", smallest=0.0, seeds=5)).outcome == "supported"
        )
    assert supported <= 3  # half of 60 with a mean over each sample's runs


def test_families_and_options_do_not_make_a_trend_together() -> None:
    tasks = ("fewshot/x@20", "fewshot/x@100", "noise/x@20", "noise/x@100", "fewshot/y@20", "fewshot/y@100")
    level = {"fewshot": 0.9, "noise": 0.3}
    records = [
        run("new", task, seed, level[task.partition("/")[0]] + 0.001 * seed) for task in tasks for seed in range(3)
    ]
    records += [run("new", "noise/x@500", seed, 0.3 + 0.001 * seed) for seed in range(3)]
    found = judged(records, part(kind="trend", second="", tasks=(*tasks, "noise/x@500")))
    assert found.effect is not None
    assert found.effect.value == pytest.approx(0.0)


def test_a_correlation_of_two_metrics_of_the_same_tasks_asks_for_both() -> None:
    names, tasks = tuple(f"s{at}" for at in range(8)), ("sts/a", "sts/b")

    def both_metrics(at: int, task: str, seed: int) -> Record:
        record = run(names[at], task, seed, 0.1 + 0.05 * at)
        other = None if at == 0 and seed else 0.2 + 0.05 * at
        return replace(record, metrics=(*record.metrics, MetricValue("other", other)))

    records = [both_metrics(at, task, seed) for at in range(8) for task in tasks for seed in range(3)]
    one = part(kind="correlation", first="", second="", strategies=names, tasks=tasks, second_tasks=tasks,
               second_metric="other", smallest=0)  # fmt: skip
    found = judged(records, one)
    assert [aside.outcome for aside in found.cells.aside] == ["not taken 2 of 3"] * 2
    assert [line.name for line in found.lines] == list(names[1:])


def test_strategies_that_are_one_and_the_same_are_told_that_no_seeds_decide() -> None:
    records = [
        run(name, task, seed, 0.5 + 0.01 * seed) for name in ("new", "old") for task in TASKS for seed in range(8)
    ]
    found = judged(records, part(smallest=0.0))
    assert (found.outcome, found.needed) == ("undecided", None)
