"""Relevance against similarity: ranks and correlations, against scipy and by simulation."""

import csv
import io
import math

import numpy as np
import pytest
from records_by_hand import make_record
from scipy import stats

from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.rank_correlation import LEAST, kendall, rank_correlation, spearman
from thawbench.leaderboard.relevance import Relevance
from thawbench.suite.records import Record


def found(*made: Record) -> Relevance:
    relevance = build_board(made).relevance
    assert relevance is not None
    return relevance


def both(
    name: str, ir: float, sts: float, control: bool = False, backbone: str = "one", ir_task: str = "ir/x"
) -> list[Record]:
    return [
        make_record(name, task, value, control=control, weights=backbone, backbone=backbone)
        for task, value in ((ir_task, ir), ("sts/y", sts))
    ]


def test_strategies_that_are_complete_in_both_stand_side_by_side_with_their_ranks() -> None:
    worked = [*both("a", 0.9, 0.5), *both("b", 0.7, 0.7), *both("c", 0.8, 0.7), *both("ctl", 0.1, 0.9, control=True)]
    half = make_record("d", "ir/x", 0.99, weights="one", backbone="one")
    relevance = found(*worked, half)
    assert [
        (each.strategy, each.relevance, each.similarity, each.relevance_rank, each.similarity_rank)
        for each in relevance.points
    ] == [("a", 0.9, 0.5, 1, 3), ("c", 0.8, 0.7, 2, 1.5), ("b", 0.7, 0.7, 3, 1.5), ("ctl", 0.1, 0.9, None, None)]
    (agreement,) = relevance.agreements
    assert (agreement.backbone, agreement.correlation.n) == ("one", 3)
    assert agreement.correlation.spearman == pytest.approx(stats.spearmanr([0.9, 0.7, 0.8], [0.5, 0.7, 0.7]).statistic)
    assert agreement.correlation.spearman_interval is None


def test_a_point_leads_to_the_records_of_both_families() -> None:
    pair = both("a", 0.9, 0.5)
    (point,) = found(*pair).points
    assert sorted(point.keys) == sorted(record.key for record in pair)


def test_strategies_of_several_backbones_are_put_together_if_their_tasks_are_the_same() -> None:
    one = [*both("a", 0.9, 0.5), *both("b", 0.7, 0.7)]
    two = [*both("a", 0.4, 0.3, backbone="two"), *both("b", 0.3, 0.1, backbone="two")]
    agreements = found(*one, *two).agreements
    assert [each.backbone for each in agreements] == ["one", "two", "all backbones"]
    assert [each.correlation.spearman for each in agreements] == pytest.approx([-1, 1, 0.8])
    other = both("a", 0.4, 0.3, backbone="two", ir_task="ir/z")
    assert [each.backbone for each in found(*one, *other).agreements] == ["one", "two"]


def test_one_family_alone_or_nobody_in_both_has_no_such_board() -> None:
    assert build_board([make_record("a", "ir/x")]).relevance is None
    nobody = build_board([make_record("a", "ir/x"), make_record("b", "sts/y")])
    assert nobody.relevance is None
    assert "Relevance against similarity" not in render_markdown(nobody)


def test_one_strategy_has_no_correlation_and_few_have_no_interval_and_the_page_says_so() -> None:
    page = render_markdown(build_board(both("a", 0.9, 0.5)))
    assert "| one             | 1   | –          | too few: under 10 | –         | too few: under 10 |" in page


def test_the_lines_of_the_csv_give_the_same_with_records() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(build_board([*both("a", 0.9, 0.5), *both("b", 0.7, 0.7)])))))
    lines = [row for row in rows if row["table"] == "relevance against similarity"]
    assert [(row["strategy"], row["task"], row["mean"], row["rank"]) for row in lines] == [
        ("a", "ir", "0.9", "1.0"),
        ("a", "sts", "0.5", "2.0"),
        ("b", "ir", "0.7", "2.0"),
        ("b", "sts", "0.7", "1.0"),
    ]
    assert all(len(row["records"].split()) == 2 for row in lines)


@pytest.mark.parametrize("seed", range(5))
def test_both_correlations_are_those_of_scipy_with_ties(seed: int) -> None:
    first, second = np.random.default_rng(seed).integers(0, 6, (2, 15))
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-9)
    assert kendall(first, second) == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-9)


def test_what_is_the_same_everywhere_orders_nothing() -> None:
    assert rank_correlation([1.0] * 12, list(range(12))).spearman is None
    assert math.isnan(spearman([1, 1], [1, 2]))
    assert math.isnan(kendall([1, 2], [1, 1]))
    assert rank_correlation([], []).n == 0
    with pytest.raises(ValueError, match="2 scores against 3"):
        rank_correlation([1, 2], [1, 2, 3])


def test_points_that_all_agree_have_no_interval() -> None:
    same = rank_correlation(list(range(12)), list(range(12)))
    assert (same.spearman, same.kendall) == pytest.approx((1, 1))
    assert (same.spearman_interval, same.kendall_interval) == (None, None)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_intervals_hold_the_truth_of_normal_scores(rho: float) -> None:
    draw = np.random.default_rng(0)
    truths = 6 / math.pi * math.asin(rho / 2), 2 / math.pi * math.asin(rho)
    held = np.zeros(2)
    rounds = 600
    for _ in range(rounds):
        first, noise = draw.normal(size=(2, LEAST))
        made = rank_correlation(first.tolist(), (rho * first + math.sqrt(1 - rho**2) * noise).tolist())
        for at, (truth, interval) in enumerate(
            zip(truths, (made.spearman_interval, made.kendall_interval), strict=True)
        ):
            held[at] += interval is not None and interval.low <= truth <= interval.high
    assert (held / rounds > 0.92).all()
    assert (held / rounds < 0.985).all()
