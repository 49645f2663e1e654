"""SentEval's tasks against plain loops over scikit-learn, on sets made by hand; on real data, their rows."""

from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from thawbench.contracts import Adapted, Provides
from thawbench.errors import DegenerateError, UserError
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.runner import Runner
from thawbench.tasks import logistic_folds, senteval, set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.senteval import SentEval
from thawbench.tasks.senteval_rows import RECIPES, Part, Recipe
from thawbench.tasks.set_catalog import register_set

LOW = [0.25, 0.5, 1, 2, 4, 8]
HIGH = [0.5, 1, 2, 4, 8, 16, 32]
K = 3


class Vectors:
    """A text's vector is drawn for it: three numbers, the first of which leans to its class. Calls are kept."""

    heads: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, *, as_sparse: bool = False, scale: float = 1.0) -> None:
        self._sparse, self._scale = as_sparse, scale
        self.asked: list[list[str]] = []

    def encode(self, texts: list[str]) -> Any:
        self.asked.append(texts)
        found = np.array([self.vector(text) for text in texts], np.float32) * self._scale
        return sparse.csr_array(found) if self._sparse else found

    @staticmethod
    def vector(text: str) -> Any:
        label, number = text.split()
        drawn = np.random.default_rng(int(number)).standard_normal(3)
        return drawn + np.array([0.8 if label == "good" else -0.8, 0, 0])


def text(number: int) -> str:
    return f"{'good' if number % 3 else 'bad'} {number}"


