"""Score against labelled rows: the numbers of each panel, gaps, and what is told of them."""

import math
from dataclasses import replace
from typing import Literal

import pytest
from figures_by_hand import all_drawn_is_finite, seeded, texts_of
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.figure_sizes import draw_overtakings, draw_sizes
from thawbench.leaderboard.size_panels import SizePanel, size_panels
from thawbench.leaderboard.size_table import size_table
from thawbench.suite.records import MetricValue, Record

FROZEN: dict[int, tuple[float, ...]] = {20: (0.6, 0.61, 0.62), 100: (0.7, 0.71, 0.72)}
TUNED: dict[int, tuple[float, ...]] = {20: (0.5, 0.52, 0.51), 100: (0.75, 0.77, 0.79)}


def few_shot(strategy: str, scores: dict[int, tuple[float, ...]], task: str = "fewshot/sst2@{n}") -> list[Record]:
    return [
        record
        for n, values in scores.items()
        for record in seeded(strategy, task.format(n=n), values, metric="accuracy", chance=0.5)
    ]


def only(*records: Record) -> SizePanel:
    (panel,) = size_panels(records)
    return panel


def test_a_line_has_the_mean_of_each_size_and_its_interval() -> None:
    panel = only(*few_shot("frozen", FROZEN), *few_shot("finetune", TUNED))

    assert (panel.train, panel.other, panel.metric, panel.chance, panel.sizes) == (
        "sst2",
        "",
        "accuracy",
        0.5,
        (20, 100),
    )
    assert [line.strategy for line in panel.lines] == ["finetune", "frozen"]  # the best at 100 first
    first, second = panel.lines[1].there
    half = 4.302653 * 0.01 / math.sqrt(3)
    assert (first.x, first.n, second.x) == (20, 3, 100)
    assert (first.mean, second.mean) == pytest.approx((0.61, 0.71))
    assert first.interval is not None
    assert (first.interval.low, first.interval.high) == pytest.approx((0.61 - half, 0.61 + half))


def test_tuning_overtakes_where_the_paired_differences_cross_zero() -> None:
    (overtaking,) = only(*few_shot("frozen", FROZEN), *few_shot("finetune", TUNED)).overtakings
    # differences: -.1, -.09, -.11 (mean -.1) and .05, .06, .07 (mean .06): 0 at .1 / .16 of the way
    assert overtaking.at == pytest.approx(20 * 5 ** (0.1 / 0.16))
    assert (overtaking.first, overtaking.second) == ("finetune", "frozen")


def test_a_failed_seed_leaves_a_gap_that_no_line_crosses_and_that_is_told() -> None:
    middle: dict[int, tuple[float, ...]] = {50: (0.6, 0.6)}
    records = [*few_shot("frozen", FROZEN | {50: (0.65, 0.66, 0.67)}), *few_shot("finetune", TUNED | middle)]
    records.append(make_record("finetune", "fewshot/sst2@50", crossed=Seeds(2, 2, 2), status="failed", why="no"))
    panel = only(*records)

    line = next(line for line in panel.lines if line.strategy == "finetune")
    assert [None if point is None else point.x for point in line.points] == [20, None, 100]
    assert [[point.x for point in stretch] for stretch in line.stretches] == [[20], [100]]
    assert [(cell.strategy, cell.task, len(cell.runs), cell.asked) for cell in panel.gaps] == [
        ("finetune", "fewshot/sst2@50", 2, 3)
    ]
    figure = draw_sizes([panel], "light")
    assert "Gaps, as not every run has a score: finetune on fewshot/sst2@50 (2 of 3)." in " ".join(
        " ".join(texts_of(figure)).split()
    )
    assert all_drawn_is_finite(figure)


def test_shifted_scores_stand_beside_those_in_domain() -> None:
    records = [*few_shot("frozen", FROZEN), *few_shot("finetune", TUNED)]
    records += few_shot("frozen", FROZEN, "shift/sst2@{n}~imdb")
    home, away = size_panels([replace(each, metrics=renamed(each)) for each in records])

    assert (home.title, away.title) == ("sst2, in domain", "sst2 → imdb, shifted")
    assert [(point.x, point.n) for point in away.lines[0].there] == [(20, 3), (100, 3)]
    assert [point.mean for point in away.lines[0].there] == pytest.approx([0.61, 0.71])


def renamed(record: Record) -> tuple[MetricValue, ...]:
    name = "shifted" if record.family == "shift" else "accuracy"
    return tuple(replace(metric, name=name) for metric in record.metrics)


def test_a_strategy_at_one_size_is_named_and_has_no_line() -> None:
    panel = only(*few_shot("frozen", FROZEN), *few_shot("scl", {100: (0.7, 0.8, 0.9)}))
    assert (panel.single, [line.strategy for line in panel.lines]) == (("scl",), ["frozen"])


def test_whole_sets_options_and_other_families_have_no_place_on_the_axis() -> None:
    tasks = ("fewshot/sst2", "fewshot/sst2@100:train=imdb@100", "ir/SciFact", "shift/snli@100", "noise/sst2@100")
    assert size_panels([make_record("frozen", task, seed=seed) for task in tasks for seed in range(3)]) == ()


def test_one_seed_has_a_line_without_intervals_and_no_overtaking() -> None:
    panel = only(*few_shot("frozen", {20: (0.6,), 100: (0.7,)}), *few_shot("finetune", {20: (0.5,), 100: (0.8,)}))
    assert {point.interval for line in panel.lines for point in line.there} == {None}
    assert panel.overtakings == ()
    assert "finetune over frozen: too few sizes and seeds in common" in texts_of(draw_sizes([panel], "light"))


def test_controls_overtake_nobody() -> None:
    control = [replace(record, control=True) for record in few_shot("tfidf", TUNED)]
    panel = only(*few_shot("frozen", FROZEN), *control)
    assert panel.overtakings == ()
    assert [line.control for line in panel.lines] == [True, False]


def test_the_rows_of_overtakings_say_what_was_found() -> None:
    panel = only(*few_shot("frozen", FROZEN), *few_shot("finetune", TUNED), *few_shot("lp_ft", FROZEN))
    figure = draw_overtakings([panel], "dark")
    assert all_drawn_is_finite(figure)
    told = texts_of(figure)
    assert "lp_ft" in told
    assert any(text.startswith("n ≈ 55 (95 %:") and text.endswith("3 seeds") for text in told)


def test_as_a_table_the_best_comes_first_whichever_way_is_better_and_who_lacks_the_greatest_n_last() -> None:
    records = [
        *few_shot("far", {20: (0.6,) * 3, 100: (0.5,) * 3}),
        *few_shot("near", {20: (0.7,) * 3, 100: (0.2,) * 3}),
    ]
    records += few_shot("once", {20: (0.1,) * 3})
    for order, up in ((["far", "near", "once"], True), (["near", "far", "once"], False)):
        turned = [replace(each, metrics=directed(each, "up" if up else "down")) for each in records]
        (panel,) = size_panels(turned)
        assert panel.up == up
        assert [row.strategy for row in size_table(turned, panel).rows] == order


def directed(record: Record, direction: Literal["up", "down"]) -> tuple[MetricValue, ...]:
    return tuple(replace(metric, direction=direction) for metric in record.metrics)
