"""From a folder of records to figures: which there are, which can be drawn, and why others cannot."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.field_panels import field_panels
from thawbench.leaderboard.figure_costs import cost_panels, draw_costs
from thawbench.leaderboard.figure_curves import DRIFT, GEOMETRY, LAYERS, NOISE, PROBE, curve_panels, draw_curves
from thawbench.leaderboard.figure_fields import draw_fields
from thawbench.leaderboard.figure_forgetting import chains, draw_chains
from thawbench.leaderboard.figure_ranks import draw_ranks, rank_panels
from thawbench.leaderboard.figure_relevance import draw_relevance, relevance_picture
from thawbench.leaderboard.figure_shift import draw_shift, shift_panels
from thawbench.leaderboard.figure_sizes import draw_overtakings, draw_sizes
from thawbench.leaderboard.figure_spread import draw_strips, strips
from thawbench.leaderboard.figure_style import Kind, render
from thawbench.leaderboard.ink import Theme
from thawbench.leaderboard.mixture import refuse_mixtures
from thawbench.leaderboard.selection import selected
from thawbench.leaderboard.size_panels import size_panels
from thawbench.suite.records import Record
from thawbench.whole_file import replacing


@dataclass(frozen=True)
class FigureKind:
    """One figure.

    Attributes:
        select: its points out of the records of one backbone; empty or None if there are none.
        draw: the figure of these points.
        needs: what records must hold.
    """

    select: Callable[[Sequence[Record]], Any]
    draw: Callable[[Any, Theme], Figure]
    needs: str


def _curves(family: str, needs: str) -> FigureKind:
    def select(records: Sequence[Record]) -> Any:
        found = curve_panels(records, family)
        return found if found.panels else None

    return FigureKind(select, draw_curves, needs)


def _overtaking(records: Sequence[Record]) -> Any:
    return tuple(panel for panel in size_panels(records) if panel.overtakings)


FIGURES: Mapping[str, FigureKind] = {
    "sizes": FigureKind(size_panels, draw_sizes, "a strategy on one set at two sizes: fewshot/sst2@20 and @100"),
    "overtaking": FigureKind(
        _overtaking, draw_overtakings, "frozen and another strategy at two sizes of one set, at three seeds or more"
    ),
    "costs": FigureKind(cost_panels, draw_costs, "three strategies on one task"),
    "fields": FigureKind(
        field_panels, draw_fields, "a strategy at three values of one field: drop_top:k=0, k=1 and k=2"
    ),
    "spread": FigureKind(strips, draw_strips, "a strategy on a few-shot task at three seeds or more"),
    "ranks": FigureKind(rank_panels, draw_ranks, "two strategies on all tasks of a family, at three seeds or more"),
    "relevance": FigureKind(relevance_picture, draw_relevance, "a strategy on all tasks of both ir and sts"),
    "shift": FigureKind(shift_panels, draw_shift, "scores of shift between labelled sets: shift/sst2@100~imdb"),
    "forgetting": FigureKind(chains, draw_chains, "chains: forgetting/sst2@100+ag_news@100"),
    "drift": _curves(DRIFT, "chains whose encoders have layers: forgetting/sst2@100+ag_news@100"),
    "noise": _curves(NOISE, "noise on test texts: noise/sst2@100"),
    "layers": _curves(LAYERS, "layers/sst2@100"),
    "geometry": _curves(GEOMETRY, "geometry/stsb"),
    "probe": _curves(PROBE, "probe/ewt@2000"),
}


@dataclass(frozen=True)
class Outcome:
    """A file that was drawn, or a figure that was not and what it lacks."""

    name: str
    path: Path | None
    lacks: str = ""


@dataclass(frozen=True)
class Drawn:
    """All figures, and what is wrong with damaged records, which are left out."""

    outcomes: tuple[Outcome, ...]
    damaged: tuple[str, ...]


def draw_figures(
    results: Path,
    out: Path,
    only: Sequence[str] = (),
    theme: Theme = "light",
    kind: Kind = "svg",
    tasks: Sequence[str] = (),
) -> Drawn:
    """Draw what the records of a folder allow, a file for each figure and backbone: `sizes.svg`, `sizes-dark.svg`.

    Args:
        only: names of `FIGURES`; all if empty.
        tasks: globs of the tasks that are drawn; all if empty.

    Raises:
        UserError: no records, such as may not be shown together, an unknown name, or a file that cannot be written.
    """
    for name in only:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    found = selected(results, tasks)
    sections = _sections(refuse_mixtures(sorted(found.records, key=lambda record: record.key)))
    outcomes = []
    for name in only or FIGURES:
        for suffix, section in sections.items():
            data = FIGURES[name].select(section)
            if not data:
                outcomes.append(Outcome(f"{name}{suffix}", None, FIGURES[name].needs))
                continue
            path = out / f"{name}{suffix}{'-dark' if theme == 'dark' else ''}.{kind}"
            _write(path, render(FIGURES[name].draw(data, theme), kind))
            outcomes.append(Outcome(f"{name}{suffix}", path))
    return Drawn(tuple(outcomes), found.damaged)


def _sections(groups: Sequence[list[Record]]) -> dict[str, list[Record]]:
    """The records of each backbone by what stands behind a figure's name for it: nothing if there is but one."""
    if len(groups) == 1:
        return {"": groups[0]}
    named: dict[str, list[Record]] = {}
    for group in groups:
        spelled = min(record.backbone for record in group)
        stem = re.sub(r"[^A-Za-z0-9.]+", "_", spelled).strip("_.")[:40]
        name = f"-{stem}"
        named[name if name not in named else f"{name}-{len(named) + 1}"] = group
    return named


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise UserError(f"the figure {path} cannot be written ({error.strerror}); choose another with --out") from None
