"""What a description can say of its rows beside where they are: lists of records, classes left out, no train split."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from thawbench.contracts import ClassTarget, Labelled
from thawbench.errors import UserError
from thawbench.tasks import described_set, set_catalog
from thawbench.tasks.catalog import known_tasks
from thawbench.tasks.described_set import DescribedSet
from thawbench.tasks.labelled_set import Split
from thawbench.tasks.set_catalog import named_set, register_set
from thawbench.tasks.set_description import read_description
from thawbench.tasks.tables import Table
from thawbench.tasks.trainsets import known_trainsets, trainset_info

CLAIMS: list[Mapping[str, object]] = [
    {"claim": "ice melts", "found": [{"text": "ice is warm", "says": "YES"}, {"text": "no ice", "says": "NO"}]},
    {"claim": "seas rise", "found": []},
    {"claim": "cows fly", "found": [{"text": "a cow sat", "says": "NO"}]},
]
NESTED = 'each = "found"\ntext = "found.text"\ntext_b = "claim"\nlabel = "found.says"\n'


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_catalog, "_own", {})


def described(folder: Path, toml: str) -> DescribedSet:
    (folder / "mine.toml").write_text(toml, encoding="utf-8")
    return DescribedSet(read_description(folder / "mine.toml"))


def write_claims(folder: Path, rows: list[Mapping[str, object]]) -> None:
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_every_record_of_a_list_is_a_row_beside_what_its_list_stands_in(tmp_path: Path) -> None:
    write_claims(tmp_path, CLAIMS)
    splits = described(tmp_path, 'file = "rows.jsonl"\ntest_file = "rows.jsonl"\n' + NESTED).splits()
    assert splits.target == ClassTarget(("NO", "YES"))
    assert splits.test == Split(
        (
            Labelled(("ice is warm", "ice melts"), "YES"),
            Labelled(("no ice", "ice melts"), "NO"),
            Labelled(("a cow sat", "cows fly"), "NO"),
        ),
        (0, 1, 2),
    )


def test_a_column_that_holds_no_lists_of_records_is_told_with_its_row(tmp_path: Path) -> None:
    write_claims(tmp_path, [CLAIMS[0], {"claim": "x", "found": ["text"]}])
    with pytest.raises(UserError, match=r"rows.jsonl, row 2: found is no list of records; leave out each"):
        described(tmp_path, 'file = "rows.jsonl"\ntest_file = "rows.jsonl"\n' + NESTED).splits()


def test_several_classes_become_one_and_another_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\na,1\nb,2\nc,3\nd,4\ne,5\nf,3\n")
    toml = (
        'file = "rows.csv"\ntest_file = "rows.csv"\nlabels = ["bad", "good"]\ndrop = ["3"]\n'
        'rename = { 1 = "bad", 2 = "bad", 4 = "good", 5 = "good" }\n'
    )
    test = described(tmp_path, toml).splits().test
    assert [(row.input, row.label) for row in test.rows] == [("a", "bad"), ("b", "bad"), ("d", "good"), ("e", "good")]
    assert (test.places, test.left_out) == ((0, 1, 3, 4), 2)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ('{ felines = ["cta"] }', "unknown class or group in groups of the set mine 'cta'; did you mean cat"),
        ('{ dog = ["cat"] }', "the set mine: dog is a class and a group; give the group another name"),
    ],
)
def test_groups_are_held_against_the_classes_of_a_file_that_names_none(tmp_path: Path, groups: str, told: str) -> None:
    (tmp_path / "mine.csv").write_text("text,label\na,cat\nb,dog\nc,cat\nd,dog\n")
    with pytest.raises(UserError, match=told):
        described(tmp_path, f'file = "mine.csv"\ngroups = {groups}\n').splits()


def test_scores_have_no_classes_to_drop(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,gold\na,1\n")
    with pytest.raises(UserError, match="drop goes with classes"):
        described(tmp_path, 'file = "rows.csv"\nscore = "gold"\nrange = [0, 5]\ndrop = ["1"]\n')


def test_a_set_without_a_train_split_is_tested_on_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def table(data: str, config: str | None, split: str, revision: str, use: str) -> Table:
        asked.append(split)
        return Table("there", {"text": ["a", "b"], "label": ["yes", "no"]}, own=False)

    monkeypatch.setattr(described_set, "hub_table", table)
    (tmp_path / "mine.toml").write_text('data = "some/where"\ntrain = ""\nlabels = ["no", "yes"]\n')
    register_set(tmp_path / "mine.toml")
    splits = named_set("mine").splits()
    assert asked == ["test"]
    assert (splits.train, len(splits.test.rows)) == (Split((), ()), 2)
    assert not [name for name in (*known_trainsets(), *known_tasks()) if "mine" in name]
    with pytest.raises(UserError, match="mine has no train rows; it is there to be tested on"):
        trainset_info("mine@20")


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_climate_fever_has_a_row_for_every_judged_sentence() -> None:
    test = named_set("climate_fever").splits().test
    assert (len(test.rows), test.left_out) == (1535 * 5, 0)
    labels = [row.label for row in test.rows]
    assert [labels.count(name) for name in ("entailment", "contradiction", "neutral")] == [1943, 802, 4930]
