"""The points of every other figure, by hand: what is drawn is these numbers and no others."""

from dataclasses import replace

import pytest
from figures_by_hand import every_family, family_curves, seeded
from records_by_hand import make_record

from thawbench.contracts import Curve, Seeds
from thawbench.leaderboard.figure_cells import cells_of, curve_points, gaps_note, natural
from thawbench.leaderboard.figure_costs import LEAST_S, cost_panels, pareto
from thawbench.leaderboard.figure_curves import DRIFT, GEOMETRY, LAYERS, NOISE, PROBE, curve_panels
from thawbench.leaderboard.figure_dots import Dot
from thawbench.leaderboard.figure_forgetting import chains
from thawbench.leaderboard.figure_ranks import rank_panels
from thawbench.leaderboard.figure_relevance import relevance_picture
from thawbench.leaderboard.figure_shift import shift_panels
from thawbench.leaderboard.figure_spread import strips
from thawbench.suite.records import MetricValue, Record, Usage


def chained(strategy: str, *columns: tuple[tuple[float, ...], tuple[float, ...]], task: str) -> list[Record]:
    """A record for each seed, out of its two columns of R."""
    names = task.partition("/")[2].split("+")
    curves = [
        tuple(Curve(name, "sets trained", x, y) for name, x, y in zip(names, ((1.0, 2.0), (2.0,)), own, strict=True))
        for own in columns
    ]
    return seeded(strategy, task, [0.5] * len(columns), curves=curves)


def test_a_cell_has_its_runs_by_seed_and_no_mean_if_one_has_no_score() -> None:
    records = seeded("a", "s/x", (0.5, 0.7))
    (cell,) = cells_of(list(reversed(records)))
    assert [(run.sample, run.value) for run in cell.runs] == [(0, 0.5), (1, 0.7)]
    assert cell.summary is not None
    assert cell.summary.mean == pytest.approx(0.6)
    failed = make_record("a", "s/x", crossed=Seeds(2, 2, 2), status="failed", why="no")
    (cell,) = cells_of([*records, failed])
    assert (cell.summary, cell.interval, len(cell.runs), cell.asked) == (None, None, 2, 3)
    assert gaps_note([cell]) == "Gaps, as not every run has a score: a on s/x (2 of 3)."
    assert gaps_note([]) == ""


def test_many_gaps_are_counted() -> None:
    cells = cells_of([make_record(f"s{at}", "s/x", status="timeout", why="late") for at in range(9)])
    assert gaps_note(cells).endswith("s5 on s/x (0 of 1), and 3 more.")


def test_names_with_numbers_are_sorted_as_people_count() -> None:
    assert sorted(["sst2@100", "sst2@20", "rte@1000"], key=natural) == ["rte@1000", "sst2@20", "sst2@100"]


def test_a_curve_is_averaged_where_every_run_has_it_at_the_same_x() -> None:
    runs = seeded("a", "layers/x@9", (0.1, 0.2), curves=[(Curve("f", "layer", (0, 1), (y, 0.5)),) for y in (0.2, 0.4)])
    points = curve_points(runs, "f")
    assert [(point.x, point.n) for point in points] == [(0, 2), (1, 2)]
    assert [point.mean for point in points] == pytest.approx([0.3, 0.5])
    assert curve_points(runs, "g") == ()
    other = replace(runs[1], curves=(Curve("f", "layer", (0, 2), (0.1, 0.2)),))
    assert curve_points([runs[0], other], "f") == ()
    failed = make_record("a", "layers/x@9", crossed=Seeds(2, 2, 2), status="failed", why="no")
    assert curve_points([*runs, failed], "f") == ()


def test_costs_have_the_seconds_of_a_fit_and_the_contenders_that_none_beats() -> None:
    def timed(name: str, fit_s: float, value: float, control: bool = False) -> list[Record]:
        return seeded(name, "fewshot/sst2@20", [value] * 3, usage=Usage(fit_s=fit_s), control=control)

    records = [*timed("cheap", 0.0, 0.6), *timed("good", 50.0, 0.8), *timed("beaten", 60.0, 0.7)]
    records += [*timed("tfidf", 0.2, 0.9, True), *seeded("once", "fewshot/sst2@20", [0.99], usage=Usage(fit_s=1.0))]
    (panel,) = cost_panels(records)

    found = sorted((dot.strategy, dot.x, dot.y) for dot in panel.dots)
    assert [name for name, _, _ in found] == ["beaten", "cheap", "good", "tfidf"]
    assert [x for _, x, _ in found] == pytest.approx([60, LEAST_S, 50, 0.2])
    assert [y for _, _, y in found] == pytest.approx([70, 60, 80, 90])
    assert [dot.strategy for dot in panel.frontier] == ["cheap", "good"]
    assert panel.few == ("once",)


