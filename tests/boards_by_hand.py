"""A small folder of records, a document with a block, and the command that makes boards of them."""

from pathlib import Path

from records_by_hand import make_record
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import Seeds
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

ODD = "a|b\n1e5"
DOCUMENT = "# Mine\n\n<!-- board: sts -->\nold\n<!-- /board -->\n\nmy words\n"


def worked() -> list[Record]:
    """Three strategies on three tasks at three seeds, one with an odd name; a failure and a control."""
    records = [
        make_record(name, task, (0.31 * at + 0.07 * k + len(task)) % 1, crossed=Seeds(k, k, k), train=task)
        for at, name in enumerate((ODD, "frozen", "1e5"))
        for task in ("sts/x", "sts/y", "fewshot/z@20")
        for k in range(3)
    ]
    records += [make_record("mlm", "sts/x", status="failed", why="no"), make_record("tfidf", "sts/x", control=True)]
    return records


def folder(path: Path, records: list[Record]) -> Path:
    store = RecordStore(path)
    for record in records:
        store.write(record)
    return path


def invoke(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["leaderboard", *map(str, arguments)])
    return found.exit_code, found.output
