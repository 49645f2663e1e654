"""A user's own files as sets: what is read, and the one line that each mistake gets."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thawbench.contracts import ClassTarget, Json, Labelled, ScoreTarget
from thawbench.errors import UserError
from thawbench.tasks import fingerprint, set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.set_catalog import named_set, register_set
from thawbench.tasks.trainsets import known_trainsets, load_trainset, trainset_info


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_catalog, "_own", {})


def write(folder: Path, toml: str = "", rows: str = "", name: str = "mine") -> Path:
    """`mine.toml` and, beside it, `mine.csv`."""
    (folder / "mine.csv").write_text(rows or reviews(), encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(toml or 'file = "mine.csv"\n', encoding="utf-8")
    return path


def reviews(good: int = 30, bad: int = 20) -> str:
    rows = [f"fine thing {row},good" for row in range(good)] + [f"poor thing {row},bad" for row in range(bad)]
    return "text,label\n" + "\n".join(rows) + "\n"


def test_a_csv_becomes_a_train_set_and_a_task(tmp_path: Path) -> None:
    assert register_set(write(tmp_path)) == "mine"
    info = trainset_info("mine@20")
    assert info.target == ClassTarget(("bad", "good"))
    data = load_trainset("mine@20", 0)
    assert (len(data.labelled), len(data.dev.labelled)) == (16, 4)
    assert Counter(row.label for row in (*data.labelled, *data.dev.labelled)) == {"good": 10, "bad": 10}
    assert "mine" in known_trainsets()
    assert {"fewshot/mine@20", "fewshot/mine@100", "fewshot/mine"} <= set(known_tasks())


def test_a_fifth_by_class_is_test_and_none_of_it_can_be_trained_on(tmp_path: Path) -> None:
    register_set(write(tmp_path))
    test = named_set("mine").splits().test
    assert Counter(row.label for row in test.rows) == {"good": 6, "bad": 4}
    data = load_trainset("mine", 0)
    trained = {row.input for row in (*data.labelled, *data.dev.labelled)}
    assert len(trained) == 40
    assert not {row.input for row in test.rows} & (trained | set(data.texts))
    assert len(data.texts) == 40


def test_train_rows_that_are_test_rows_but_for_case_and_white_space_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,label\nFINE  thing 0,good\npoor thing 1 ,bad\n")
    register_set(write(tmp_path, 'file = "mine.csv"\ntest_file = "test.csv"\n', reviews() + "fine thing 7,good\n"))
    pool = named_set("mine").load()
    assert (len(pool), pool.dropped, pool.duplicates) == (49, 2, 1)
    assert not {"fine thing 0", "poor thing 1"} & set(pool.texts)
    trainset_info("mine")
    assert fingerprint.seen("mine")[0].facts["duplicates"] == 1
    with pytest.raises(UserError, match="more rows than the 49"):
        load_trainset("mine@50", 0)


def test_jsonl_and_parquet_say_what_csv_says(tmp_path: Path) -> None:
    register_set(write(tmp_path))
    expected = named_set("mine").splits()
    rows = [dict(zip(("text", "label"), line.split(","), strict=True)) for line in reviews().split("\n")[1:-1]]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for kind in ("jsonl", "parquet"):
        set_catalog._own.clear()
        register_set(write(tmp_path, f'file = "rows.{kind}"\n'))
        assert named_set("mine").splits() == expected


def test_pairs_with_scores_are_pairs_too(tmp_path: Path) -> None:
    rows = "a,b,gold\n" + "\n".join(f"one {row},two {row},{row % 6}" for row in range(30))
    toml = 'file = "mine.csv"\ntext = "a"\ntext_b = "b"\nscore = "gold"\nrange = [0, 5]\n'
    register_set(write(tmp_path, toml, rows))
    data = load_trainset("mine", 0)
    assert data.target == ScoreTarget(0.0, 5.0)
    assert [(pair.a, pair.b) for pair in data.pairs] == [row.input for row in data.labelled]
    assert [pair.score for pair in data.pairs] == [row.score for row in data.labelled]


def test_several_columns_make_one_text_and_classes_are_renamed(tmp_path: Path) -> None:
    rows = "head,body,stars\n" + "\n".join(f"h{row},b{row},{1 + row % 2}" for row in range(10))
    toml = (
        'file = "mine.csv"\ntext = ["head", "body"]\nlabel = "stars"\nlabels = ["low", "high"]\n'
        'rename = { 1 = "low", 2 = "high" }\n'
    )
    register_set(write(tmp_path, toml, rows))
    splits = named_set("mine").splits()
    assert splits.target == ClassTarget(("low", "high"))
    assert Labelled("h0 b0", "low") in (*splits.train.rows, *splits.test.rows)


def test_numbers_of_any_kind_are_classes_by_their_spelling(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": list("abcdef"), "label": [-1.0, 1.0] * 3}), tmp_path / "rows.parquet")
    register_set(write(tmp_path, 'file = "rows.parquet"\n'))
    assert named_set("mine").splits().target == ClassTarget(("-1", "1"))


def test_a_changed_file_is_another_revision(tmp_path: Path) -> None:
    path = write(tmp_path)
    register_set(path)
    before, seen = resolve_task("fewshot/mine@20"), trainset_info("mine@20")
    write(tmp_path, rows=reviews(31))
    register_set(path)
    assert resolve_task("fewshot/mine@20").revision != before.revision
    assert trainset_info("mine@20").fingerprint != seen.fingerprint


def test_another_range_is_another_train_set_as_it_is_learnt_from(tmp_path: Path) -> None:
    rows = "a,b,gold\n" + "\n".join(f"one {row},two {row},{row % 6}" for row in range(30))
    toml = 'file = "mine.csv"\ntext = "a"\ntext_b = "b"\nscore = "gold"\n'
    infos = []
    for top in (5, 10, 5):
        register_set(write(tmp_path, f"{toml}range = [0, {top}]\n", rows))
        infos.append(trainset_info("mine@20"))
        assert load_trainset("mine@20", 0).fingerprint == infos[-1].fingerprint
        assert infos[-1].target == ScoreTarget(0.0, top)
    assert infos[0].fingerprint != infos[1].fingerprint
    assert infos[0] == infos[2]


def test_another_order_of_classes_is_another_train_set_as_head_columns_follow_it(tmp_path: Path) -> None:
    found = set()
    for labels in ('["good", "bad"]', '["bad", "good"]'):
        register_set(write(tmp_path, f'file = "mine.csv"\nlabels = {labels}\n'))
        found.add(trainset_info("mine@20").fingerprint)
    assert len(found) == 2


def test_an_entry_from_before_targets_were_in_fingerprints_is_made_anew(tmp_path: Path) -> None:
    register_set(write(tmp_path))
    labelled = named_set("mine")
    pool = labelled.load()
    facts: dict[str, Json] = {"version": 1, "rows": len(pool), "signals": ["labels"], "target": ["bad", "good"]}
    old = fingerprint.Entry("mine", labelled.data, labelled.revision, fingerprint.fingerprint(pool.rows()), facts)
    fingerprint.remember(old)
    info = trainset_info("mine@20")
    assert info.fingerprint != old.fingerprint
    assert load_trainset("mine@20", 0).fingerprint == info.fingerprint


def test_chance_levels_that_the_manifest_lacks_are_taken_anew(tmp_path: Path) -> None:
    register_set(write(tmp_path))
    task = cast("FewShot", resolve_task("fewshot/mine"))
    entry = task.entry()
    chance = {"accuracy": cast("dict[str, Json]", entry.facts["chance"])["accuracy"]}
    fingerprint.remember(replace(entry, facts={**entry.facts, "chance": chance}))
    assert [metric.chance for metric in resolve_task("fewshot/mine").metrics] == [
        metric.chance for metric in task.metrics
    ]


@pytest.mark.parametrize(
    ("toml", "rows", "message"),
    [
        ('file = "mine.csv\n', "", r"mine.toml is not a TOML file: .*line 1"),
        ('file = "mine.csv"\nlable = "label"\n', "", r"unknown key of .*'lable'; did you mean label"),
        ('file = "other.csv"\n', "", r"other.csv, which cannot be read \(No such file"),
        ('file = "mine.csv"\ndata = "x/y"\n', "", "either data .* or file"),
        ('file = "mine.csv"\nconfig = "en"\n', "", "config does not go with file"),
        ('file = "mine.csv"\nscore = "label"\n', "", "score and range go together"),
        ('file = "mine.csv"\nmetrics = ["acuracy"]\n', "", "did you mean accuracy"),
        ('file = "mine.csv"\nmetrics = ["mae", "accuracy"]\n', "", "mae cannot be the first metric"),
        ('file = "mine.csv"\nmetrics = ["accuracy", "coarse_accuracy"]\n', "", "coarse_accuracy needs groups"),
        ('file = "mine.csv"\n[groups]\na = "good"\n', "", "groups must be a table such as"),
        ('file = "mine.csv"\n[groups]\na = ["good"]\nb = ["good", "bad"]\n', "", "good is in two groups"),
        ('file = "mine.csv"\n[groups]\na = ["b", "good"]\nb = ["a", "bad"]\n', "", "b is in a group that is in it"),
        (
            'file = "mine.csv"\nlabels = ["good", "bad"]\n[groups]\na = ["god"]\n',
            "",
            "unknown class or group in groups of .* 'god'; did you mean good",
        ),
        (
            'file = "mine.csv"\nlabels = ["good", "bad"]\n[groups]\ngood = ["bad"]\n',
            "",
            "good is a class and a group",
        ),
        ('file = "mine.csv"\ntest_share = 2\n', "", "between 0 and 1"),
        ('file = "mine.csv"\nscore = "label"\nrange = [0, inf]\n', "", r"finite as in \[0, 5\], and is \[0, inf\]"),
        ('file = "mine.csv"\nscore = "label"\nrange = [nan, 5]\n', "", r"finite as in \[0, 5\], and is \[nan, 5\]"),
        (f'file = "mine.csv"\nscore = "label"\nrange = [0, 1{"0" * 400}]\n', "", r"finite as in \[0, 5\], and is"),
        ('file = "mine.csv"\nlabels = ["good"]\n', "", "at least two"),
        ('file = "mine.csv"\nname = "a@b"\n', "", "cannot be a set's name"),
        ('file = "mine.csv"\nname = "sst2"\n', "", "the name sst2 is taken"),
        ('file = "mine.csv"\nname = "nli"\n', "", "the name nli is taken"),
        ('file = "mine.csv"\ntext = "txet"\n', "", "unknown column of mine.csv 'txet'; did you mean text"),
        ('file = "mine.csv"\nlabels = ["god", "bad"]\n', "", r"row 1 has an unknown label 'good'; did you mean god"),
        ('file = "mine.csv"\nlabels = ["good", "bad", "ugly"]\n', "", "no train row has label 'ugly'"),
        ("", "text,label\na,x\n ,y\n", "mine.csv, row 2 has an empty text"),
        ("", "text,label\na,x\nb,\n", "mine.csv, row 2 has no label"),
        (
            'file = "mine.csv"\ntest_file = "mine.csv"\n',
            "",
            r"mine: every train row \(50\) is a test row too, so that none is left; give the set other train rows",
        ),
        (
            'file = "mine.csv"\ntest_file = "mine.csv"\nscore = "gold"\nrange = [0, 5]\n',
            "text,gold\na,1\nb,2\n",
            r"mine: every train row \(2\) is a test row too",
        ),
        ("", 'text,label\n"a,x\nb,y\n', "line 3: unexpected end of data; mend its quotes"),
        ("", 'text,label\n"a" b,x\n"c",y\n', "line 2: .*; mend its quotes"),
        ("", "text,label\na,x\nb,x\n", r"one class only \(x\)"),
        ("", "text,label\na,x\nb, and c,y\n", "row 2 has 3 fields, not 2"),
        ("", "text,label\n", "has no rows"),
        ("", "text,label\na,x\nb,y\n", "which no train row has"),
        (
            'file = "mine.csv"\nscore = "label"\nrange = [0, 5]\n',
            "text,label\na,1\nb,7\n",
            "row 2: score '7' is not a number from 0 to 5",
        ),
    ],
)
def test_a_mistake_gets_one_clear_line(toml: str, rows: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message) as caught:
        trainset_info(register_set(write(tmp_path, toml, rows)))
    assert "\n" not in str(caught.value)


def test_a_test_label_that_train_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,label\nso,good\nso so,middling\n")
    register_set(write(tmp_path, 'file = "mine.csv"\ntest_file = "test.csv"\n'))
    with pytest.raises(UserError, match="test row 2 has label 'middling', which no train row has"):
        trainset_info("mine")


def test_a_class_whose_train_rows_are_all_test_rows_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,label\nso,good\nrare thing,ugly\n")
    register_set(write(tmp_path, 'file = "mine.csv"\ntest_file = "test.csv"\n', reviews() + "Rare  thing,ugly\n"))
    with pytest.raises(UserError, match=r"mine: every train row with label 'ugly' \(1\) is a test row too"):
        trainset_info("mine")


def test_a_text_of_a_csv_may_be_as_long_as_a_book(tmp_path: Path) -> None:
    long = "word " * 40_000
    register_set(write(tmp_path, rows=f"{reviews()}{long},good\n"))
    splits = named_set("mine").splits()
    assert long in {row.input for row in (*splits.train.rows, *splits.test.rows)}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_label_that_is_not_a_number_is_a_missing_one(tmp_path: Path, kind: str) -> None:
    rows = [{"text": "a", "label": 1.0}, {"text": "b", "label": math.nan}, {"text": "c", "label": 2.0}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    register_set(write(tmp_path, f'file = "rows.{kind}"\n'))
    with pytest.raises(UserError, match=rf"rows.{kind}, row 2 has no label; fill it or delete the row"):
        trainset_info("mine")


def test_a_set_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the set .*no\.toml"):
        register_set(tmp_path / "no.toml")


def test_a_name_is_taken_once_but_its_own_file_may_come_again(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    path = write(tmp_path)
    assert register_set(path) == register_set(path)
    with pytest.raises(UserError, match="the name mine is taken"):
        register_set(write(other))
    with pytest.raises(UserError, match=r"second.toml: the name mine is taken"):
        register_set(write(tmp_path, 'name = "mine"\nfile = "mine.csv"\n', name="second"))


def test_damaged_files_are_told_by_their_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": \n')
    (tmp_path / "rows.parquet").write_bytes(b"no parquet")
    for kind, message in (("jsonl", "line 2 is not JSON"), ("parquet", "is not a parquet file")):
        set_catalog._own.clear()
        with pytest.raises(UserError, match=message) as caught:
            trainset_info(register_set(write(tmp_path, f'file = "rows.{kind}"\n')))
        assert "\n" not in str(caught.value)
