"""What a description can say of its rows beside where they are: lists of records, classes left out, no train split."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from thawbench.contracts import ClassTarget, Labelled, ScoreTarget
from thawbench.errors import UserError
from thawbench.tasks import described_set, set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.described_set import DescribedSet
from thawbench.tasks.labelled_set import Split
from thawbench.tasks.set_catalog import known_sets, named_set, register_set
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


def test_classes_that_the_data_lists_are_renamed_and_dropped_with_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("1 star", "2 stars", "3 stars", "5 stars")
    found = Table("there", {"text": [*"abcd"], "label": [0, 1, 2, 3]}, own=False, names={"label": names})
    monkeypatch.setattr(described_set, "hub_table", lambda *asked: found)
    toml = 'data = "a/b"\ndrop = ["3 stars"]\nrename = { "1 star" = "bad", "2 stars" = "bad" }\n'
    splits = described(tmp_path, toml).splits()
    assert splits.target == ClassTarget(("bad", "5 stars"))
    assert [row.label for row in splits.test.rows] == ["bad", "bad", "5 stars"]


def test_a_set_that_is_only_tested_on_has_the_classes_of_its_test_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table("there", {"text": ["a", "b"], "label": ["pos", "neg"]}, own=False)
    monkeypatch.setattr(described_set, "hub_table", lambda *asked: table)
    assert described(tmp_path, 'data = "c/d"\ntrain = ""\n').splits().target == ClassTarget(("neg", "pos"))


@pytest.mark.parametrize(("label", "kind"), [(["a", "b"], "list"), ({"x": 1}, "dict")])
def test_a_label_that_is_several_values_is_refused_with_its_row(tmp_path: Path, label: object, kind: str) -> None:
    write_claims(tmp_path, [{"text": "a", "label": "x"}, {"text": "b", "label": label}, {"text": "c", "label": "y"}])
    with pytest.raises(UserError, match=rf"row 2: the label .* is a {kind}; a row has one class, a text or a number"):
        described(tmp_path, 'file = "rows.jsonl"\n').splits()


def test_a_metric_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,label\na,cat\nb,dog\n")
    with pytest.raises(UserError, match="metrics names one twice: accuracy, accuracy"):
        described(tmp_path, 'file = "mine.csv"\nmetrics = ["accuracy", "accuracy"]\n')


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


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hub on which every data set has the same six rows, but for the split's name in their texts."""

    def table(data: str, config: str | None, split: str, revision: str, use: str) -> Table:
        texts = [f"{split} {row}" for row in range(6)]
        return Table("there", {"text": texts, "label": ["yes", "no"] * 3, "score": [0.0, 1.0] * 3}, own=False)

    monkeypatch.setattr(described_set, "hub_table", table)


def register(folder: Path, toml: str) -> None:
    (folder / "mine.toml").write_text(f'data = "some/where"\n{toml}')
    register_set(folder / "mine.toml")


@pytest.mark.usefixtures("hub")
def test_other_metrics_of_a_user_s_set_on_the_hub_are_another_revision_with_their_own_chance(tmp_path: Path) -> None:
    register(tmp_path, 'metrics = ["accuracy"]\n')
    before, trained = resolve_task("fewshot/mine@5"), trainset_info("mine@5")
    assert [(metric.name, metric.chance) for metric in before.metrics] == [("accuracy", 0.5)]
    register(tmp_path, 'metrics = ["mcc", "accuracy"]\n')
    after = resolve_task("fewshot/mine@5")
    assert [(metric.name, metric.main, metric.chance) for metric in after.metrics] == [
        ("mcc", True, 0.0),
        ("accuracy", False, 0.5),
    ]
    assert after.revision != before.revision
    assert trainset_info("mine@5").fingerprint == trained.fingerprint  # what is learnt is the same


@pytest.mark.usefixtures("hub")
def test_another_range_of_a_user_s_set_on_the_hub_is_another_train_set(tmp_path: Path) -> None:
    infos = []
    for top in (1, 2):
        register(tmp_path, f'score = "score"\nrange = [0, {top}]\n')
        infos.append(trainset_info("mine@5"))
        assert infos[-1].target == ScoreTarget(0.0, top)
    assert infos[0].fingerprint != infos[1].fingerprint


def test_a_title_and_a_folder_are_no_part_of_what_a_set_means(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    plain = described(tmp_path, 'data = "some/where"\n').description
    titled = described(tmp_path / "other", 'data = "some/where"\ntitle = "Mine"\nversion = 1\n').description
    assert plain.meaning == titled.meaning
    assert plain.meaning != described(tmp_path, 'data = "some/where"\ntest = "validation"\n').description.meaning


def test_no_shipped_set_has_more_in_its_revision_than_published_records_have() -> None:
    for shipped in map(named_set, known_sets()):
        if isinstance(shipped, DescribedSet):
            assert shipped.revision == shipped.description.revision


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_climate_fever_has_a_row_for_every_judged_sentence() -> None:
    test = named_set("climate_fever").splits().test
    assert (len(test.rows), test.left_out) == (1535 * 5, 0)
    labels = [row.label for row in test.rows]
    assert [labels.count(name) for name in ("entailment", "contradiction", "neutral")] == [1943, 802, 4930]
