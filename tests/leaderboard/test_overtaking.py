"""When one strategy overtakes another: by hand, by pairing, at the ends of what was measured, and by simulation."""

import math

import numpy as np
import pytest

from thawbench.leaderboard.figure_cells import Cell, Run
from thawbench.leaderboard.overtaking import Overtaking, by_sample, overtaking_of


def cells(strategy: str, scores: dict[int, tuple[float, ...]]) -> dict[int, Cell]:
    return {
        n: Cell(
            strategy,
            False,
            f"fewshot/sst2@{n}",
            tuple(Run(k, value) for k, value in enumerate(values)),
            len(values),
            True,
        )
        for n, values in scores.items()
    }


def still(n: int, value: float) -> dict[int, Cell]:
    return {n: Cell("frozen", False, f"fewshot/sst2@{n}", (Run(None, value),), 1, False)}


def found(differences: dict[int, tuple[float, ...]], *, up: bool = True) -> Overtaking:
    sign = 1 if up else -1
    zeros = {n: (0.0,) * len(values) for n, values in differences.items()}
    first = {n: tuple(sign * value for value in values) for n, values in differences.items()}
    overtaking = overtaking_of(cells("finetune", first), cells("frozen", zeros), up=up)
    assert overtaking is not None
    return overtaking


@pytest.mark.parametrize("up", [True, False])
def test_the_n_and_its_interval_are_those_worked_by_hand(up: bool) -> None:
    # the mean goes from -.6 to .6, so it is 0 half of the way; its variance is .01 / 3 all the way: it is told from 0
    # beyond t(2) * sqrt(.01 / 3) = 4.302653 * .057735 = .248414: at .292988 and at .707012 of the way; n = 20 * 5 ** w
    overtaking = found({20: (-0.7, -0.6, -0.5), 100: (0.5, 0.6, 0.7)}, up=up)

    assert overtaking.at == pytest.approx(math.sqrt(20 * 100))
    assert overtaking.interval is not None
    assert overtaking.interval.low == pytest.approx(20 * 5**0.292988, rel=1e-5)
    assert overtaking.interval.high == pytest.approx(20 * 5**0.707012, rel=1e-5)
    assert (overtaking.sizes, overtaking.seeds) == ((20, 100), 3)
    assert overtaking.told == "n ≈ 45 (95 %: 32 to 62)"


def test_what_a_seed_does_to_both_does_not_count() -> None:
    luck = (0.3, -0.2, 0.1)
    plain = found({20: (-0.7, -0.6, -0.5), 100: (0.5, 0.6, 0.7)})
    first = {20: tuple(-0.6 + 0.1 * (k - 1) + luck[k] for k in range(3)), 100: (0.5 + 0.3, 0.6 - 0.2, 0.7 + 0.1)}
    lucky = overtaking_of(cells("finetune", first), cells("frozen", {20: luck, 100: luck}))

    assert lucky is not None
    assert lucky.interval is not None
    assert plain.interval is not None
    assert (lucky.at, lucky.interval.low) == pytest.approx((plain.at, plain.interval.low))


def test_behind_at_the_greatest_size_is_not_reached_and_bounded_by_where_it_was_last_told_behind() -> None:
    sure = found({20: (-0.1, 0.1, 0.05), 100: (-0.6, -0.61, -0.62)})
    assert sure.at == math.inf
    assert sure.interval is not None
    assert sure.interval.low == pytest.approx(100)
    assert sure.interval.high == math.inf
    assert sure.told == "not reached by n = 100 (95 %: over 100)"
    unsure = found({20: (-0.6, -0.61, -0.62), 100: (-0.1, 0.1, -0.05)})
    assert unsure.interval is not None
    assert 20 < unsure.interval.low < 100
    assert unsure.interval.high == math.inf


def test_ahead_everywhere_is_told_from_the_least_size_on() -> None:
    overtaking = found({20: (0.6, 0.61, 0.62), 100: (0.7, 0.71, 0.73)})
    assert overtaking.at == 0
    assert overtaking.told == "ahead from n = 20 on (95 %: under 20)"
    assert found({20: (0.6, -0.5, 0.1), 100: (0.7, -0.6, 0.1)}).told == "ahead from n = 20 on (95 %: any n)"


