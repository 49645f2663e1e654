"""One strategy along one of its fields: what makes a line, what does not, and the table and figure of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from figures_by_hand import all_drawn_is_finite, seeded, texts_of
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.field_panels import FieldPanel, field_panels
from thawbench.leaderboard.figure_fields import draw_fields
from thawbench.leaderboard.grid import MISSING
from thawbench.leaderboard.publish import edition_of
from thawbench.leaderboard.table_grids import fields_grid
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record, Usage

TASKS = ("fewshot/snli", "fewshot/druglib")


def removed(k: int, *scores: float, head: str = "linear", task: str = TASKS[0], seconds: float = 60.0) -> list[Record]:
    """`drop_top` with this many layers off, spelled as a profile has it; the first of the fits is the slowest."""
    spelled = f"drop_top:k={k},epochs=2" + ("" if head == "linear" else f",head={head}")
    records = []
    for seed, score in enumerate(scores):
        usage = Usage(fit_s=seconds + 10 * (seed == 0))
        crossed, config = Seeds(seed, seed, seed), configured(k, head)
        records.append(make_record(spelled, task, score, crossed=crossed, usage=usage, config=config, chance=0.34))
    return records


def configured(k: int, head: str = "linear") -> dict[str, object]:
    return {"k": k, "epochs": 2, "head": head, "lr": None, "tied": True}


def only(records: list[Record]) -> FieldPanel:
    (panel,) = field_panels(records)
    return panel


def test_a_line_has_the_mean_score_of_each_value_and_the_seconds_of_its_fastest_fit() -> None:
    panel = only([*removed(2, 0.6), *removed(0, 0.8, 0.7), *removed(1, 0.7, 0.72, seconds=50.0)])

    assert (panel.name, panel.task, panel.metric, panel.chance) == ("k of drop_top", TASKS[0], "spearman", 0.34)
    assert panel.values == (0.0, 1.0, 2.0)
    (ladder,) = panel.ladders
    assert [(point.x, point.mean, point.n) for point in ladder.scores.there] == [
        (0.0, 0.75, 2), (1.0, pytest.approx(0.71), 2), (2.0, 0.6, 1),
    ]  # fmt: skip
    assert [point.mean for point in ladder.seconds.there] == [60.0, 50.0, 70.0]


def test_seconds_of_another_kind_of_machine_are_a_gap() -> None:
    elsewhere = [replace(one, environment=replace(one.environment, cpu="fast")) for one in removed(1, 0.7, seconds=5.0)]
    panel = only([*removed(0, 0.8), *elsewhere, *removed(2, 0.6), *removed(3, 0.5)])

    (ladder,) = panel.ladders
    assert [point.x for point in ladder.scores.there] == [0.0, 1.0, 2.0, 3.0]
    assert [(point.x, point.mean) for point in ladder.seconds.there] == [(0.0, 70.0), (2.0, 70.0), (3.0, 70.0)]
    assert fields_grid([panel]).rows[1][-1].text == MISSING


def test_seconds_of_a_run_that_failed_are_no_fit() -> None:
    failed = make_record(
        "drop_top:k=1,epochs=2", TASKS[0], crossed=Seeds(5, 5, 5), status="failed", why="x", config=configured(1)
    )
    (panel,) = field_panels([*removed(0, 0.8), *removed(1, 0.7), failed, *removed(2, 0.6), *removed(3, 0.5)])
    assert [(point.x, point.mean) for point in panel.ladders[0].seconds.there] == [(at, 70.0) for at in range(4)]


def test_what_differs_in_another_field_has_its_own_line_named_by_that() -> None:
    records = [record for k in range(3) for record in (*removed(k, 0.8), *removed(k, 0.9 - k / 10, head="relu50"))]

    assert [ladder.strategy for ladder in only(records).ladders] == ["drop_top:head=relu50", "drop_top"]


def test_of_errors_the_least_comes_first() -> None:
    def errors(head: str, error: float) -> list[Record]:
        return [
            make_record(f"a:k={k},head={head}", TASKS[0], error, direction="down", config={"k": k, "head": head})
            for k in range(3)
        ]

    assert [each.strategy for each in only([*errors("x", 0.4), *errors("y", 0.2)]).ladders] == ["a:head=y", "a:head=x"]


@pytest.mark.parametrize(
    "records",
    [
        [*removed(0, 0.8), *removed(1, 0.7)],
        [*removed(0, 0.8), *removed(1, 0.7), *removed(2, 0.6, head="relu50")],
        [*removed(0, 0.8), *removed(1, 0.7), *removed(2, 0.6, task=TASKS[1])],
        [make_record(f"a:b={k}+c:k={k}", TASKS[0], config={"k": k}) for k in range(3)],
        [make_record(f"a:on={k}", TASKS[0], config={"on": k}) for k in (True, False, None, "1")],
        [make_record(f"a:k={k}", TASKS[0], config={"k": k}, fingerprint=f"f{k}") for k in range(3)],
    ],
    ids=["two values", "another head", "another task", "in a row", "no numbers", "other rows"],
)
def test_no_line_without_three_values_and_all_else_alike(records: list[Record]) -> None:
    assert field_panels(records) == ()


def test_a_value_spelled_in_two_ways_is_left_out_and_not_averaged_with_itself() -> None:
    plain = make_record("drop_top:epochs=2", TASKS[0], 0.8, config={"k": 1, "epochs": 2})
    spelled = [make_record(f"drop_top:k={k},epochs=2", TASKS[0], 0.7, config={"k": k, "epochs": 2}) for k in range(4)]

    assert only([plain, *spelled]).values == (0.0, 2.0, 3.0)


def test_a_run_without_a_score_leaves_a_gap() -> None:
    lost = make_record("drop_top:k=1,epochs=2", TASKS[0], status="failed", why="no", config=configured(1))
    panel = only([*removed(0, 0.8), lost, *removed(2, 0.6), *removed(3, 0.5)])

    points = panel.ladders[0].scores.points
    assert [None if point is None else point.x for point in points] == [0.0, None, 2.0, 3.0]
    assert all_drawn_is_finite(draw_fields([panel], "light"))


def test_the_figure_has_scores_and_seconds_of_each_task() -> None:
    records = [record for task in TASKS for k in range(3) for record in removed(k, 0.8, task=task)]
    figure = draw_fields(field_panels(records), "light")

    assert [axes.get_ylabel() for axes in figure.axes] == ["spearman × 100", "seconds of a fit"] * 2
    assert [axes.get_xlabel() for axes in figure.axes] == ["k"] * 4
    assert {"fewshot/druglib", "fewshot/snli", "k of drop_top"} <= set(texts_of(figure))


def test_rates_have_a_logarithmic_axis() -> None:
    records = [
        record
        for lr in (1e-5, 1e-4, 1e-3)
        for record in seeded(f"lora:lr={lr}", TASKS[0], [0.5, 0.6], config={"lr": lr})
    ]
    assert [axes.get_xscale() for axes in draw_fields(field_panels(records), "dark").axes] == ["log", "log"]


def test_a_block_can_hold_the_scores_and_seconds_of_all_tasks_along_a_field(tmp_path: Path) -> None:
    records = [record for k in range(3) for record in removed(k, 0.8 - 0.1 * k, 0.82 - 0.1 * k)]
    records += [record for k in range(3) for record in removed(k, 0.3, head="relu50", task=TASKS[1], seconds=9.6)]
    store = RecordStore(tmp_path / "results")
    for record in records:
        store.write(replace(record, backbone="org/enc"))
    document = tmp_path / "layers.md"
    document.write_text("<!-- board: k of drop_top on org/enc -->\n<!-- /board -->\n", encoding="utf-8")
    (page,) = edition_of(tmp_path / "results", [], [document]).pages

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.text.splitlines() if line.startswith("|")]
    assert rows[0] == ["Strategy", "k", "fewshot/druglib", "fit s", "fewshot/snli", "fit s"]
    assert rows[2:5] == [
        ["drop_top", "0", "–", "–", "81.00 ± 1.41 (2)", "60"],
        ["drop_top", "1", "–", "–", "71.00 ± 1.41 (2)", "60"],
        ["drop_top", "2", "–", "–", "61.00 ± 1.41 (2)", "60"],
    ]
    assert rows[5] == ["drop_top:head=relu50", "0", "30.00 (1)", "20", "–", "–"]