def test_seconds_of_another_kind_of_machine_are_left_out_and_said_to_be() -> None:
    timed = [("a", 0.5, 10.0), ("b", 0.6, 20.0), ("c", 0.7, 30.0)]
    records = [
        *(
            make_record(name, "s/x", value, seed=seed, usage=Usage(fit_s=fit_s + seed))
            for name, value, fit_s in timed
            for seed in range(3)
        ),
        make_record("a", "s/x", 0.5, seed=3, usage=Usage(fit_s=1), cpu="fast"),
        make_record("d", "s/x", 0.9, usage=Usage(fit_s=2), cpu="fast"),
    ]
    (panel,) = cost_panels(records)
    assert {dot.strategy: dot.x for dot in panel.dots} == {"a": 10, "b": 20, "c": 30}
    assert panel.elsewhere == ("d",)


def test_of_what_is_less_the_better_the_frontier_goes_down() -> None:
    dots = [Dot("a", False, 1, 5), Dot("b", False, 2, 3), Dot("c", False, 3, 4), Dot("d", False, 1, 6)]
    assert [dot.strategy for dot in pareto(dots, up=False)] == ["a", "b"]
    assert [dot.strategy for dot in pareto(dots)] == ["d"]


def test_strips_have_every_run_and_stand_by_their_mean() -> None:
    records = [*seeded("a", "fewshot/x@9", (0.2, 0.3, 0.4)), *seeded("b", "fewshot/x@9", (0.9, 0.8))]
    records += [*seeded("once", "fewshot/x@9", (0.5,)), *seeded("a", "ir/SciFact", (0.2, 0.3, 0.4))]
    (strip,) = strips(records)
    assert [(cell.strategy, [run.value for run in cell.runs]) for cell in strip.cells] == [
        ("b", [0.9, 0.8]),
        ("a", [0.2, 0.3, 0.4]),
    ]
    assert strips(seeded("a", "fewshot/x@9", (0.2, 0.3))) == ()


def test_r_is_averaged_over_seeds_and_blank_before_a_sets_turn() -> None:
    task = "forgetting/a@9+b@9"
    one = chained("tuned", ((0.8, 0.4), (0.6,)), ((0.6, 0.2), (0.8,)), task=task)
    two = chained("frozen", ((0.7, 0.7), (0.9,)), task=task)
    broken = make_record("lost", task, status="failed", why="no")
    (chain,) = chains([*one, *two, broken])

    assert [(each.strategy, each.seeds) for each in chain.matrices] == [("frozen", 1), ("tuned", 2)]
    after_a, after_b = chain.matrices[1].moments
    assert (after_a.name, after_b.name) == ("after a@9", "after b@9")
    assert after_a.own[1] is None
    assert (after_a.own[0], *after_b.own) == pytest.approx((0.7, 0.3, 0.7))
    assert after_a.fresh == after_b.fresh == (None, None)
    assert (chain.matrices[1].sets, chain.gaps) == (("a@9", "b@9"), ("lost",))


def test_p_begins_before_the_first_set_and_what_is_learnt_alone_comes_last() -> None:
    task = "forgetting/a@9+b@9"
    (record,) = chained("tuned", ((0.8, 0.4), (0.6,)), task=task)
    more = (
        Curve("fresh a@9", "sets trained", (0.0, 1.0, 2.0), (0.1, 0.2, 0.3)),
        Curve("fresh b@9", "sets trained", (0.0, 1.0, 2.0), (0.5, 0.6, 0.7)),
        Curve("alone", "set", (1.0, 2.0), (0.8, 0.9)),
        Curve("drift after b@9", "layer", (0.0, 1.0), (1.0, 0.5)),
        Curve("drift after a@9", "layer", (0.0, 1.0), (1.0, 0.7)),
    )
    record = replace(record, curves=(*record.curves, *more))
    (matrix,) = chains([record])[0].matrices

    assert [(each.name, each.own, each.fresh) for each in matrix.moments] == [
        ("at first", (None, None), (0.1, 0.5)),
        ("after a@9", (0.8, None), (0.2, 0.6)),
        ("after b@9", (0.4, 0.6), (0.3, 0.7)),
        ("alone", (0.8, 0.9), (None, None)),
    ]
    assert matrix.final == (0.4, 0.6)
    assert list(matrix.cells)[:3] == [(0, pytest.approx(2.35), 0.1), (0, pytest.approx(3.35), 0.5), (1, 0.0, 0.8)]
    drift = curve_panels([record], DRIFT)
    assert [panel.title for panel in drift.panels] == ["drift after b@9", "drift after a@9"]
    assert [point.mean for point in drift.panels[0].lines[0].there] == [1.0, 0.5]


