"""Claims as they are published: read from their files, judged by a folder of records, and put on a page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from thawbench.errors import UserError
from thawbench.leaderboard.claim_cells import shelve
from thawbench.leaderboard.claim_names import check_metrics
from thawbench.leaderboard.claim_page import render_claims, screen_table
from thawbench.leaderboard.claim_statement import FOLDER, Claim, read_claims
from thawbench.leaderboard.claim_verdict import Verdict, judge
from thawbench.leaderboard.columns import in_every_column
from thawbench.leaderboard.mixture import by_backbone, grouped, refuse_mixtures
from thawbench.leaderboard.publish import Page
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

CheckNames = Callable[[Sequence[Claim], Sequence[Record]], None]


@dataclass(frozen=True)
class Judged:
    """Every claim of a folder against every record of another.

    Attributes:
        notes: what is wrong with damaged records, which are left out, or with having none.
    """

    verdicts: tuple[Verdict, ...]
    records: int
    notes: tuple[str, ...] = ()

    def page(self, path: Path) -> Page:
        """The page, to be written or compared."""
        return Page(path, render_claims(self.verdicts, self.records))

    def table(self) -> str:
        """For a screen."""
        return screen_table(self.verdicts)


def judge_folder(results: Path, folder: Path = FOLDER, check_names: CheckNames | None = None) -> Judged:
    """Judge the claims of a folder by a folder of records, which may be empty or not there.

    Args:
        check_names: raises for a strategy or a task that does not exist; boards know only those that have records.

    Raises:
        UserError: a claim's file is wrong, or records may not be read together.
    """
    claims = read_claims(folder)
    store = RecordStore(results, read_only=True)
    records = store.all()
    if check_names is not None:
        check_names(claims, records)
    notes = [f"a damaged record is left out: {damage}" for damage in store.damaged.values()]
    if not records:
        notes.append(f"there are no records in {results}; those of the project are in leaderboard/records/served")
    return Judged(judge_all(claims, in_every_column(records)), len(records), tuple(notes))


def judge_all(claims: Sequence[Claim], records: Sequence[Record]) -> tuple[Verdict, ...]:
    """A verdict on each claim, by records in any order.

    Raises:
        UserError: the records mix versions of one task, strategy or library, or backbones of one name; or a claim reads
            a metric or a curve that its tasks do not have.
    """
    ordered = sorted(records, key=lambda record: record.key)
    refuse_mixtures(ordered)
    _refuse_mixed_backbones(ordered)
    check_metrics(claims, ordered)
    shelf = shelve(ordered)
    return tuple(judge(claim, shelf) for claim in claims)


def _refuse_mixed_backbones(records: Sequence[Record]) -> None:
    """A board shows them in sections of their own, and a claim names one."""
    for name, group in sorted(grouped(records, lambda record: record.backbone).items()):
        found = by_backbone(group)
        if len(found) > 1:
            examples = ", ".join(sorted(members[0].key[:12] for members in found))
            raise UserError(
                f"these results have {len(found)} backbones of the name {name} (records {examples}), which differ in "
                "weights, length or precision; a claim reads one: move the others to another folder"
            )
