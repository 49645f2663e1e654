"""Few-shot tasks: heads by name, rows and scores on sets made by hand, and every shipped set on real data."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, ClassTarget, FloatArray, Input, Json, Provides, ScoredRow, ScoreTarget, Target
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.tasks import fingerprint, set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.described_set import DescribedSet
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.set_catalog import known_sets, named_set, register_set
from thawbench.tasks.trainsets import load_trainset, trainset_info


@dataclass
class Oracle:
    """An adaptation whose every head answers out of a table of logits by input."""

    heads: Mapping[str, Target]
    table: Mapping[Input, Sequence[float]]
    asked: str = ""

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        self.asked = head
        return np.array([self.table[item] for item in inputs], dtype=np.float32)


def measure(task: FewShot, heads: Mapping[str, Target], table: Mapping[Any, Sequence[float]]) -> tuple[Any, Oracle]:
    oracle = Oracle(heads, table)
    return task.evaluate([cast("Adapted", oracle)], task.load()), oracle


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FewShot:
    monkeypatch.setattr(set_catalog, "_own", {})
    train = [f"t{row},{'yes' if row % 2 else 'no'}" for row in range(10)]
    (tmp_path / "train.csv").write_text("text,label\n" + "\n".join(train))
    (tmp_path / "test.csv").write_text("text,label\na,yes\nb,yes\nc,yes\nd,no\n")
    (tmp_path / "mine.toml").write_text(
        'file = "train.csv"\ntest_file = "test.csv"\nmetrics = ["accuracy", "macro_f1", "mcc"]\n'
    )
    register_set(tmp_path / "mine.toml")
    return FewShot.resolve("mine@6")


CLASSES = ClassTarget(("no", "yes"))
TABLE = {"a": (0.0, 1.0), "b": (2.0, 1.0), "c": (0.0, 3.0), "d": (4.0, 1.0)}


def test_a_task_is_named_by_set_and_n_and_trains_on_just_that(mine: FewShot) -> None:
    assert (mine.name, mine.train, mine.family, mine.needs) == (
        "fewshot/mine@6",
        ("mine@6",),
        "fewshot",
        Provides.CLASSES,
    )
    assert FewShot.resolve("mine").train == ("mine",)
    assert FewShot.resolve("mine").fingerprint() == mine.fingerprint()


def test_scores_and_rows_are_those_worked_by_hand(mine: FewShot) -> None:
    scores, oracle = measure(mine, {"mine@6": CLASSES}, TABLE)
    assert oracle.asked == "mine@6"
    assert scores.scalars["accuracy"] == 0.75
    assert scores.scalars["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)  # yes: 1, 2/3; no: 1/2, 1
    assert scores.rows[1] == ScoredRow("test:1", "yes", "no")
    accuracy = mine.metrics[0]
    assert (accuracy.name, accuracy.main, accuracy.chance) == ("accuracy", True, 0.75)


def test_classes_go_by_name_whatever_their_order_in_a_head_fitted_elsewhere(mine: FewShot) -> None:
    swapped = {text: (right, left) for text, (left, right) in TABLE.items()}
    scores, oracle = measure(mine, {"first": CLASSES, "other@20": ClassTarget(("yes", "no"))}, swapped)
    assert oracle.asked == "other@20"
    assert scores.scalars["accuracy"] == 0.75


def test_the_own_head_is_read_even_if_another_was_fitted_after_it(mine: FewShot) -> None:
    _, oracle = measure(mine, {"mine@6": CLASSES, "later": ScoreTarget(0.0, 1.0)}, TABLE)
    assert oracle.asked == "mine@6"


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ({}, "none was fitted"),
        ({"other": ClassTarget(("no", "maybe", "yes"))}, "fitted on other has maybe beside"),
        ({"other": ClassTarget(("no", "si"))}, "lacks yes and has si beside"),
        ({"other": ScoreTarget(0.0, 1.0)}, "asks for classes; the head fitted on other predicts a score"),
    ],
)
def test_a_head_for_something_else_is_not_applicable(heads: dict[str, Target], message: str, mine: FewShot) -> None:
    with pytest.raises(NotApplicableError, match=message):
        measure(mine, heads, TABLE)


def test_predictions_that_are_not_finite_are_degenerate(mine: FewShot) -> None:
    with pytest.raises(DegenerateError, match="not finite"):
        measure(mine, {"mine@6": CLASSES}, {**TABLE, "a": (float("nan"), 0.0)})


def test_scores_are_correlated_and_constant_ones_are_degenerate(tmp_path: Path, mine: FewShot) -> None:
    rows = "text,gold\n" + "\n".join(f"s{row},{row}" for row in range(6))
    (tmp_path / "scored.csv").write_text(rows)
    (tmp_path / "scored.toml").write_text(
        'file = "scored.csv"\ntest_file = "scored.csv"\nscore = "gold"\nrange = [0, 5]\n'
    )
    register_set(tmp_path / "scored.toml")
    task = FewShot.resolve("scored")
    table = {f"s{row}": (row**3,) for row in range(6)}
    scores, _ = measure(task, {"x": ScoreTarget(0.0, 1.0)}, table)
    assert scores.scalars["spearman"] == pytest.approx(1.0)
    assert scores.rows[2] == ScoredRow("test:2", 2.0, 8.0)
    with pytest.raises(DegenerateError, match="every predicted score is 1"):
        measure(task, {"x": ScoreTarget(0.0, 1.0)}, dict.fromkeys(table, (1.0,)))


def test_coarse_accuracy_is_beside_the_others_where_classes_are_in_groups(tmp_path: Path, mine: FewShot) -> None:
    names = ["cat", "dog", "oak", "rain"]
    (tmp_path / "kinds.csv").write_text(
        "text,label\n" + "\n".join(f"{name} {row},{name}" for name in names for row in "ab")
    )
    (tmp_path / "kinds_test.csv").write_text("text,label\n" + "\n".join(f"{name},{name}" for name in names))
    (tmp_path / "kinds.toml").write_text(
        'file = "kinds.csv"\ntest_file = "kinds_test.csv"\n'
        '[groups]\nliving = ["animal", "plant"]\nanimal = ["cat", "dog"]\nplant = ["oak"]\n'
    )
    register_set(tmp_path / "kinds.toml")
    task = FewShot.resolve("kinds")
    answers = {"cat": "dog", "dog": "oak", "oak": "oak", "rain": "cat"}
    table = {name: [float(answers[name] == other) for other in names] for name in names}
    scores, _ = measure(task, {"kinds": ClassTarget(tuple(names))}, table)

    assert {row.label: row.path for row in load_trainset("kinds", 0).labelled} == {
        "cat": ("living", "animal", "cat"),
        "dog": ("living", "animal", "dog"),
        "oak": ("living", "plant", "oak"),
        "rain": (),
    }
    assert (scores.scalars["accuracy"], scores.scalars["coarse_accuracy"]) == (0.25, 0.75)
    coarse = task.metrics[-1]
    assert (coarse.name, coarse.main, coarse.chance) == ("coarse_accuracy", False, 0.75)


def test_a_class_without_a_test_row_is_in_its_group_all_the_same(tmp_path: Path, mine: FewShot) -> None:
    names = ["cat", "dog", "oak"]
    (tmp_path / "rare.csv").write_text(
        "text,label\n" + "\n".join(f"{name} {row},{name}" for name in names for row in "ab")
    )
    (tmp_path / "rare_test.csv").write_text("text,label\ncat,cat\noak,oak\n")
    (tmp_path / "rare.toml").write_text(
        'file = "rare.csv"\ntest_file = "rare_test.csv"\n[groups]\nanimal = ["cat", "dog"]\nplant = ["oak"]\n'
    )
    register_set(tmp_path / "rare.toml")
    table = {"cat": [0.0, 1.0, 0.0], "oak": [0.0, 0.0, 1.0]}
    scores, _ = measure(FewShot.resolve("rare"), {"rare": ClassTarget(tuple(names))}, table)

    assert (scores.scalars["accuracy"], scores.scalars["coarse_accuracy"]) == (0.5, 1.0)


def test_samples_are_nested_and_balanced_and_another_seed_takes_others(mine: FewShot) -> None:
    taken = [{row.input for row in (*data.labelled, *data.dev.labelled)} for data in map(_load, (4, 6))]
    assert taken[0] < taken[1]
    data = _load(6)
    assert Counter(row.label for row in (*data.labelled, *data.dev.labelled)) == {"yes": 3, "no": 3}
    assert {row.label for row in data.labelled} == {"yes", "no"}
    assert {row.input for row in load_trainset("mine@4", 1).labelled} != {row.input for row in _load(4).labelled}


def _load(n: int) -> Any:
    return load_trainset(f"mine@{n}", 0)


def test_a_sample_too_small_for_its_classes_names_them_and_the_least(mine: FewShot) -> None:
    for ask in (lambda: trainset_info("mine@2"), lambda: load_trainset("mine@2", 0)):
        with pytest.raises(UserError, match=r"2 classes \(no, yes\).*at least 1 .* absent; take at least mine@3"):
            ask()


@pytest.mark.parametrize(
    ("name", "message"),
    [("fewshot/sst@20", "did you mean sst"), ("fewshot/sst2@x", "after @ stands a number"), ("fewshot/nli", "unknown")],
)
def test_a_wrong_name_is_told_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        resolve_task(name)
    assert "\n" not in str(caught.value)


def test_the_listing_holds_every_size_that_has_room_for_the_classes() -> None:
    listed = set(known_tasks())
    assert {"fewshot/sst2@20", "fewshot/sst2@100", "fewshot/sst2@1000", "fewshot/sst2"} <= listed
    assert "fewshot/banking77@100" in listed
    assert "fewshot/banking77@20" not in listed


def test_planning_a_seen_set_imports_nothing_heavy() -> None:
    labelled = named_set("sst2")
    facts: dict[str, Json] = {"version": 1, "rows": 9, "signals": ["labels"], "target": ["negative", "positive"]}
    fingerprint.remember(fingerprint.Entry("sst2", labelled.data, labelled.revision, "f" * 64, facts))
    chance: dict[str, Json] = {"accuracy": 0.5, "macro_f1": 0.3, "mcc": 0.0}
    entry = fingerprint.Entry(
        "fewshot/sst2", labelled.data, labelled.revision, "e" * 64, {"version": "1.1", "chance": chance}
    )
    fingerprint.remember(entry)
    code = (
        "import sys, json; from thawbench.tasks.trainsets import trainset_info; trainset_info('sst2@5');"
        "from thawbench.tasks.catalog import resolve_task; task = resolve_task('fewshot/sst2@5');"
        "assert task.fingerprint() == 'e' * 64 and task.metrics[0].chance == 0.5;"
        "names = ('mteb', 'datasets', 'torch', 'sklearn', 'scipy.stats', 'pandas');"
        "print(json.dumps([name for name in names if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


# set: classes (0: a score), train rows less those in test, test rows. QNLI, MNLI, SNLI, AG News, IMDb and Yelp are
# served as samples of their train rows, the last two of their test rows as well.
COUNTS = {
    "ag_news": (4, 9991, 7600),
    "airline": (2, 1699, 300),
    "banking77": (77, 9996, 3080),
    "books": (2, 1695, 300),
    "cola": (2, 8535, 1043),
    "druglib": (10, 3091, 1036),
    "dvd": (2, 1687, 300),
    "electronics": (2, 1685, 300),
    "emotion": (4, 3257, 1421),
    "imdb": (2, 1000, 1000),
    "irony": (2, 2862, 784),
    "kitchen": (2, 1690, 300),
    "mnli": (3, 9999, 9815),
    "mpqa": (2, 7546, 2000),
    "mrpc": (2, 3668, 408),
    "newsgroups": (20, 11659, 7962),
    "qnli": (2, 9999, 5463),
    "rotten_tomatoes": (2, 8530, 1066),
    "rte": (2, 2490, 277),
    "snli": (3, 9999, 9824),
    "snli_biased": (3, 7120, 9824),
    "snli_thinned": (3, 7120, 9824),
    "sst2": (2, 67349, 872),
    "sst5": (5, 8541, 2210),
    "stsb": (0, 5732, 1379),
    "subj": (2, 8000, 2000),
    "yelp": (5, 1000, 1000),
    "yelp2": (2, 800, 800),
}


def test_every_shipped_set_of_the_hub_that_has_train_rows_has_its_counts_above() -> None:
    trained = {name for name in known_sets() if not name.startswith("world/") and named_set(name).trains}
    assert set(COUNTS) == trained


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
@pytest.mark.parametrize("name", sorted(COUNTS))
def test_a_shipped_set_loads_with_its_known_counts(name: str) -> None:
    classes, train, test = COUNTS[name]
    labelled = named_set(name)
    pool, splits = labelled.load(), labelled.splits()
    assert (len(pool), len(splits.test.rows)) == (train, test)
    left_out = {"yelp2": 200, "newsgroups": 21}  # three stars; nothing but headers, quotes and footers
    assert splits.test.left_out == left_out.get(name, 0)
    if classes:
        assert isinstance(splits.target, ClassTarget)
        assert len(splits.target.classes) == classes
        assert {row.label for row in splits.test.rows} == set(splits.target.classes)
    hidden = {row.input for row in splits.test.rows}
    assert not hidden & {row.input for row in pool.labelled}


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("rte", ("No Weapons of Mass Destruction Found in Iraq Yet.", "Weapons of Mass"), "not_entailment"),
        ("mrpc", ("Amrozi accused his brother", "Referring to him as only"), "equivalent"),
        ("banking77", ("I am still waiting on my card?",), "card_arrival"),
        ("subj", ("gangs , despite the gravity",), "subjective"),
    ],
)
def test_the_first_train_row_has_its_label_by_name(name: str, text: tuple[str, ...], label: str) -> None:
    first = named_set(name).splits().train.rows[0]
    texts = (first.input,) if isinstance(first.input, str) else first.input
    assert all(found.startswith(start) for found, start in zip(texts, text, strict=True))
    assert first.label == label


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_real_samples_are_nested_and_balanced_and_banking77_needs_78_rows() -> None:
    small, large = (load_trainset(f"emotion@{n}", 2) for n in (20, 100))
    rows = [[*data.labelled, *data.dev.labelled] for data in (small, large)]
    assert {row.input for row in rows[0]} < {row.input for row in rows[1]}
    assert set(Counter(row.label for row in rows[1]).values()) == {25}
    with pytest.raises(UserError, match="take at least banking77@78"):
        trainset_info("banking77@20")
    assert len({row.label for row in load_trainset("banking77@78", 0).labelled}) == 77


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_cross_posts_are_left_out_and_each_newsgroup_stands_under_one_of_six_groups() -> None:
    labelled = named_set("newsgroups")
    splits, pool = labelled.splits(), labelled.load()
    assert isinstance(splits.target, ClassTarget)
    assert (splits.train.left_out, pool.dropped) == (35, 35 + 320)  # empty ones; and those that are test posts too
    assert Counter(splits.groups.values()) == {
        "computers": 5,
        "recreation": 4,
        "science": 4,
        "for_sale": 1,
        "politics": 3,
        "religion": 3,
    }
    assert {row.path for row in pool.labelled} == {(splits.groups[name], name) for name in splits.target.classes}
    chance = {metric.name: metric.chance for metric in FewShot.resolve("newsgroups").metrics}
    assert chance["coarse_accuracy"] == pytest.approx(1988 / 7962)  # computers


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_hidden_labels_are_refused() -> None:
    sst2 = named_set("sst2")
    assert isinstance(sst2, DescribedSet)
    with pytest.raises(UserError, match=r"every gold label of nyu-mll/glue sst2 test is hidden"):
        DescribedSet(replace(sst2.description, train="validation", test="test")).splits()
