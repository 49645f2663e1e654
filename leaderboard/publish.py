"""From a folder of records to published files: boards of their own, and marked blocks inside other documents."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.board import Board, Section, build_board
from thawbench.leaderboard.board_grids import agreements_grid, costs_grid, overall_grid, relevance_grid
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.curve_table import curve_tables
from thawbench.leaderboard.field_panels import field_panels
from thawbench.leaderboard.grid import Grid
from thawbench.leaderboard.json_page import render_json
from thawbench.leaderboard.latex import render_latex
from thawbench.leaderboard.markdown import render_grid, render_markdown
from thawbench.leaderboard.metric_table import metric_table
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.references import published_references
from thawbench.leaderboard.selection import selected
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
from thawbench.suite.record_store import uncollected
from thawbench.suite.records import Record
from thawbench.whole_file import replacing

FORMATS: dict[str, Callable[[Board], str]] = {
    ".md": render_markdown,
    ".csv": render_csv,
    ".tex": render_latex,
    ".json": render_json,
}
_HEAD = re.compile(
    r"^(?P<indent>[ \t]*)<!--[ \t]*board:[ \t]*(?P<title>\S.*?)[ \t]*-->[ \t]*(?P<end>\r?)$", re.MULTILINE
)
_FOOT = r"(?P<foot>[ \t]*<!--[ \t]*/board[ \t]*-->[ \t]*\r?)$"
_BLOCK = re.compile(rf"(?P<head>{_HEAD.pattern})\n.*?^{_FOOT}", re.MULTILINE | re.DOTALL)
_SIZES = "sizes of "
_OF = re.compile(r"(?!sizes |metrics ).+ of (?P<whole>.+?)(?: on .+)?$")


@dataclass(frozen=True)
class Page:
    """A file as the records would have it."""

    path: Path
    text: str

    @property
    def stale(self) -> bool:
        """The file is not there, or is another."""
        return not self.path.is_file() or self.path.read_bytes() != self._bytes

    def write(self) -> None:
        """Put it there, whole or not at all.

        Raises:
            UserError: it cannot be written.
        """
        try:
            with replacing(self.path.resolve()) as beside:  # where a link leads; the link stays
                beside.write_bytes(self._bytes)
        except OSError as error:
            raise UserError(
                f"the board {self.path} cannot be written ({error.strerror}); choose another file"
            ) from None

    @property
    def _bytes(self) -> bytes:
        return self.text.encode("utf-8", "replace")  # a name may hold half of a surrogate pair


@dataclass(frozen=True)
class Edition:
    """Pages made from one folder, and what is wrong with its damaged records, which are left out."""

    pages: tuple[Page, ...]
    damaged: tuple[str, ...]


@uncollected()
def edition_of(
    results: Path, out: Sequence[Path], into: Sequence[Path] = (), tasks: Sequence[str] = (), metric: str = ""
) -> Edition:
    """The pages of a folder of records.

    Args:
        out: files that are boards, in the format that their suffix names.
        into: documents whose blocks are made anew: what stands between `<!-- board: TABLE -->` and `<!-- /board -->`.
            TABLE is the title of a table such as `ir`, or `ir, published`, `ir: over tasks`, `ir: against the best`,
            `fewshot: stability`, `overall` or `cost`, with ` on BACKBONE` if several have it, and what tells them apart
            if these have one name (`cost on embedded (precision bfloat16)`); `metrics of TASK`; `sizes of SET` (`sizes
            of sst2~imdb`: one set at its sizes, and where it was tested); `FIELD of STRATEGY` (`k of drop_top`: scores
            and seconds along one field); `CURVE of TASK` (`uuas of probe/ewt@1000`: by layer); `relevance against
            similarity`, or that and `, rank correlation`.
        tasks: globs; a record counts if its task, as it was spelled, fits one. None is all.
        metric: ranks in place of each task's main one, though never overall; tasks without it are left out.

    Raises:
        UserError: there are no records, or none of such a task or with such a metric, they may not be shown together, a
            format or a table is unknown, or a document has no block.
    """
    found = selected(results, tasks)
    records = _by_metric(found.records, metric, results) if metric else found.records
    board = build_board(records, published_references())
    if metric:  # drops and the like are never ranked over families: a constant wins them
        board = replace(board, sections=tuple(replace(section, overall=None) for section in board.sections))
    boards = [Page(path, _format(path)(board)) for path in out]
    documents = [Page(path, _renewed(path, board)) for path in into]
    return Edition((*boards, *documents), found.damaged)


def _by_metric(records: Sequence[Record], name: str, results: Path) -> list[Record]:
    """Those of tasks that have this metric, with it as the main one."""
    known = {metric.name for record in records for metric in record.metrics}
    if name not in known:
        raise unknown(f"metric in the records of {results}", name, known)
    tasks = {record.task for record in records if any(metric.name == name for metric in record.metrics)}
    return [_ranked_by(name, record) for record in records if record.task in tasks]


def _ranked_by(name: str, record: Record) -> Record:
    """With this metric as the main one; where that was not taken the record is of no number."""
    metrics = tuple(replace(metric, main=metric.name == name) for metric in record.metrics)
    if record.status == "ok" and not any(metric.main and metric.value is not None for metric in metrics):
        return replace(record, status="not_applicable", reason=f"{name} was not taken", metrics=metrics)
    return replace(record, metrics=metrics)


def _format(path: Path) -> Callable[[Board], str]:
    try:
        return FORMATS[path.suffix]
    except KeyError:
        raise unknown(f"format of {path}", path.suffix, FORMATS) from None


def _renewed(path: Path, board: Board) -> str:
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
    for table in section.tables:
        beside = (
            (f"{table.title}, published", partial(references_grid, table)),
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
