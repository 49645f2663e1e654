"""Looks, labels and sheets: bound to names, apart from each other, and not swayed by anybody's settings."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import pytest
from figures_by_hand import seeded

from thawbench.contracts import Curve
from thawbench.leaderboard.figure_costs import cost_panels, draw_costs
from thawbench.leaderboard.figure_curves import curve_panels, draw_curves
from thawbench.leaderboard.figure_lines import DOTS
from thawbench.leaderboard.figure_sheet import Label, Margins, Sheet, plain, short, spread
from thawbench.leaderboard.figure_style import Look, look_of, looks_of, render, themed
from thawbench.leaderboard.ink import INKS, Ink
from thawbench.suite.records import Usage

LIGHT = INKS["light"]


def test_a_look_is_bound_to_the_name_and_variants_share_their_strategys_colour() -> None:
    assert look_of("frozen", False, LIGHT) == look_of("frozen", False, LIGHT)
    plain_one, variant = (look_of(name, False, LIGHT) for name in ("finetune", "finetune:recipe=devlin"))
    assert plain_one.colour == variant.colour
    assert (plain_one.marker, plain_one.line) != (variant.marker, variant.line)
    looks = {
        look_of(name, False, LIGHT) for name in ("frozen", "finetune", "frozen_ebm", "lp_ft", "setfit", "lora", "scl")
    }
    assert len({look.colour for look in looks}) == 7


def test_controls_are_grey_in_a_dash_of_their_own_and_no_contender_is() -> None:
    control = look_of("tfidf", True, LIGHT)
    assert control.colour == LIGHT.series[6]
    others = {look_of(name, False, LIGHT) for name in ("finetune:recipe=devlin", *(f"s{at}" for at in range(100)))}
    assert control.colour not in {look.colour for look in others}
    assert control.line not in {DOTS, ":", *(look.line for look in others)}


INWARD = ["finetune:train=snli@1000,epochs=3", "frozen", "mlm:train=nli,steps=150"]
COSTS = ["finetune", "finetune:recipe=devlin", "finetune:recipe=mosbach"]


@pytest.mark.parametrize("lines", [True, False])
def test_no_two_strategies_of_a_figure_look_alike_and_those_that_never_did_stay(lines: bool) -> None:
    names = [*INWARD, *COSTS, *(f"finetune:lr={at}e-5" for at in range(1, 7)), *(f"lora:rank={at}" for at in range(6))]
    own = {name: look_of(name, False, LIGHT) for name in names}
    found = looks_of([(name, False) for name in names], LIGHT, lines=lines)
    assert found == looks_of([(name, False) for name in reversed(names)], LIGHT, lines=lines)

    def seen(look: Look) -> tuple[Any, ...]:
        return (look.colour, look.marker, look.line) if lines else (look.colour, look.marker)

    before = Counter(map(seen, own.values()))
    assert max(before.values()) > 1
    assert max(Counter(map(seen, found.values())).values()) == 1
    assert all(found[name] == look for name, look in own.items() if before[seen(look)] == 1)
    assert all(replace(found[name], marker="") == replace(look, marker="") for name, look in own.items())


def test_the_look_that_is_set_here_or_the_first_by_name_is_kept() -> None:
    strategies = [(name, False) for name in COSTS]
    own = [look_of(name, False, LIGHT) for name in COSTS]
    found = looks_of(strategies, LIGHT, lines=False)
    assert [found[name] for name in COSTS] == [own[0], own[1], replace(own[2], marker="^")]  # s and D are taken
    assert looks_of(strategies, LIGHT, lines=True) == dict(zip(COSTS, own, strict=True))


def test_more_than_there_are_markers_are_drawn_all_the_same() -> None:
    assert len(looks_of([(f"lora:rank={at}", False) for at in range(30)], LIGHT, lines=False)) == 30


def test_figures_of_lines_and_of_dots_draw_these_looks() -> None:
    costs = [
        each
        for at, name in enumerate(COSTS)
        for each in seeded(name, "sts/x", [0.1 + at / 10] * 3, usage=Usage(fit_s=at + 1))
    ]
    curve = Curve("anisotropy", "layer", (0.0, 1.0), (0.7, 0.6))
    curved = [each for name in INWARD for each in seeded(name, "geometry/x", [0.5], curves=[(curve,)])]
    for figure, count in (
        (draw_costs(cost_panels(costs), "light"), len(COSTS)),
        (draw_curves(curve_panels(curved, "geometry"), "light"), len(INWARD)),
    ):
        marked = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
        drawn = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in marked]
        assert len(set(drawn)) == len(drawn) == count


def test_the_dark_look_is_another_ink_of_the_same_place() -> None:
    light, dark = (look_of("frozen", False, INKS[theme]) for theme in ("light", "dark"))
    assert (light.marker, light.line) == (dark.marker, dark.line)
    assert (light.colour, dark.colour) == (INKS["light"].series[0], INKS["dark"].series[0])


@pytest.mark.parametrize(
    ("places", "apart"),
    [
        ([0.2, 0.8], [0.2, 0.8]),
        ([0.5, 0.5], [0.45, 0.55]),  # half of the way each
        ([0.5, 0.55, 0.9], [0.475, 0.575, 0.9]),
        ([0.0, 0.0], [0.0, 0.1]),  # no lower than the panel
        ([0.98, 1.0], [0.9, 1.0]),
        ([], []),
    ],
)
def test_labels_move_as_little_as_may_be(places: list[float], apart: list[float]) -> None:
    assert spread(places, 0.1) == pytest.approx(apart)


def test_more_labels_than_fit_go_beyond_both_ends_alike() -> None:
    assert spread([0.5] * 4, 0.5) == pytest.approx([-0.25, 0.25, 0.75, 1.25])


def test_names_are_on_one_line_and_long_ones_lose_their_middle() -> None:
    assert plain("a|b\n1e5\ud800") == "a|b 1e5?"
    assert short("frozen") == "frozen"
    long = "drop_top:k=0,epochs=2,batch_size=32,lr=5e-5,head=relu50"
    assert short(long) == "drop_top:k=0,epoch…r=5e-5,head=relu50"[:18] + "…" + long[-18:]
    assert len(short(long)) == 37


@themed
def one_panel(names: list[str], ink: Ink):  # type: ignore[no-untyped-def]
    sheet = Sheet(ink, "title", [2.0], columns=1, width=2.0, margins=Margins(right=1.0), notes=["a note", ""])
    axes = sheet.panel(0, "panel " + "x" * 200, "told")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    sheet.label(axes, [Label(name, 0.5, 0.5, ink.text) for name in names])
    return sheet.figure


def test_nobodys_settings_count_and_none_are_changed() -> None:
    expected = render(one_panel(["a", "$x$ and $y$"], "light"), "svg")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "text.parse_math": True, "svg.fonttype": "none"}):
        before = dict(mpl.rcParams)
        assert render(one_panel(["a", "$x$ and $y$"], "light"), "svg") == expected
        assert dict(mpl.rcParams) == before


def test_names_of_any_script_and_with_dollar_signs_are_drawn_as_they_are() -> None:
    figure = one_panel(["a|b\n1e5", "$\\frac{$", "漢字", "_hidden"], "dark")
    assert {"a|b 1e5", "$\\frac{$", "漢字", "_hidden"} <= {text.get_text() for text in figure.axes[0].texts}
    assert render(figure, "png").startswith(b"\x89PNG")


def test_labels_never_lie_on_each_other() -> None:
    figure = one_panel([f"name{at}" for at in range(12)], "light")
    places = sorted(text.get_position()[1] for text in figure.axes[0].texts if text.get_text().startswith("name"))
    high = figure.axes[0].get_position().height * figure.get_figheight()
    assert min(b - a for a, b in pairwise(places)) * high * 72 >= 7.5


def test_a_file_has_neither_the_hour_nor_a_version() -> None:
    figure = render(one_panel(["a"], "light"), "svg").decode()
    assert "<dc:date>" not in figure
    assert mpl.__version__ not in figure
