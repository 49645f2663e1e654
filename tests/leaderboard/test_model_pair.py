"""Two trained models on the same rows: against scipy, by hand and by simulation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records_by_hand import make_record
from scipy import stats

from thawbench.errors import UserError
from thawbench.leaderboard.model_pair import compare_models, mcnemar, paired_bootstrap
from thawbench.suite.records import Record


def rows(results: Path, name: str, gold: dict[str, object], predicted: dict[str, object]) -> Record:
    """A record with these rows, by id, written in the order of `predicted`."""
    table = pa.table(
        {"row": list(predicted), "gold": [gold[row] for row in predicted], "prediction": list(predicted.values())}
    )
    pq.write_table(table, results / f"{name}.parquet")
    return replace(make_record(name), rows=f"{name}.parquet")


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 3), (10, 3), (2, 40), (400, 460)])
def test_mcnemar_is_the_exact_sign_test_of_scipy(first: int, second: int) -> None:
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, abs=1e-9)


def test_rows_are_matched_by_their_id(tmp_path: Path) -> None:
    gold: dict[str, object] = {"r1": "x", "r2": "y", "r3": "x", "r4": "y"}
    first = rows(tmp_path, "a", gold, {"r1": "x", "r2": "y", "r3": "x", "r4": "x"})
    second = rows(tmp_path, "b", gold, {"r4": "x", "r3": "x", "r2": "x", "r1": "y"})
    found = compare_models(tmp_path, first, second)
    assert (found.rows, found.first_only, found.second_only, found.difference) == (4, 2, 0, 0.5)
    assert found.p == 0.5  # 2 * (1 / 2)^2
    assert found.interval.low <= 0.5 <= found.interval.high


def test_the_bootstrap_has_the_width_that_theory_gives() -> None:
    draw = np.random.default_rng(0)
    first, second = draw.random(2000), draw.random(2000)
    found = paired_bootstrap(first, second)
    half = 1.96 * stats.sem(first - second)
    assert (found.low, found.high) == pytest.approx(
        ((first - second).mean() - half, (first - second).mean() + half), abs=0.1 * half
    )
    assert paired_bootstrap(first, second) == found
    assert paired_bootstrap(first, second, seed=1) != found


def test_models_that_answer_alike_do_not_differ() -> None:
    found = paired_bootstrap(np.ones(5), np.ones(5))
    assert (found.low, found.high) == (0.0, 0.0)


def test_rows_that_are_not_the_same_not_there_or_no_classes_are_refused(tmp_path: Path) -> None:
    gold: dict[str, object] = {"r1": "x", "r2": "y"}
    first = rows(tmp_path, "a", gold, {"r1": "x", "r2": "y"})
    with pytest.raises(UserError, match="not of the same rows"):
        compare_models(tmp_path, first, rows(tmp_path, "b", gold, {"r1": "x"}))
    with pytest.raises(UserError, match="has no rows"):
        compare_models(tmp_path, first, make_record("c"))
    with pytest.raises(UserError, match="scores and no classes"):
        compare_models(tmp_path, first, rows(tmp_path, "d", {"r1": 0.5, "r2": 1.0}, {"r1": 0.4, "r2": 0.9}))
    with pytest.raises(ValueError, match="2 rows against 3"):
        paired_bootstrap(np.zeros(2), np.zeros(3))