@pytest.fixture(autouse=True)
def _sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`senteval/folds` of texts, `/cut` of texts with dev rows, `/pairs` without."""
    monkeypatch.setattr(set_catalog, "_own", {})

    def write(name: str, head: str, lines: list[str]) -> None:
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines]))

    texts = [f"{text(row)},{text(row).split()[0]}" for row in range(260)]
    write("texts", "text,label", texts[:160])
    write("texts_test", "text,label", texts[160:])
    write("dev", "text,label", texts[100:160])
    pairs = [f"{text(row)},{text(row * 7 % 90 + 300)},{'yes' if row % 3 else 'no'}" for row in range(150)]
    write("pairs", "a,b,label", pairs[:100])
    write("pairs_test", "a,b,label", pairs[100:])
    (tmp_path / "texts.toml").write_text('file = "texts.csv"\ntest_file = "texts_test.csv"\n')
    (tmp_path / "dev.toml").write_text('file = "texts.csv"\ntest_file = "dev.csv"\n')
    (tmp_path / "pairs.toml").write_text(
        'file = "pairs.csv"\ntest_file = "pairs_test.csv"\ntext = "a"\ntext_b = "b"\nlabels = ["no", "yes"]\n'
    )
    for name in ("texts", "dev", "pairs"):
        register_set(tmp_path / f"{name}.toml")
    train, test = Part("texts", "train"), Part("texts", "test")
    recipes = {
        "folds": Recipe((train, test)),
        "cut": Recipe((train,), (Part("dev", "test"),), (test,)),
        "pairs": Recipe((Part("pairs", "train"),), test=(Part("pairs", "test"),)),
    }
    monkeypatch.setattr(senteval, "RECIPES", {**RECIPES, **recipes})
    assert logistic_folds.FOLDS == 10
    monkeypatch.setattr(logistic_folds, "FOLDS", K)  # ten folds within ten are 610 fits


def measure(name: str, encoder: Vectors) -> Any:
    task = SentEval.resolve(name)
    return task.evaluate([cast("Adapted", encoder)], task.load())


def model(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=5000)


def rows(numbers: range) -> tuple[Any, Any]:
    found = [text(number) for number in numbers]
    return np.array([Vectors.vector(each) for each in found], np.float32), np.array([each.split()[0] for each in found])


def test_folds_within_folds_are_those_of_a_plain_loop() -> None:
    x, y = rows(range(260))
    split = StratifiedKFold(K, shuffle=True, random_state=1111)
    expected, dev, said = [], [], np.empty_like(y)
    for train, test in split.split(x, y):
        means = [cross_val_score(model(strength), x[train], y[train], cv=split).mean() for strength in LOW]
        best = int(np.argmax(np.round(means, 4)))
        said[test] = model(LOW[best]).fit(x[train], y[train]).predict(x[test])
        expected.append((said[test] == y[test]).mean())
        dev.append(means[best])

    scores = measure("folds", Vectors())

    assert 0.7 < np.mean(expected) < 0.98
    assert scores.curves[0].y == tuple(expected)
    assert (scores.curves[0].axis, scores.curves[0].x) == ("fold", tuple(range(1, K + 1)))
    assert scores.scalars == {"accuracy": np.mean(expected), "dev_accuracy": pytest.approx(np.mean(dev))}
    assert [row.prediction for row in scores.rows] == said.tolist()
    assert [scores.rows[place].row for place in (0, 159, 160)] == ["train:0", "train:159", "test:0"]


def test_a_split_with_dev_rows_chooses_by_them_and_fits_the_train_rows_alone() -> None:
    (x, y), (dev_x, dev_y), (test_x, test_y) = map(rows, (range(160), range(100, 160), range(160, 260)))
    by_dev = [model(strength).fit(x, y).score(dev_x, dev_y) for strength in LOW]
    best = int(np.argmax(by_dev))
    said = model(LOW[best]).fit(x, y).predict(test_x)
    scores = measure("cut", Vectors())

    assert scores.scalars == {"accuracy": (said == test_y).mean(), "dev_accuracy": by_dev[best]}
    assert [row.prediction for row in scores.rows] == said.tolist()


def pair_rows(numbers: range) -> tuple[Any, Any]:
    sides = [(text(number), text(number * 7 % 90 + 300)) for number in numbers]
    first, second = (np.array([Vectors.vector(pair[side]) for pair in sides], np.float32) for side in (0, 1))
    labels = np.array(["yes" if number % 3 else "no" for number in numbers])
    return np.concatenate([np.abs(first - second), first * second], axis=1), labels


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_pairs_are_compared_by_difference_and_product_and_scored_by_f1_too(as_sparse: bool) -> None:
    (x, y), (test_x, test_y) = map(pair_rows, (range(100), range(100, 150)))
    split = StratifiedKFold(K, shuffle=True, random_state=1111)
    means = [cross_val_score(model(strength), x, y, cv=split).mean() for strength in HIGH]
    best = int(np.argmax(np.round(means, 4)))
    said = model(HIGH[best]).fit(x, y).predict(test_x)
    scores = measure("pairs", Vectors(as_sparse=as_sparse))

    assert scores.scalars == pytest.approx(
        {
            "accuracy": (said == test_y).mean(),
            "dev_accuracy": means[best],
            "f1": f1_score(test_y, said, pos_label="yes"),
        }
    )


def test_sparse_texts_say_what_dense_ones_say() -> None:
    dense, thin = (measure("cut", Vectors(as_sparse=as_sparse)) for as_sparse in (False, True))

    assert thin == dense


def test_each_text_is_encoded_once_for_each_role() -> None:
    encoder = Vectors()
    measure("pairs", encoder)

    assert len(encoder.asked) == 2
    assert all(max(Counter(asked).values()) == 1 for asked in encoder.asked)


def test_vectors_that_all_are_alike_score_what_guessing_scores() -> None:
    scores = measure("pairs", Vectors(scale=0.0))
    chance = {metric.name: metric.chance for metric in SentEval.resolve("pairs").metrics}

    assert chance == {"accuracy": 34 / 50, "dev_accuracy": None, "f1": pytest.approx(2 * 34 / (50 + 34))}
    assert scores.scalars["accuracy"] == chance["accuracy"]
    assert scores.scalars["f1"] == chance["f1"]


def test_vectors_that_are_not_finite_are_degenerate() -> None:
    with pytest.raises(DegenerateError, match="not all finite"):
        measure("folds", Vectors(scale=float("nan")))


def test_metrics_have_bounds_and_the_share_of_the_greatest_class_as_chance() -> None:
    main, dev = SentEval.resolve("folds").metrics

    assert (main.name, main.main, main.lower, main.upper, main.chance) == ("accuracy", True, 0.0, 1.0, 173 / 260)
    assert (dev.name, dev.main) == ("dev_accuracy", False)


def test_planning_a_seen_task_reads_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    first = SentEval.resolve("cut")
    first.load()
    monkeypatch.setattr(senteval, "read", None)
    second = SentEval.resolve("cut")

    assert second.fingerprint() == first.fingerprint() != SentEval.resolve("pairs")._version
    assert second.metrics == first.metrics
    assert (second.needs, second.train, second.name) == (Provides.VECTORS, ("nli",), "senteval/cut")


def test_a_wrong_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown task of senteval 'mprc'; did you mean mrpc"):
        resolve_task("senteval/mprc")


def test_every_task_in_the_listing_can_be_resolved() -> None:
    listed = {name for name in known_tasks() if name.startswith("senteval/")}

    assert {f"senteval/{name}" for name in ("mr", "subj", "mpqa", "sst2", "mrpc", "world/meals")} <= listed
    assert {resolve_task(name).name for name in listed} == listed


def test_a_strategy_without_vectors_is_not_applicable_and_sparse_ones_run(tiny_folder: Path, tmp_path: Path) -> None:
    plan = make_plan(
        Request(
            strategies=("majority", "tfidf"),
            tasks=("senteval/pairs:train=world/meals",),
            backbone=str(tiny_folder),
            precision="float32",
        )
    )
    runner = Runner(tmp_path, plan.cells)
    blind, counted = (runner.run(cell).record for cell in plan.cells)

    assert blind.reason == "senteval/pairs measures vectors; majority gives classes"
    assert counted.status == "ok", counted
    assert counted.main is not None
    assert counted.rows is not None


# rows of the train, dev and test role, and those of the class that SentEval calls 1
COUNTS = {
    "mr": (10_662, 0, 0),
    "subj": (10_000, 0, 0),
    "mpqa": (10_603, 0, 0),
    "sst2": (67_349, 872, 1_821),
    "mrpc": (4_076, 0, 1_725),
}


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
@pytest.mark.parametrize("name", COUNTS)
def test_real_rows_are_as_many_as_senteval_has(name: str) -> None:
    data = SentEval.resolve(name).load()
    parts = (data.train, data.dev, data.test)

    assert tuple(len(part.rows) for part in parts) == COUNTS[name]
    assert all(len(set(part.names)) == len(part.names) for part in parts)
    assert all(len(set(part.labels)) == 2 for part in parts if part.rows)
    if name == "sst2":
        assert Counter(data.test.labels.tolist()) == {"negative": 912, "positive": 909}
