"""What learns from nothing stands in the columns of all train sets, and is one record."""

from pathlib import Path

from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.columns import in_every_column, without_train
from thawbench.leaderboard.selection import selected
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

PLAIN, ON_NLI = "ir/SciFact", "ir/SciFact:train=nli"


def records() -> list[Record]:
    learnt = [
        make_record("mnr", task, value, crossed=Seeds(0, 0, 0), train=train)
        for task, value, train in ((PLAIN, 0.5, "corpus/scifact"), (ON_NLI, 0.6, "nli"))
    ]
    return [
        *learnt,
        make_record("frozen", PLAIN, 0.7, train=None),
        make_record("frozen", "ir/cranfield", 0.4, train=None),
    ]


def test_a_name_loses_its_train_set_and_nothing_else() -> None:
    assert without_train(ON_NLI) == PLAIN
    assert without_train("sts/one:typos=1,train=nli") == "sts/one:typos=1"
    assert without_train("fewshot/sst2@100") == "fewshot/sst2@100"


def test_what_learns_from_nothing_is_ranked_beside_what_learns_from_each_set(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for record in records():
        store.write(record)
    board = build_board(selected(tmp_path, ["ir/SciFact*"]).records)
    (table,) = board.sections[0].tables
    assert [column.task for column in table.columns] == [PLAIN, ON_NLI]
    assert [(row.strategy, row.rank) for row in table.complete] == [("frozen", 1), ("mnr", 2)]
    assert board.records == 3


def test_other_tasks_other_backbones_and_what_learns_get_no_further_column() -> None:
    given = records()
    other = make_record("mnr", "ir/SciFact:train=stsb", 0.6, train="stsb", weights="another")
    found = in_every_column([*given, other])
    assert [(each.strategy, each.task) for each in found[len(given) + 1 :]] == [("frozen", ON_NLI)]
    assert in_every_column(found) == found
