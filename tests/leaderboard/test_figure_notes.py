"""What figures say below themselves is true of what they show, and whoever is left out is named."""

from dataclasses import replace

import numpy as np
import pytest
from figures_by_hand import seeded, texts_of
from matplotlib.figure import Figure
from records_by_hand import make_record

from thawbench.contracts import Curve
from thawbench.leaderboard.field_panels import field_panels
from thawbench.leaderboard.figure_costs import cost_panels, draw_costs
from thawbench.leaderboard.figure_curves import NOISE, curve_panels, draw_curves
from thawbench.leaderboard.figure_fields import draw_fields
from thawbench.leaderboard.figure_ranks import draw_ranks, rank_panels
from thawbench.leaderboard.figure_sizes import draw_sizes
from thawbench.leaderboard.figure_spread import draw_strips, strips
from thawbench.leaderboard.size_panels import size_panels
from thawbench.suite.records import Record, Usage

APART = {"a": (0.80, 0.82, 0.81), "c": (0.20, 0.22, 0.205)}
CHANCE = "Dots: the best constant answer"


def said(figure: Figure) -> str:
    return " ".join(" ".join(texts_of(figure)).split())


def lost(strategy: str, task: str, seed: int = 0) -> Record:
    return make_record(strategy, task, seed=seed, status="failed", why="no")


def test_only_members_have_a_dot_on_the_line_of_those_that_cannot_be_told_apart() -> None:
    (panel,) = rank_panels([each for name, values in APART.items() for each in seeded(name, "sts/x", values)])
    panel = replace(panel, ranks=(("a", 1.0), ("b", 2.0), ("c", 3.0)), groups=((0, 2),))
    (axes,) = draw_ranks([panel], "light").axes
    dots = [np.asarray(line.get_xdata()).tolist() for line in axes.lines if line.get_marker() == "o"]
    assert dots == [[1, 3]]
    assert "with a dot at each one's rank; it may pass others" in said(draw_ranks([panel], "light"))


def test_ranks_say_who_has_none_and_who_was_compared_with_nobody() -> None:
    records = [each for name, values in APART.items() for each in seeded(name, "sts/x", values)]
    whole = said(draw_ranks(rank_panels(records), "light"))
    assert not any(words in whole for words in ("left out", "Compared with nobody"))

    more = [lost("b", "sts/x"), *seeded("once", "sts/x", (0.5,)), replace(lost("tfidf", "sts/x"), control=True)]
    told = said(draw_ranks(rank_panels([*records, *more]), "light"))
    assert "Only strategies that have a score of every run on every task are shown; left out: 1 of sts." in told
    assert "Compared with nobody, for want of seeds: once (sts)." in told


def timed(task: str, count: int) -> list[Record]:
    return [
        record
        for at in range(count)
        for record in seeded(f"s{at}", task, [0.5 + 0.01 * at] * 3, usage=Usage(fit_s=10.0 * (at + 1)))
    ]


def test_costs_say_by_what_tasks_were_chosen_only_where_some_were_not() -> None:
    few = [record for at in range(3) for record in timed(f"fewshot/x@{at + 1}", 3)]
    more = [record for at in range(3) for record in timed(f"sts/x{at}", 4 + at)]
    assert "with the most strategies" not in said(draw_costs(cost_panels([*few, *more]), "light"))

    figure = draw_costs(cost_panels([*few, *more, *timed("sts/least", 3)]), "light")
    assert "The 6 tasks, few-shot ones before others, with the most strategies, of 7 tasks" in said(figure)
    titles = [text.get_text() for axes in figure.axes for text in axes.texts if "/" in text.get_text()]
    assert titles == ["fewshot/x@1", "fewshot/x@2", "fewshot/x@3", "sts/x0", "sts/x1", "sts/x2"]

    six = [record for at in range(7) for record in timed(f"fewshot/y@{at + 1}", 3)]
    assert "The 6 few-shot tasks with the most strategies, of 8 tasks" in said(
        draw_costs(cost_panels([*six, *timed("sts/x", 9)]), "light")
    )


def test_costs_and_spread_say_who_has_no_mean() -> None:
    task = "fewshot/x@9"
    records = [*timed(task, 3), lost("broken", task), *seeded("once", task, (0.5,))]
    gap = "Gaps, as not every run has a score: broken on fewshot/x@9 (0 of 1)."

    assert gap in said(draw_costs(cost_panels(records), "light"))
    told = said(draw_strips(strips(records), "light"))
    assert gap in told
    assert "Of one run, and so not shown: once on fewshot/x@9." in told
    whole = said(draw_strips(strips(timed(task, 3)), "light"))
    assert not any(words in whole for words in ("Gaps", "Of one run"))


@pytest.mark.parametrize(("chance", "seen"), [(0.62, True), (0.1, False)])
def test_the_best_constant_answer_is_told_of_only_where_its_line_is_in_a_panel(chance: float, seen: bool) -> None:
    sized = [
        record
        for n in (20, 100)
        for record in seeded("frozen", f"fewshot/x@{n}", (0.6, 0.61, 0.6 + n / 1000), metric="f", chance=chance)
    ]
    (sizes,) = size_panels(sized)
    assert (CHANCE in said(draw_sizes([sizes], "light"))) == seen
    assert (CHANCE in said(draw_strips(strips(sized), "light"))) == seen

    curve = Curve("typos", "strength", (0.0, 0.1), (0.7, 0.6))
    noisy = seeded("frozen", "noise/x@9:typos=0.1", [0.5], curves=[(curve,)], metric="clean", chance=chance)
    assert (CHANCE in said(draw_curves(curve_panels(noisy, NOISE), "light"))) == seen

    laddered = [
        record
        for k in range(3)
        for record in seeded(f"a:k={k}", "sts/x", [0.6 + k / 50] * 3, config={"k": k}, chance=chance)
    ]
    assert (CHANCE in said(draw_fields(field_panels(laddered), "light"))) == seen


def test_an_axis_of_seconds_has_two_numbers_however_near_fits_are() -> None:
    for fastest, slowest in ((11, 29), (12, 27), (100, 101), (0.3, 0.35), (31, 95), (1, 1000)):
        records = [
            record
            for name, fit_s in (("a", fastest), ("b", (fastest + slowest) / 2), ("c", slowest))
            for record in seeded(name, "sts/x", [fit_s / 2000] * 3, usage=Usage(fit_s=fit_s))
        ]
        (axes,) = draw_costs(cost_panels(records), "light").axes
        low, high = axes.get_xlim()
        ticks = [float(label.get_text()) for label in axes.get_xticklabels()]
        assert len({tick for tick in ticks if low <= tick <= high}) > 1, (fastest, slowest, ticks)
        assert len(ticks) <= 7, ticks
