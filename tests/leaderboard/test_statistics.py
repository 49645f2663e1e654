"""Statistics against hand-worked numbers, numpy and scipy."""

import itertools

import numpy as np
import pytest
from scipy import stats

from thawbench.leaderboard.statistics import summarise, t_interval


def test_mean_and_sample_standard_deviation_by_hand() -> None:
    # deviations -2, 0, 2: variance (4 + 0 + 4) / (3 - 1) = 4
    summary = summarise([3.0, 5.0, 7.0])
    assert (summary.mean, summary.std, summary.n) == (5.0, 2.0, 3)


def test_a_single_value_has_no_spread_and_no_interval() -> None:
    summary = summarise([0.25])
    assert (summary.mean, summary.std, summary.n) == (0.25, None, 1)
    assert t_interval(summary) is None


def test_equal_values_have_a_spread_of_exactly_zero() -> None:
    assert summarise([0.1] * 7).std == 0.0


def test_nothing_has_no_summary() -> None:
    with pytest.raises(ValueError, match="nothing to summarise"):
        summarise([])


def test_no_order_of_the_values_changes_a_bit() -> None:
    summaries = {summarise(values) for values in itertools.permutations([0.1, 0.2, 0.3, 1e-17, 0.7])}
    assert len(summaries) == 1


def test_summary_agrees_with_numpy() -> None:
    values = np.random.default_rng(0).normal(0.6, 0.1, 11)
    summary = summarise(values.tolist())
    assert summary.mean == pytest.approx(values.mean(), abs=1e-15)
    assert summary.std == pytest.approx(values.std(ddof=1), abs=1e-15)


def test_interval_by_the_printed_table_of_student() -> None:
    # t(0.975, 2) = 4.303; std / sqrt(n) = 2 / sqrt(3)
    interval = t_interval(summarise([3.0, 5.0, 7.0]))
    assert interval is not None
    assert interval.high - 5.0 == pytest.approx(4.303 * 2 / 3**0.5, abs=1e-3)
    assert 5.0 - interval.low == pytest.approx(interval.high - 5.0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_interval_agrees_with_scipy(n: int, confidence: float) -> None:
    values = np.random.default_rng(n).normal(0.6, 0.1, n)
    interval = t_interval(summarise(values.tolist()), confidence)
    low, high = stats.t.interval(confidence, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)
