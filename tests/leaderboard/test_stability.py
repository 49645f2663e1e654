"""Stability: each number against a count by hand, over all subsets, or a simulation whose truth is known."""

import math
import random
import re
from itertools import combinations, product

import numpy as np
import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.stability import Stability, expected_best, stability_of, variance_components
from thawbench.leaderboard.statistics import summarise, t_interval
from thawbench.suite.records import Record

TASK = "fewshot/sst2@20"
# y[sample, init, order]; grand mean 7, means by sample 4 and 10, by init 6 and 8, by order 6.5 and 7.5
WORKED = np.array([[[1.0, 3.0], [5.0, 7.0]], [[8.0, 12.0], [12.0, 8.0]]])


def runs(*scores: float, devs: tuple[float, ...] = (), chance: float | None = None) -> list[Record]:
    return [
        make_record("a", TASK, score, seed=seed, dev_score=devs[seed] if devs else None, chance=chance)
        for seed, score in enumerate(scores)
    ]


def crossed_runs(table: np.ndarray, strategy: str = "a") -> list[Record]:
    return [
        make_record(strategy, TASK, float(table[place]), crossed=Seeds(*place)) for place in np.ndindex(*table.shape)
    ]


def only(records: list[Record]) -> Stability:
    (found,) = stability_of(records)
    return found


def brute_best(scores: list[float], by: list[float], k: int) -> float:
    """Over every subset of k runs, the mean score of those that are best in it."""
    picked = []
    for chosen in combinations(range(len(scores)), k):
        top = max(by[run] for run in chosen)
        tied = [scores[run] for run in chosen if by[run] == top]
        picked.append(sum(tied) / len(tied))
    return sum(picked) / len(picked)


@pytest.mark.parametrize("seed", range(20))
def test_best_of_k_by_dev_is_its_mean_over_all_subsets_ties_included(seed: int) -> None:
    draw = random.Random(seed)
    scores = [draw.random() for _ in range(7)]
    by = [draw.randrange(4) / 4 for _ in range(7)]
    assert expected_best(scores, by=by) == pytest.approx([brute_best(scores, by, k) for k in range(1, 8)], abs=1e-12)


def test_best_of_k_by_the_score_itself_is_the_unbiased_estimator() -> None:
    scores = [0.3, 0.9, 0.5, 0.6, 0.1]
    formula = [
        sum(x * math.comb(i - 1, k - 1) / math.comb(5, k) for i, x in enumerate(sorted(scores), start=1))
        for k in range(1, 6)
    ]
    found = expected_best(scores, by=scores)
    assert found == pytest.approx(formula, abs=1e-12)
    assert found[0] == pytest.approx(0.48)
    assert found[-1] == 0.9


def test_best_of_k_is_chosen_on_dev_and_never_on_test() -> None:
    # dev likes the runs in the reverse of test's order: the more runs, the worse
    assert expected_best([0.1, 0.2, 0.6], by=[3, 2, 1]) == pytest.approx((0.3, (0.1 + 0.1 + 0.2) / 3, 0.1))


def test_runs_that_dev_cannot_tell_apart_give_their_mean_for_every_k() -> None:
    assert expected_best([0.2, 0.4, 0.9], by=[1, 1, 1]) == pytest.approx((0.5, 0.5, 0.5))


def test_scores_without_places_are_refused() -> None:
    with pytest.raises(ValueError, match="no scores"):
        expected_best([], by=[])
    with pytest.raises(ValueError, match="zip"):
        expected_best([0.5], by=[])


def test_a_run_at_or_under_the_best_constant_answer_has_failed() -> None:
    found = only(runs(0.5, 0.49, 0.51, 0.9, chance=0.5))
    assert found.failed == 2
    assert found.summary.std == pytest.approx(np.std([0.5, 0.49, 0.51, 0.9], ddof=1))


def test_a_metric_that_goes_down_fails_at_or_above_chance() -> None:
    records = [make_record("a", TASK, v, seed=i, direction="down", chance=0.5) for i, v in enumerate((0.4, 0.5, 0.6))]
    assert only(records).failed == 2


def test_without_chance_or_dev_scores_nothing_is_said_of_them() -> None:
    found = only(runs(0.5, 0.6))
    assert (found.failed, found.best_by_dev, found.components) == (None, (), None)


@pytest.mark.parametrize("records", [runs(0.5), [*runs(0.5, 0.6), make_record("a", TASK, seed=2, status="failed")]])
def test_one_run_or_a_run_without_a_score_has_no_stability(records: list[Record]) -> None:
    assert stability_of(records) == ()


def test_components_of_a_table_worked_by_hand() -> None:
    # Sums of squares, one degree of freedom each. Sample: 8 * 3**2 = 72; init: 8 * 1 = 8; order: 8 * .5**2 = 2.
    # Sample means by init: 2, 6 / 10, 10: interaction effects ±1, so 8. By order: 3, 5 / 10, 10: ±.5, so 2.
    # Init by order: 4.5, 7.5 / 8.5, 7.5: effects 4.5 - 6 - 6.5 + 7 = -1, so 8. All three: what is left of the total,
    # 36+16+4+0+1+25+25+1 = 108: 108 - 72 - 8 - 2 - 8 - 2 - 8 = 8.
    found = variance_components(WORKED)
    assert found == pytest.approx(
        {
            (0,): (72 - 8 - 2 + 8) / 4,
            (1,): (8 - 8 - 8 + 8) / 4,
            (2,): (2 - 2 - 8 + 8) / 4,
            (0, 1): (8 - 8) / 2,
            (0, 2): (2 - 8) / 2,
            (1, 2): (8 - 8) / 2,
            (0, 1, 2): 8,
        }
    )


