"""Blocks inside documents, each of which holds one table of a board: which there are, and how one is made anew."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.board import Board, Section
from thawbench.leaderboard.board_grids import agreements_grid, costs_grid, overall_grid, relevance_grid
from thawbench.leaderboard.curve_table import curve_tables
from thawbench.leaderboard.field_panels import field_panels
from thawbench.leaderboard.grid import Grid
from thawbench.leaderboard.markdown import render_grid
from thawbench.leaderboard.metric_table import metric_table
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.size_panels import SizePanel, size_panels
from thawbench.leaderboard.size_table import size_table
from thawbench.leaderboard.table_grids import (
    against_best_grid,
    complete_grid,
    curves_grid,
    fields_grid,
    metrics_grid,
    over_tasks_grid,
    references_grid,
    sizes_grid,
    stability_grid,
)

_HEAD = re.compile(
    r"^(?P<indent>[ \t]*)<!--[ \t]*board:[ \t]*(?P<title>\S.*?)[ \t]*-->[ \t]*(?P<end>\r?)$", re.MULTILINE
)
_FOOT = r"(?P<foot>[ \t]*<!--[ \t]*/board[ \t]*-->[ \t]*\r?)$"
_BLOCK = re.compile(rf"(?P<head>{_HEAD.pattern})\n.*?^{_FOOT}", re.MULTILINE | re.DOTALL)
_SIZES = "sizes of "
_OF = re.compile(r"(?!sizes |metrics ).+ of (?P<whole>.+?)(?: on .+)?$")


def renewed(path: Path, board: Board) -> str:
    """The document with every block made anew.

    Raises:
        UserError: it cannot be read or has no block, or a block asks for a table that is unknown, or that several
            backbones have.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"the document {path} cannot be read ({error})") from None
    asked = [match["title"] for match in _HEAD.finditer(text)]
    if not asked or len(_BLOCK.findall(text)) != len(asked):
        raise UserError(
            f"{path} has no block for a table, or one without an end; mark the place by two lines, "
            "<!-- board: ir --> and <!-- /board -->"
        )
    places = list(zip(board.sections, _told_apart(board.sections), strict=True))
    grids: list[tuple[str, set[str], str, Callable[[], Grid]]] = [
        (title, {section.backbone, place}, f"{title} on {place}", make)
        for section, place in places
        for title, make in _grids(section, asked)
    ]
    if board.relevance:
        title = "relevance against similarity"
        grids.append((title, set(), title, partial(relevance_grid, board.relevance)))
        title += ", rank correlation"
        grids.append((title, set(), title, partial(agreements_grid, board.relevance)))

    def block(match: re.Match[str]) -> str:
        title = match["title"]
        found = [
            (full, make)
            for name, backbones, full, make in grids
            if title in {name, *(f"{name} on {backbone}" for backbone in backbones)}
        ]
        if len(found) > 1:
            choice = " or ".join(full for full, _ in found)
            raise UserError(f"{path} asks for the table {title}, and several backbones have one; write {choice}")
        if not found:
            known = [name for section in board.sections for name, _ in _grids(section)]
            raise unknown(f"table in {path}", title, [*known, *(name for name, *_ in grids)])
        indent, end = match["indent"], match["end"] + "\n"
        lines = "".join(f"{indent}{line}{end}" for line in render_grid(found[0][1]()).split("\n"))
        return f"{match['head']}\n{end}{lines}{end}{match['foot']}"

    return _BLOCK.sub(block, text)


def _told_apart(sections: Sequence[Section]) -> list[str]:
    """The backbone of each, with what differs between those of one name: `embedded (precision bfloat16)`."""
    found = []
    for section in sections:
        alike = [each for each in sections if each.backbone == section.backbone]
        parts = [each.records[0].cell["adaptation"]["backbone"] for each in alike]
        own = section.records[0].cell["adaptation"]["backbone"]
        differing = [name for name in own if any(part.get(name) != own[name] for part in parts)]
        told = ", ".join(f"{name.replace('_', ' ')} {_short(name, own[name])}" for name in differing)
        found.append(f"{section.backbone} ({told})" if told else section.backbone)
    return found


def _short(name: str, value: object) -> str:
    """A hash as the page has it."""
    return str(value)[:12] if name in ("weights", "tokenizer") else str(value)


def _grids(section: Section, asked: Sequence[str] | None = None) -> list[tuple[str, Callable[[], Grid]]]:
    """The tables by their titles, each made when a block asks for it; those that many have only where some is asked.

    Args:
        asked: the titles in a document; None is all that there are.
    """
    found: list[tuple[str, Callable[[], Grid]]] = []
    found += [(table.title, partial(complete_grid, table)) for table in section.tables if table.complete]
    found += [
        (f"{table.title}, published", partial(references_grid, table)) for table in section.tables if table.references
    ]
    for table in section.tables if asked is None or any(": " in title for title in asked) else ():
        beside = (
            (f"{table.title}: against the best", partial(against_best_grid, table)),
            (f"{table.title}: over tasks", partial(over_tasks_grid, table)),
            (f"{table.title}: stability", partial(stability_grid, table.stability)),
        )
        found += [(title, make) for title, make in beside if make().rows]
    if section.overall and section.overall.standings:
        found.append(("overall", partial(overall_grid, section.overall)))
    measured = dict.fromkeys(record.task for record in section.records if len(record.metrics) > 1)
    found += [(f"metrics of {task}", partial(_metrics_grid, section, task)) for task in measured]
    ofs = [match["whole"] for title in asked or () if (match := _OF.match(title))]
    if asked is None or any("/" in whole for whole in ofs):
        found += [(table.name, partial(curves_grid, table)) for table in curve_tables(section.records)]
    if asked is None or any("/" not in whole for whole in ofs):
        by_field = grouped(field_panels(section.records), lambda panel: panel.name)
        found += [(name, partial(fields_grid, panels)) for name, panels in by_field.items()]
    if asked is None or any(title.startswith(_SIZES) for title in asked):  # they take a sixth of a board's time
        found += [(_SIZES + panel.name, partial(_sizes_grid, section, panel)) for panel in size_panels(section.records)]
    return [*found, ("cost", partial(costs_grid, section.costs))]


def _metrics_grid(section: Section, task: str) -> Grid:
    return metrics_grid(metric_table([record for record in section.records if record.task == task]))


def _sizes_grid(section: Section, panel: SizePanel) -> Grid:
    return sizes_grid(size_table(section.records, panel))
