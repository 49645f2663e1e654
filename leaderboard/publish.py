"""From a folder of records to published files: boards of their own, and marked blocks inside other documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.board import Board, build_board
from thawbench.leaderboard.csv_table import render_csv
from thawbench.leaderboard.document_blocks import renewed
from thawbench.leaderboard.json_page import render_json
from thawbench.leaderboard.latex import render_latex
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.references import published_references
from thawbench.leaderboard.selection import selected
from thawbench.suite.record_store import uncollected
from thawbench.suite.records import Record
from thawbench.whole_file import replacing

FORMATS: dict[str, Callable[[Board], str]] = {
    ".md": render_markdown,
    ".csv": render_csv,
    ".tex": render_latex,
    ".json": render_json,
}


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
    documents = [Page(path, renewed(path, board)) for path in into]
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