def test_crossed_seeds_give_named_components_with_interactions_as_the_rest() -> None:
    found = only(crossed_runs(WORKED / 100)).components
    assert found is not None
    assert found.sample == pytest.approx(17.5e-4)
    assert found.init == pytest.approx(0, abs=1e-12)
    assert found.order == pytest.approx(0, abs=1e-12)
    assert found.clipped == set()
    assert found.rest == pytest.approx((0 - 3 + 0 + 8) * 1e-4)


def test_a_negative_estimate_is_set_to_zero_and_said_so() -> None:
    # nothing but an interaction of sample and init: both main effects are estimated at -MS/2
    table = np.array([[[0.6], [0.4]], [[0.4], [0.6]]])
    found = only(crossed_runs(table)).components
    assert found is not None
    assert (found.sample, found.init, found.order) == (0.0, 0.0, None)
    assert found.rest == pytest.approx(0.04)
    assert found.clipped == {"sample", "init"}
    page = render_markdown(build_board(crossed_runs(table)))
    assert re.search(r"\| 0\.00 ‡ +\| 0\.00 ‡ +\| – +\| 20\.00 +\|\n", page)
    assert "‡ marks a variance whose unbiased estimate is below 0; it is set to 0." in page


def test_simulated_components_are_found_again_on_average() -> None:
    draw = np.random.default_rng(0)
    truth = {(0,): 4.0, (1,): 1.0, (2,): 0.25, (0, 1): 0.5, (0, 2): 0.0, (1, 2): 0.3, (0, 1, 2): 0.36}
    shape, rounds = (4, 3, 3), 3000
    totals = dict.fromkeys(truth, 0.0)
    for _ in range(rounds):
        table = np.zeros(shape)
        for axes, variance in truth.items():
            size = [length if axis in axes else 1 for axis, length in enumerate(shape)]
            table = table + draw.normal(scale=math.sqrt(variance), size=size)
        for axes, estimate in variance_components(table).items():
            totals[axes] += estimate / rounds
    assert totals == pytest.approx(truth, abs=0.2)
    assert totals[(2,)] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    "kept",
    [
        lambda seeds: seeds.sample == seeds.init == seeds.order,  # (k, k, k)
        lambda seeds: seeds != Seeds(1, 1, 1),  # one is missing
        lambda seeds: seeds.init == seeds.order == 0,  # one stream alone
    ],
)
def test_seeds_that_are_not_crossed_have_no_components(kept: object) -> None:
    assert callable(kept)
    places = [seeds for seeds in (Seeds(*each) for each in product(range(2), repeat=3)) if kept(seeds)]
    records = [make_record("a", TASK, 0.1 * i, crossed=seeds) for i, seeds in enumerate(places)]
    assert only(records).components is None


def test_the_page_shows_stability_under_few_shot_tables_only() -> None:
    few = runs(0.4, 0.5, 0.9, devs=(0.1, 0.9, 0.5), chance=0.5)
    page = render_markdown(build_board([*few, make_record("b", seed=0), make_record("b", seed=1)]))
    assert page.count("stability") == 1
    lines = page[page.index("#### fewshot: stability") :].splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")][:3]
    assert table[0] == ["Task", "Strategy", "n", "Mean", "95 %", "Std", "Failed", "Best of 2", "Best of 3"]
    # pairs by dev: (1, 2) and (2, 3) take .5, (1, 3) takes .9
    assert table[2] == [TASK, "a", "3", "60.00", "-5.72 to 125.72", "26.46", "67 %", "63.33", "50.00"]


def test_a_board_without_repeated_runs_has_no_stability() -> None:
    assert "stability" not in render_markdown(build_board([make_record("a", TASK, 0.5)]))


def test_stability_is_escaped_and_the_same_bytes_in_any_order() -> None:
    records = [*crossed_runs(WORKED / 70, "x|y"), *crossed_runs(WORKED[::-1] / 30, "*z*"), *runs(1 / 3, 1 / 7, 1 / 9)]
    pages = set()
    for shuffle in range(10):
        random.Random(shuffle).shuffle(records)
        pages.add(render_markdown(build_board(records)))
    (page,) = pages
    stability = page[page.index("#### fewshot: stability") :]
    assert r"x\|y" in stability
    assert r"\*z\*" in stability


def test_crossed_seeds_have_no_interval_and_paired_ones_or_a_fixed_stream_do() -> None:
    assert only(crossed_runs(np.arange(6.0).reshape(3, 2) / 10)).interval is None
    fixed = [make_record("a", value=score, crossed=Seeds(0, seed, 7)) for seed, score in enumerate((0.1, 0.2, 0.4))]
    assert only(fixed).interval == t_interval(summarise([0.1, 0.2, 0.4]))
    paired = [make_record("a", value=score, crossed=Seeds(seed, seed, seed)) for seed, score in enumerate((0.1, 0.2))]
    assert only(paired).interval == t_interval(summarise([0.1, 0.2]))
