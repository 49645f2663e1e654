"""The overall board: who stands, with which mean rank, and who is left out."""

from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.overall import Overall
from thawbench.suite.records import MetricValue, Record


def scored(scores: dict[str, dict[str, float]], control: bool = False) -> list[Record]:
    return [
        make_record(name, task, value, control=control) for name, row in scores.items() for task, value in row.items()
    ]


def overall(records: list[Record]) -> Overall:
    (section,) = build_board(records).sections
    assert section.overall is not None
    return section.overall


WORKED = {
    "a": {"ir/x": 0.9, "sts/x": 0.5, "sts/y": 0.1},  # ir 1; sts (1 + 3) / 2 = 2
    "b": {"ir/x": 0.8, "sts/x": 0.4, "sts/y": 0.8},  # ir 2; sts (2.5 + 1) / 2 = 1.75
    "c": {"ir/x": 0.7, "sts/x": 0.4, "sts/y": 0.5},  # ir 3; sts (2.5 + 2) / 2 = 2.25
}


def test_families_weigh_the_same_and_tasks_the_same_within_each() -> None:
    found = overall(scored(WORKED))
    assert found.families == ("ir", "sts")
    assert [(each.strategy, each.ranks, each.mean_rank, each.place) for each in found.standings] == [
        ("a", (1, 2), 1.5, 1),
        ("b", (2, 1.75), 1.875, 2),
        ("c", (3, 2.25), 2.625, 3),
    ]


def test_one_who_lacks_a_family_or_a_cell_of_it_stands_apart_and_moves_nobody() -> None:
    records = scored(WORKED | {"d": {"ir/x": 0.99}, "e": {"ir/x": 0.95, "sts/x": 0.9}})
    records.append(make_record("e", "sts/y", status="failed"))
    found = overall(records)
    assert [(each.strategy, each.mean_rank) for each in found.standings] == [("a", 1.5), ("b", 1.875), ("c", 2.625)]
    assert [(each.strategy, each.missing) for each in found.partial] == [("d", ("sts",)), ("e", ("sts",))]
    assert "| d          | 1/2        | sts       |" in render_markdown(build_board(records))


def test_controls_have_no_place_and_take_no_rank() -> None:
    control = scored({"tfidf": {"ir/x": 0.99, "sts/x": 0.99, "sts/y": 0.99}}, control=True)
    assert overall([*scored(WORKED), *control]) == overall(scored(WORKED))


def test_equal_mean_ranks_share_a_place() -> None:
    found = overall(scored({"a": {"ir/x": 0.9, "sts/x": 0.1}, "b": {"ir/x": 0.1, "sts/x": 0.9}}))
    assert [(each.strategy, each.mean_rank, each.place) for each in found.standings] == [("a", 1.5, 1), ("b", 1.5, 1)]


def test_what_is_never_ranked_and_what_nobody_ran_are_left_out_and_the_latter_named() -> None:
    records = scored({"a": {"ir/x": 0.9, "forgetting/x": 0.1, "probe/x": 0.9}, "b": {"ir/x": 0.8, "forgetting/x": 0.2}})
    found = overall(records)
    assert (found.families, found.absent) == (("ir", "forgetting"), ("sts", "fewshot", "noise", "shift"))
    assert [each.mean_rank for each in found.standings] == [1.5, 1.5]
    assert "Not ranked here yet: sts, fewshot, noise, shift." in render_markdown(build_board(records))


def test_one_strategy_alone_has_no_rank_and_one_family_alone_no_overall_board() -> None:
    found = overall(scored({"a": WORKED["a"], "b": {"ir/x": 0.5}}))
    assert found.standings == ()
    assert [(each.strategy, each.missing) for each in found.partial] == [("a", ()), ("b", ("sts",))]
    (section,) = build_board(scored({"a": {"ir/x": 0.9}})).sections
    assert section.overall is None


def test_letters_of_the_families_stand_beside_their_ranks() -> None:
    records = [
        make_record(name, task, base + 0.01 * k + extra * (k == 1), crossed=Seeds(k, k, k))
        for name, base, extra in (("a", 0.8, 0), ("b", 0.2, 0.004))
        for task in ("ir/x", "sts/x")
        for k in range(3)
    ]
    assert [each.groups for each in overall(records).standings] == [("a", "a"), ("b", "b")]
    assert "| 1   | a          | 1.00 a | 1.00 a | **1.00**    |" in render_markdown(build_board(records))


def test_of_shifts_only_pairs_of_domains_are_ranked_and_rows_left_out_have_a_table_of_their_own() -> None:
    """A score on all test rows of the set's own domain is none for a shift, and who lacks it lacks no shift."""
    scores = {
        "a": {"ir/x": 0.9, "shift/books@9~kitchen": 0.8, "shift/snli_biased@9": 0.1},
        "b": {"ir/x": 0.8, "shift/books@9~kitchen": 0.7, "shift/snli_biased@9": 0.9},
        "c": {"ir/x": 0.7, "shift/books@9~kitchen": 0.9},
    }
    records = scored(scores)
    (section,) = build_board(records).sections

    assert [(each.strategy, each.ranks) for each in overall(records).standings] == [
        ("a", (1, 2)),
        ("c", (3, 1)),
        ("b", (2, 3)),
    ]
    assert [table.title for table in section.tables] == ["ir", "shift", "shift, rows left out"]
    assert [[column.task for column in table.columns] for table in section.tables] == [
        ["ir/x"],
        ["shift/books@9~kitchen"],
        ["shift/snli_biased@9"],
    ]


def test_searches_elsewhere_have_a_table_of_their_own_whoever_failed_there() -> None:
    searched = make_record("a", "shift/nli~SciFact", 0.6, metric="shifted", others=(MetricValue("backbone", 0.5),))
    failed = make_record("b", "shift/nli~SciFact", status="failed", why="no")
    (section,) = build_board([searched, failed, *scored({"a": {"shift/books@9~kitchen": 0.8}})]).sections

    assert [[column.task for column in table.columns] for table in section.tables] == [
        ["shift/books@9~kitchen"],
        ["shift/nli~SciFact"],
    ]
    assert [table.title for table in section.tables] == ["shift", "shift, search"]
    assert [row.strategy for row in section.tables[1].incomplete] == ["b"]


def test_rows_left_out_are_no_ranked_shift_where_they_are_alone_and_their_noise_is_no_domain() -> None:
    scores = {
        name: {"ir/x": value, "shift/snli@9:train=mnli@9~typos-0.1": value} for name, value in (("a", 0.2), ("b", 0.1))
    }
    (section,) = build_board(scored(scores)).sections

    assert section.overall is None
    assert [table.title for table in section.tables] == ["ir", "shift, rows left out"]