def test_shift_has_home_across_and_away_along_of_the_same_runs() -> None:
    records = [
        replace(record, metrics=(*record.metrics, MetricValue("in_domain", home)))
        for record, home in zip(
            seeded("a", "shift/x@9~y", (0.5, 0.6, 0.7), metric="shifted"), (0.8, 0.9, 1.0), strict=True
        )
    ]
    search = make_record("a", "shift/nli~SciFact", 0.6, metric="shifted", others=(MetricValue("backbone", 0.5),))
    (panel,) = shift_panels([*records, search])
    (dot,) = panel.dots
    assert (dot.x, dot.y) == pytest.approx((90, 60))
    assert dot.x_interval is not None
    assert dot.x_interval.high == pytest.approx(90 + 4.302653 * 10 / 3**0.5)


def test_each_family_of_curves_shows_its_own_axis_and_layers_only_the_main_metric() -> None:
    records = every_family(("frozen",))
    found = {family: curve_panels(records, family) for family in (NOISE, LAYERS, GEOMETRY, PROBE)}
    assert {family: [panel.title for panel in each.panels] for family, each in found.items()} == {
        NOISE: ["typos"],
        LAYERS: ["accuracy"],
        GEOMETRY: ["anisotropy"],
        PROBE: ["uuas"],
    }
    (panel,) = found[GEOMETRY].panels
    assert [point.x for point in panel.lines[0].there] == [0, 1, 2]
    assert [point.mean for point in panel.lines[0].there] == pytest.approx([0.1, 0.2, 0.3])
    assert (panel.scale, found[LAYERS].panels[0].scale) == (1, 100)
    assert found[NOISE].panels[0].told == "noise/sst2@100:typos=0.2"


def test_a_curve_that_not_every_run_has_is_a_gap_with_its_name() -> None:
    records = seeded("a", "geometry/stsb", (0.1, 0.2), curves=[family_curves()["geometry/stsb"]] * 2)
    failed = make_record("a", "geometry/stsb", crossed=Seeds(2, 2, 2), status="failed", why="no")
    found = curve_panels([*records, failed], GEOMETRY)
    assert (found.panels, found.gaps) == ((), ("a on geometry/stsb",))


def test_relevance_is_that_of_the_board() -> None:
    records = [
        *seeded("a", "ir/x", (0.4, 0.5, 0.6)),
        *seeded("a", "sts/x", (0.7,) * 3),
        *seeded("a", "sts/y", (0.9,) * 3),
    ]
    picture = relevance_picture(records)
    assert picture is not None
    (dot,) = picture.dots
    assert (dot.x, dot.y) == pytest.approx((80, 50))
    assert (picture.tasks, picture.correlation.n) == ((1, 2), 1)
    assert relevance_picture(seeded("a", "ir/x", (0.4,))) is None


def test_ranks_and_ties_are_those_of_the_board() -> None:
    scores = {"a": (0.80, 0.82, 0.81), "b": (0.79, 0.83, 0.80), "c": (0.20, 0.22, 0.205)}
    (panel,) = rank_panels([record for name, values in scores.items() for record in seeded(name, "sts/x", values)])
    assert panel.ranks == (("a", 1), ("b", 2), ("c", 3))
    assert panel.groups == ((0, 1),)
    assert rank_panels(seeded("a", "sts/x", (0.1, 0.2, 0.3))) == ()
    assert rank_panels([*seeded("a", "sts/x", (0.1,)), *seeded("b", "sts/x", (0.2,))]) == ()