def test_of_several_crossings_the_last_upward_one_counts() -> None:
    overtaking = found({10: (0.2, 0.21, 0.22), 100: (-0.22, -0.21, -0.2), 1000: (0.2, 0.21, 0.22)})
    assert overtaking.at == pytest.approx(10**2.5)
    assert overtaking.interval is not None
    assert 100 < overtaking.interval.low < overtaking.at < overtaking.interval.high < 1000


def test_two_sizes_at_three_common_seeds_are_the_least() -> None:
    three, two = (0.1, 0.2, 0.3), (0.1, 0.2)
    assert overtaking_of(cells("a", {20: three}), cells("b", {20: three})) is None
    assert overtaking_of(cells("a", {20: three, 100: three}), cells("b", {20: three, 100: two})) is None
    other = {n: Cell("b", False, "t", tuple(Run(k + 1, 0.0) for k in range(3)), 3, True) for n in (20, 100)}
    assert overtaking_of(cells("a", {20: three, 100: three}), other) is None
    few = overtaking_of(
        cells("a", {20: three, 100: three, 1000: two}), cells("b", dict.fromkeys((20, 100, 1000), three))
    )
    assert few is not None
    assert few.sizes == (20, 100)


def test_without_any_spread_there_is_no_interval() -> None:
    overtaking = found({20: (-0.5,) * 3, 100: (0.5,) * 3})
    assert overtaking.interval is None
    assert overtaking.told == "n ≈ 45"


def test_several_runs_of_a_sample_are_averaged_and_a_strategy_that_no_seed_moves_stands_at_all() -> None:
    runs = (Run(0, 0.2), Run(0, 0.4), Run(1, 0.5))
    assert by_sample(Cell("a", False, "t", runs, 3, True)) == {0: pytest.approx(0.3), 1: 0.5}
    assert by_sample(Cell("a", False, "t", (Run(None, 0.1), Run(None, 0.2)), 2, True)) == {}
    first = cells("finetune", {20: (-0.7, -0.6, -0.5), 100: (0.5, 0.6, 0.7)})
    overtaking = overtaking_of(first, still(20, 0.0) | still(100, 0.0))
    assert overtaking is not None
    assert overtaking.at == pytest.approx(math.sqrt(2000))


def test_where_it_crosses_is_of_all_pairs_that_each_size_has() -> None:
    # seeds 0 to 2 alone are behind at 20, all six are ahead there; only three have 100 rows
    first = cells("lp_ft", {20: (-0.03, -0.02, -0.02, 0.05, 0.06, 0.05), 100: (0.01, 0.02, 0.03)})
    overtaking = overtaking_of(first, cells("frozen", {20: (0.0,) * 6, 100: (0.0,) * 3}))
    assert overtaking is not None
    assert (overtaking.at, overtaking.seeds) == (0, 3)
    assert overtaking.interval is not None
    assert overtaking.interval.low == 0


def test_between_two_sizes_that_tell_nothing_nothing_is_told() -> None:
    # what is lost at 20 is won at 100: half of the way all seeds are equally far behind, and were not measured there
    overtaking = found({20: (-0.3, -0.1, 0.1), 100: (0.1, -0.1, -0.29), 1000: (0.1, 0.11, 0.12)})
    assert overtaking.interval is not None
    assert overtaking.interval.low == 0


@pytest.mark.parametrize(
    ("means", "truth", "seeds"),
    [
        ((-0.06, -0.02, 0.06), 100 * 10**0.25, 5),
        ((-0.06, 0.06, 0.1), 20 * 5**0.5, 3),
        ((0.06, -0.06, 0.06), 100 * 10**0.5, 3),
        ((0.001, 0.001, 0.001), 0.0, 3),
        ((-0.001, -0.001, -0.001), math.inf, 3),
    ],
)
def test_the_interval_holds_the_truth_in_95_of_100_cases(means: tuple[float, ...], truth: float, seeds: int) -> None:
    draw = np.random.default_rng(3)
    held = 0
    for _ in range(500):
        # half of a seed's luck goes along with it over all sizes
        noise = 0.04 * (draw.standard_normal(seeds) + draw.standard_normal((3, seeds))) / math.sqrt(2)
        overtaking = found({n: tuple(means[at] + noise[at]) for at, n in enumerate((20, 100, 1000))})
        assert overtaking.interval is not None
        held += overtaking.interval.low <= truth <= overtaking.interval.high
    assert held / 500 >= 0.93
