"""Two trained models on the same rows: against scipy, by hand and by simulation."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records_by_hand import make_record
from scipy import stats
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.model_pair import compare_models, mcnemar, model_of, paired_bootstrap
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record


def rows(
    results: Path,
    name: str,
    gold: Mapping[str, object],
    predicted: Mapping[str, object],
    score: float | None = None,
    metric: str = "accuracy",
    seed: int | None = None,
) -> Record:
    """A record of this score with these rows, by id, written in the order of `predicted`."""
    table = pa.table(
        {"row": list(predicted), "gold": [gold[row] for row in predicted], "prediction": list(predicted.values())}
    )
    pq.write_table(table, results / f"{name}-{seed}.parquet")
    if score is None:
        score = sum(gold[row] == each for row, each in predicted.items()) / len(predicted)
    return replace(make_record(name, value=score, metric=metric, seed=seed), rows=f"{name}-{seed}.parquet")


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 3), (10, 3), (2, 40), (400, 460)])
def test_mcnemar_is_the_exact_sign_test_of_scipy(first: int, second: int) -> None:
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, abs=1e-9)


def test_rows_are_matched_by_their_id(tmp_path: Path) -> None:
    gold = {"r1": "x", "r2": "y", "r3": "x", "r4": "y"}
    first = rows(tmp_path, "a", gold, {"r1": "x", "r2": "y", "r3": "x", "r4": "x"})
    second = rows(tmp_path, "b", gold, {"r4": "x", "r3": "x", "r2": "x", "r1": "y"})
    found = compare_models(tmp_path, first, second)
    assert (found.rows, found.metric, found.scores, found.only) == (4, "accuracy", (0.75, 0.25), (2, 0))
    assert found.difference == 0.5
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


def test_queries_are_compared_by_what_each_adds_to_the_mean(tmp_path: Path) -> None:
    relevant = {"q1": 1.0, "q2": 2.0, "q3": 1.0}
    first = rows(tmp_path, "a", relevant, {"q1": 1.0, "q2": 0.5, "q3": 0.0}, 0.5, "ndcg_at_10")
    second = rows(tmp_path, "b", relevant, {"q1": 0.5, "q2": 0.0, "q3": 0.1}, 0.2, "ndcg_at_10")
    found = compare_models(tmp_path, first, second)
    assert found.difference == pytest.approx(0.3)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (-0.1, 0.5)
    )  # three times the least, the greatest
    assert (found.only, found.p) == (None, None)


def test_similarities_are_compared_by_their_rank_correlations(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    gold = draw.normal(size=200)
    said = [gold + draw.normal(0, spread, 200) for spread in (0.2, 2.0)]
    named = [dict(zip(map(str, range(200)), values.tolist(), strict=True)) for values in (gold, *said)]
    expected = [stats.spearmanr(gold, each).statistic for each in said]
    pair = [
        rows(tmp_path, name, named[0], named[at], expected[at - 1], "spearman") for at, name in ((1, "a"), (2, "b"))
    ]
    found = compare_models(tmp_path, *pair)
    assert found.scores == pytest.approx(expected, abs=1e-9)
    assert 0 < found.interval.low < found.difference < found.interval.high < 1
    again = compare_models(tmp_path, *reversed(pair))
    assert (again.interval.low, again.interval.high) == pytest.approx((-found.interval.high, -found.interval.low))


def test_rows_that_are_not_the_same_not_there_or_of_another_run_are_refused(tmp_path: Path) -> None:
    gold = {"r1": "x", "r2": "y"}
    first = rows(tmp_path, "a", gold, {"r1": "x", "r2": "y"})
    with pytest.raises(UserError, match="not of the same rows"):
        compare_models(tmp_path, first, rows(tmp_path, "b", gold, {"r1": "x"}))
    with pytest.raises(UserError, match="not of the same rows"):
        compare_models(tmp_path, first, rows(tmp_path, "b", {"r1": "x", "r2": "x"}, {"r1": "x", "r2": "y"}))
    with pytest.raises(UserError, match="has no rows"):
        compare_models(tmp_path, first, make_record("c"))
    with pytest.raises(
        UserError, match=r"give accuracy 1\.00000, and the record says 0\.50000: they are of another run"
    ):
        compare_models(tmp_path, first, rows(tmp_path, "d", gold, {"r1": "x", "r2": "y"}, score=0.5))
    numbers = rows(tmp_path, "e", {"r1": 0.5, "r2": 1.0}, {"r1": 0.4, "r2": 0.9}, 0.1, "uuas")
    with pytest.raises(UserError, match="do not give uuas: compare classes, sts or ir"):
        compare_models(tmp_path, numbers, numbers)
    with pytest.raises(ValueError, match="2 rows against 3"):
        paired_bootstrap(np.zeros(2), np.zeros(3))


def test_a_model_is_found_by_strategy_task_and_the_seeds_that_it_draws_on() -> None:
    seeded = [make_record("a", seed=seed) for seed in range(3)]
    still = make_record("b")
    assert model_of([*seeded, still], "a", "sts/STS12", Seeds(7, 1, 7)) == seeded[1]
    assert model_of([*seeded, still], "b", "sts/STS12", Seeds(5, 5, 5)) == still
    with pytest.raises(UserError, match="no record on sts/STS12 at these seeds; there are init=0; init=1; init=2"):
        model_of(seeded, "a", "sts/STS12", Seeds(9, 9, 9))
    with pytest.raises(UserError, match="unknown strategy among these records 'aa'; did you mean a"):
        model_of(seeded, "aa", "sts/STS12", Seeds())
    with pytest.raises(UserError, match="unknown task among these records 'sts/STS1'; did you mean sts/STS12"):
        model_of(seeded, "a", "sts/STS1", Seeds())
    others = [make_record("a", seed=0, weights=name, backbone=name) for name in ("one", "two")]
    with pytest.raises(UserError, match="choose with --backbone: one, two"):
        model_of(others, "a", "sts/STS12", Seeds())
    assert model_of(others, "a", "sts/STS12", Seeds(), "two") == others[1]
    editions = [make_record("a", seed=0, version=version) for version in ("1", "2")]
    with pytest.raises(UserError, match="mix versions of one strategy"):
        model_of(editions, "a", "sts/STS12", Seeds())


def test_a_folder_without_records_is_told_as_such(tmp_path: Path) -> None:
    command = ["compare", "a", "b", "--task", "sts/STS12", "--results", str(tmp_path / "nothing")]
    found = CliRunner().invoke(app, command)
    assert isinstance(found.exception, UserError)
    assert str(found.exception).startswith(f"there are no records in {tmp_path / 'nothing'}")


def test_the_command_says_of_what_it_speaks(tmp_path: Path) -> None:
    gold = {"r1": "x", "r2": "y", "r3": "x", "r4": "y"}
    store = RecordStore(tmp_path)
    store.write(rows(tmp_path, "a", gold, {"r1": "x", "r2": "y", "r3": "x", "r4": "x"}, seed=1))
    store.write(rows(tmp_path, "longer", gold, {"r1": "y", "r2": "x", "r3": "x", "r4": "x"}, seed=1))

    def say(*options: str) -> str:
        command = ["compare", "a", "longer", "--task", "sts/STS12", "--results", str(tmp_path), *options]
        found = CliRunner().invoke(app, command)
        assert not isinstance(found.exception, UserError), found.exception
        return found.output

    first, *lines, last = say("--seed", "1").splitlines()
    assert first == "Two trained models on the same 4 rows of sts/STS12, accuracy times 100:"
    assert lines[0].startswith("  a        75.00  init=1 (")
    assert lines[1].startswith("  longer   25.00  init=1 (")
    assert "difference 50.00, 95 % " in lines[2]
    assert lines[3] == "  right alone: 2 and 0 rows; p 0.5000 (McNemar, exact)"
    assert "another seed gives other weights" in last
    assert say("--seed", "init=1") == say("--seed", "1", "--second-seed", "init=1,order=5")
    with pytest.raises(AssertionError, match="names 2 models; name one"):
        say("--seed", "init=0-1")


@pytest.mark.parametrize(
    ("main", "parts", "kept"),
    [
        ("shifted", ("in_domain:", "shifted:"), "shifted"),
        ("after", ("after:", "before:"), "after"),
        ("noisy", ("", "typos=0.2:"), "typos=0.2"),
    ],
)
def test_of_rows_of_several_parts_those_of_the_main_score_are_compared(
    tmp_path: Path, main: str, parts: tuple[str, ...], kept: str
) -> None:
    names = [f"{part}test:{place}" for part in parts for place in range(4)]
    gold: dict[str, object] = dict.fromkeys(names, "x")
    right = rows(tmp_path, "a", gold, {name: "x" if name.startswith(kept) else "y" for name in names}, 1.0, main)
    wrong = rows(tmp_path, "b", gold, {name: "y" if name.startswith(kept) else "x" for name in names}, 0.0, main)
    found = compare_models(tmp_path, right, wrong)

    assert (found.rows, found.metric, found.scores, found.only) == (4, f"accuracy, {kept}", (1.0, 0.0), (4, 0))


@pytest.mark.parametrize(
    ("main", "parts"), [("average_accuracy", ("sst2:", "subj:")), ("noisy", ("", "typos=0.2:", "words=0.2:"))]
)
def test_rows_of_parts_that_no_score_is_made_of_are_refused(tmp_path: Path, main: str, parts: tuple[str, ...]) -> None:
    names = {f"{part}test:0": "x" for part in parts}
    record = rows(tmp_path, "a", names, names, 1.0, main)

    with pytest.raises(UserError, match=f"are of several parts .*, of which no one gives {main}: compare on a task"):
        compare_models(tmp_path, record, record)
