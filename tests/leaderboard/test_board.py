"""Boards: what is averaged, ranked, kept apart and refused."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.statistics import Summary
from thawbench.leaderboard.tables import COSINE_SPEARMAN, Row, Table
from thawbench.suite.records import MetricValue, Record, Status, Usage, key_of


def only_table(*records: Record) -> Table:
    (section,) = build_board(records).sections
    (table,) = section.tables
    return table


def row_of(table: Table, strategy: str) -> Row:
    (row,) = [row for row in (*table.complete, *table.incomplete) if row.strategy == strategy]
    return row


def test_seeds_of_one_cell_are_averaged() -> None:
    table = only_table(make_record(value=0.4, seed=0), make_record(value=0.5, seed=1), make_record(value=0.6, seed=2))
    (entry,) = table.complete[0].entries
    assert entry is not None
    assert entry.summary is not None
    assert entry.summary.mean == pytest.approx(0.5)
    assert entry.summary.std == pytest.approx(0.1)
    assert entry.summary.n == 3


def test_a_strategy_that_draws_no_seed_stands_alone() -> None:
    (entry,) = only_table(make_record(value=0.5)).complete[0].entries
    assert entry is not None
    assert entry.summary == Summary(0.5, None, 1)


def test_each_family_has_a_table_with_its_tasks_in_order() -> None:
    records = [make_record(task=task) for task in ("sts/STS15", "ir/SciFact", "sts/STS12")]
    tables = build_board(records).sections[0].tables
    assert [(table.title, [column.task for column in table.columns]) for table in tables] == [
        ("ir", ["ir/SciFact"]),
        ("sts", ["sts/STS12", "sts/STS15"]),
    ]


def test_complete_rows_are_ranked_by_their_mean_over_columns() -> None:
    # a: (.9 + .1) / 2 = .5; b: (.7 + .4) / 2 = .55; c: (.2 + .2) / 2 = .2
    scores = {"a": (0.9, 0.1), "b": (0.7, 0.4), "c": (0.2, 0.2)}
    table = only_table(
        *(
            make_record(name, task, value)
            for name, pair in scores.items()
            for task, value in zip(("s/x", "s/y"), pair, strict=True)
        )
    )
    assert [(row.strategy, row.rank) for row in table.complete] == [("b", 1), ("a", 2), ("c", 3)]
    assert [row.mean for row in table.complete] == pytest.approx([0.55, 0.5, 0.2])


def test_a_metric_that_goes_down_ranks_the_least_first() -> None:
    table = only_table(make_record("a", value=0.3, direction="down"), make_record("b", value=0.1, direction="down"))
    assert table.direction == "down"
    assert [(row.strategy, row.rank) for row in table.complete] == [("b", 1), ("a", 2)]


def test_a_metric_without_direction_is_shown_and_never_ranked() -> None:
    table = only_table(make_record("b", value=0.9, direction="none"), make_record("a", value=0.1, direction="none"))
    assert table.direction is None
    assert [(row.strategy, row.rank, row.mean) for row in table.complete] == [("a", None, None), ("b", None, None)]


def test_a_column_without_direction_does_not_enter_the_mean() -> None:
    table = only_table(make_record(task="s/x", value=0.4), make_record(task="s/y", value=0.9, direction="none"))
    assert table.complete[0].mean == 0.4


def test_columns_that_point_both_ways_have_no_common_mean() -> None:
    table = only_table(make_record(task="s/x"), make_record(task="s/y", direction="down"))
    assert table.direction is None
    assert table.complete[0].mean is None


def test_what_prints_alike_shares_a_rank() -> None:
    values = {"a": 0.800001, "b": 0.800002, "c": 0.7}
    table = only_table(*(make_record(name, value=value) for name, value in values.items()))
    assert [(row.strategy, row.rank) for row in table.complete] == [("a", 1), ("b", 1), ("c", 3)]


def test_a_control_is_placed_by_its_score_and_takes_no_rank() -> None:
    table = only_table(make_record("a", value=0.5), make_record("tfidf", value=0.9, control=True))
    assert [(row.strategy, row.control, row.rank) for row in table.complete] == [
        ("tfidf", True, None),
        ("a", False, 1),
    ]


def test_a_row_that_lacks_a_cell_stands_apart() -> None:
    table = only_table(make_record("a", "s/x"), make_record("a", "s/y"), make_record("b", "s/x", 0.9))
    assert [row.strategy for row in table.complete] == ["a"]
    (row,) = table.incomplete
    assert (row.strategy, row.done, row.entries[1], row.rank) == ("b", 1, None, None)


@pytest.mark.parametrize("status", ["failed", "timeout", "degenerate", "not_applicable"])
def test_a_cell_without_a_score_is_shown_in_words_and_listed(status: Status) -> None:
    broken = make_record("b", status=status, why="first line\nsecond line")
    (section,) = build_board([make_record("a"), broken]).sections
    (row,) = section.tables[0].incomplete
    (entry,) = row.entries
    assert entry is not None
    assert (entry.summary, entry.outcome) == (None, status.replace("_", " "))
    (problem,) = section.problems
    assert (problem.strategy, problem.task, problem.status) == ("b", "sts/STS12", status.replace("_", " "))
    assert problem.reason.endswith("first line")
    assert problem.key == broken.key


def test_one_failed_seed_takes_the_mean_away() -> None:
    records = [make_record(value=0.9, seed=0), make_record(value=0.9, seed=1), make_record(seed=2, status="failed")]
    (entry,) = only_table(*records).incomplete[0].entries
    assert entry is not None
    assert (entry.summary, entry.outcome) == (None, "failed 1 of 3")
    assert build_board(records).sections[0].problems[0].seeds == "init=2"


def test_a_task_that_nobody_scored_keeps_its_column() -> None:
    table = only_table(make_record(status="failed", why="no"))
    assert [(column.task, column.metric, column.direction) for column in table.columns] == [("sts/STS12", "", "none")]
    assert table.complete == ()


def cosine(value: float) -> tuple[MetricValue]:
    return (MetricValue(COSINE_SPEARMAN, value, lower=-1.0),)


def test_cosine_has_a_table_of_its_own_where_it_differs_from_the_own_similarity() -> None:
    records = [make_record("a", value=0.8, others=cosine(0.8)), make_record("b", value=0.7, others=cosine(0.9))]
    own, by_cosine = build_board(records).sections[0].tables
    assert [row.strategy for row in own.complete] == ["a", "b"]
    assert [row.strategy for row in by_cosine.complete] == ["b", "a"]
    assert by_cosine.columns[0].metric == COSINE_SPEARMAN


def test_cosine_has_no_table_where_it_is_the_own_similarity() -> None:
    assert only_table(make_record(value=0.8, others=cosine(0.8))).title == "sts"


@pytest.mark.parametrize("change", [{"weights": "ffff"}, {"precision": "bfloat16"}])
def test_backbones_and_precisions_are_never_averaged_together(change: dict[str, Any]) -> None:
    board = build_board([make_record(value=0.4), make_record(value=0.6, **change)])
    means = [section.tables[0].complete[0].mean for section in board.sections]
    assert sorted(mean for mean in means if mean is not None) == [0.4, 0.6]


def test_one_backbone_under_two_spellings_is_one_section() -> None:
    board = build_board([make_record("a"), make_record("b", backbone="org/all-MiniLM")])
    assert [section.backbone for section in board.sections] == ["embedded, org/all-MiniLM"]


@pytest.mark.parametrize(
    ("change", "field"),
    [({"task_version": 2}, "version"), ({"revision": "r2"}, "revision"), ({"fingerprint": "f2"}, "fingerprint")],
)
def test_two_states_of_one_task_are_refused_with_what_differs(change: dict[str, Any], field: str) -> None:
    records = [make_record("a"), make_record("b", **change)]
    with pytest.raises(UserError, match=rf"one task.*sts/STS12 differs in {field} \(records") as caught:
        build_board(records)
    assert all(record.key[:12] in str(caught.value) for record in records)
    assert "\n" not in str(caught.value)


def test_numbers_that_are_equal_and_of_two_types_are_two_states() -> None:
    with pytest.raises(UserError, match=r"sts/STS12 differs in version \(records"):
        build_board([make_record("a"), make_record("b", task_version=True)])


def test_two_states_of_a_task_are_refused_across_backbones_too() -> None:
    with pytest.raises(UserError, match="differs in revision"):
        build_board([make_record(), make_record(weights="ffff", revision="r2")])


def test_two_versions_of_one_strategy_are_refused_even_on_two_tasks() -> None:
    with pytest.raises(UserError, match=r"one strategy.*frozen differs in \[0\]\.version"):
        build_board([make_record(task="sts/STS12"), make_record(task="sts/STS13", version="2")])


def test_two_versions_of_one_family_are_refused_even_on_two_tasks() -> None:
    with pytest.raises(UserError, match=r"one family of tasks.*sts differs in version \(records \w+, \w+\)"):
        build_board([make_record(task="sts/STS12"), make_record(task="sts/STS13", task_version=2)])


def test_two_versions_of_one_train_set_are_refused_whoever_learned_from_them() -> None:
    other = make_record("b")
    steps = [{**step, "train": {**step["train"], "version": 2}} for step in other.cell["adaptation"]["steps"]]
    cell = {**other.cell, "adaptation": {**other.cell["adaptation"], "steps": steps}}
    with pytest.raises(UserError, match=r"one train set.*nli differs in version \(records \w+, \w+\)"):
        build_board([make_record("a"), replace(other, cell=cell, key=key_of(cell))])


def test_all_mixtures_are_listed_at_once() -> None:
    records = [make_record(task=task, revision=f"r{i}", version="1") for task in ("s/x", "s/y") for i in (1, 2)]
    with pytest.raises(UserError, match=r"s/x differs in revision.*; s/y differs in revision"):
        build_board(records)


def test_majors_of_one_library_are_refused_with_the_list() -> None:
    packages = [{"torch": "2.13.0+cpu", "mteb": "2.26"}, {"torch": "3.0", "mteb": "2.9"}, {"mteb": "3.1"}]
    records = [make_record(name, packages=each) for name, each in zip("abc", packages, strict=True)]
    with pytest.raises(UserError, match=r"mteb 2\.\d+ \(record \w+\) and 3\.1 \(.*; torch 2\.13\.0\+cpu \(.* and 3\.0"):
        build_board(records)
    assert build_board([make_record("a", packages={"torch": "2.13"}), make_record("b", packages={"torch": "2.12"})])


def three_seeds(scores: dict[str, tuple[float, float, float]], task: str = "sts/STS12") -> list[Record]:
    return [
        make_record(name, task, value, crossed=Seeds(k, k, k))
        for name, values in scores.items()
        for k, value in enumerate(values)
    ]


def test_rows_that_cannot_be_told_apart_share_a_letter_and_the_bold() -> None:
    table = only_table(
        *three_seeds({"a": (0.80, 0.82, 0.81), "b": (0.79, 0.83, 0.80), "c": (0.20, 0.22, 0.205)}),
        *(make_record("tfidf", value=0.9, control=True, seed=seed) for seed in range(3)),
    )
    assert [(row.strategy, row.group, row.top, row.best) for row in table.complete] == [
        ("tfidf", "", False, (False,)),
        ("a", "a", True, (True,)),
        ("b", "a", True, (True,)),
        ("c", "b", False, (False,)),
    ]


def test_one_seed_has_no_letter_and_is_bold_only_if_it_is_the_best() -> None:
    seeds = three_seeds({"a": (0.80, 0.82, 0.81), "b": (0.79, 0.83, 0.80)})
    table = only_table(*seeds, make_record("c", value=0.5, crossed=Seeds()))
    assert [(row.strategy, row.group, row.top) for row in table.complete] == [
        ("a", "a", True),
        ("b", "a", True),
        ("c", "", False),
    ]
    table = only_table(*seeds, make_record("c", value=0.9, crossed=Seeds()))
    assert [(row.strategy, row.top) for row in table.complete] == [("c", True), ("a", False), ("b", False)]


def test_a_task_that_nobody_ran_at_three_seeds_is_shown_and_counts_for_neither_order_nor_letters() -> None:
    scores = {"a": (0.80, 0.82, 0.81), "b": (0.20, 0.22, 0.205)}
    big = [make_record(name, "sts/big", value, crossed=Seeds()) for name, value in (("a", 0.1), ("b", 0.99))]
    table = only_table(*three_seeds(scores), *big)
    alone = only_table(*three_seeds(scores))
    # by both tasks b would be first, and the letters would contradict it
    assert [(row.strategy, row.rank, row.group, row.mean) for row in table.complete] == [
        (row.strategy, row.rank, row.group, row.mean) for row in alone.complete
    ]
    assert [row.group for row in table.complete] == ["a", "b"]
    columns = [column.task for column in table.columns]
    assert [row.best[columns.index("sts/big")] for row in table.complete] == [False, True]
    assert (table.left_out, table.comparisons, table.aggregates) == (("sts/big",), alone.comparisons, alone.aggregates)
    page = render_markdown(build_board([*three_seeds(scores), *big]))
    assert "Order, mean and group are by the other tasks: nobody ran three seeds or more of sts/big." in page
    assert "| sts/big, not ranked   |" in page


def test_where_nobody_ran_three_seeds_of_anything_all_tasks_count_and_there_are_no_letters() -> None:
    table = only_table(*(make_record(name, task, 0.5, crossed=Seeds()) for name in "ab" for task in ("s/x", "s/y")))
    assert (table.left_out, table.comparisons) == ((), ())
    assert {(row.rank, row.group, row.mean) for row in table.complete} == {(1, "", 0.5)}


def test_the_overall_board_ranks_by_the_same_columns_as_the_families() -> None:
    scores = {"a": (0.80, 0.82, 0.81), "b": (0.20, 0.22, 0.205)}
    records = [*three_seeds(scores), *three_seeds(scores, "ir/SciFact")]
    records += [make_record(name, "sts/big", value, crossed=Seeds()) for name, value in (("a", 0.1), ("b", 0.99))]
    (section,) = build_board(records).sections
    assert section.overall is not None
    assert [(each.strategy, each.ranks) for each in section.overall.standings] == [("a", (1, 1)), ("b", (2, 2))]


def test_no_number_that_is_not_finite_comes_into_a_record() -> None:
    with pytest.raises(ValueError, match="spearman is nan, which is not finite"):
        make_record(value=math.nan)


def test_forty_identical_strategies_share_first_place_one_letter_and_the_bold() -> None:
    table = only_table(*three_seeds({f"s{number}": (0.3, 0.4, 0.6) for number in range(40)}))
    assert {(row.rank, row.group, row.top, row.best) for row in table.complete} == {(1, "a", True, (True,))}
    assert {(each.mean_rank, each.borda) for each in table.aggregates} == {(20.5, 19.5)}


def test_incomplete_rows_are_not_compared() -> None:
    records = three_seeds({"a": (0.8, 0.82, 0.81), "b": (0.2, 0.22, 0.205)})
    broken = [*three_seeds({"c": (0.9, 0.9, 0.9)}), make_record("c", crossed=Seeds(3, 3, 3), status="failed")]
    assert only_table(*records, *broken).comparisons == only_table(*records).comparisons


def test_a_row_that_is_not_ranked_may_have_the_best_of_a_column() -> None:
    records = three_seeds({"a": (0.8, 0.82, 0.81), "b": (0.2, 0.22, 0.205), "c": (0.9, 0.91, 0.905)})
    records += three_seeds({"a": (0.5, 0.52, 0.51), "b": (0.7, 0.73, 0.705)}, "sts/x")
    table = only_table(*records, *(make_record("t", value=0.99, control=True, seed=seed) for seed in range(3)))
    assert [column.task for column in table.columns] == ["sts/STS12", "sts/x"]
    assert {row.strategy: row.best for row in table.complete} == {"a": (False, False), "b": (False, True)}
    assert {row.strategy: row.best for row in table.incomplete} == {"c": (True, False), "t": (False, False)}
    assert "**90.50 ± 0.50 (3)**" in render_markdown(build_board(records))


def test_an_entry_leads_to_its_records_and_has_the_interval_of_its_mean() -> None:
    records = three_seeds({"a": (0.3, 0.5, 0.7)})
    (entry,) = only_table(*records).complete[0].entries
    assert entry is not None
    assert entry.keys == tuple(sorted(record.key for record in records))
    assert entry.interval is not None
    assert entry.interval.high == pytest.approx(0.5 + 4.302653 * 0.2 / 3**0.5)


def test_no_records_make_no_board() -> None:
    with pytest.raises(UserError, match="no records to show; make some"):
        build_board([])


def test_of_costs_the_fastest_seed_counts_and_each_fit_once() -> None:
    def usage(fit_s: float, encode_s: float, tokens: int, peak: float | None) -> Usage:
        return Usage(
            fit_s=fit_s,
            encode_s=encode_s,
            tokens=tokens,
            peak_memory_mb=peak,
            truncated=1,
            texts=10,
            trainable_parameters=25,
            total_parameters=100,
        )

    records = [
        make_record(task="s/x", seed=0, usage=usage(10, 2, 100, 500)),
        make_record(task="s/y", seed=0, usage=usage(10, 3, 500, 700)),  # the fit of the line above, shared
        make_record(task="s/x", seed=1, usage=usage(20, 5, 400, None)),  # another program ran beside it
    ]
    (cost,) = build_board(records).sections[0].costs
    assert cost.fit_s == 10.0
    assert cost.encode_s == 2.5
    assert cost.tokens_per_s == 120.0
    assert cost.trainable_share == 0.25
    assert (cost.truncated, cost.texts, cost.peak_memory_mb) == (3, 30, 700)


def test_costs_of_two_kinds_of_machine_are_two_lines_and_name_them() -> None:
    records = [
        make_record("a", usage=Usage(fit_s=10)),
        make_record("a", seed=1, usage=Usage(fit_s=30), cpu="slow"),
        make_record("b", usage=Usage(fit_s=20)),
    ]
    board = build_board(records)
    assert [(cost.strategy, cost.machine.cpu, cost.fit_s) for cost in board.sections[0].costs] == [
        ("a", "slow", 30.0),
        ("a", "some cpu", 10.0),
        ("b", "some cpu", 20.0),
    ]
    page = render_markdown(board)
    assert re.search(r"\| a +\| slow, 2 threads +\| 30.0 ", page)
    assert "processor slow, some cpu" in page
    assert "Machine" not in render_markdown(build_board(records[::2]))


def test_a_strategy_without_weights_or_tokens_has_no_share_and_no_throughput() -> None:
    (cost,) = build_board([make_record()]).sections[0].costs
    assert (cost.trainable_share, cost.tokens_per_s, cost.peak_memory_mb) == (None, None, None)


def test_seeds_that_nothing_draws_do_not_tell_cells_apart() -> None:
    assert make_record().seeds == Seeds(0, 0, 0)
    assert build_board([make_record("a", status="degenerate", why="x")]).sections[0].problems[0].seeds == ""


def test_the_leaderboard_needs_no_torch_and_no_strategies() -> None:
    script = (
        "import sys, thawbench.leaderboard.markdown as _; print([m for m in sys.modules "
        "if m in ('torch', 'transformers', 'mteb') or m.startswith(('thawbench.strategies', 'thawbench.tasks'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def with_steps(record: Record, *more: tuple[str, str]) -> Record:
    """The record with steps of these strategies and versions after its own."""
    adaptation = record.cell["adaptation"]
    others = [{"strategy": name, "version": version, "config": {}} for name, version in more]
    steps = [{**adaptation["steps"][0], **other} for other in others]
    cell = {**record.cell, "adaptation": {**adaptation, "steps": [*adaptation["steps"], *steps]}}
    return replace(record, cell=cell, key=key_of(cell))


def test_a_read_out_that_only_some_tasks_need_is_no_other_strategy() -> None:
    plain = make_record("frozen", "sts/STS12")
    read_out = with_steps(make_record("frozen", "fewshot/a"), ("readout", "2"))
    twice = ("readout", "2"), ("readout", "2")  # a chain of two sets
    chain = with_steps(make_record("frozen", "forgetting/a+b"), *twice)

    assert build_board([plain, read_out, chain]).records == 3
    older = with_steps(make_record("frozen", "fewshot/b"), ("readout", "1"))
    with pytest.raises(UserError, match="frozen differs in"):
        build_board([plain, read_out, older])
