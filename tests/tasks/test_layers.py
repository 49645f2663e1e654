"""A read-out per layer: the layer that has the classes is the one that shows them."""

import importlib
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from thawbench.contracts import (
    Adapted,
    Budget,
    ClassTarget,
    HiddenStates,
    Labelled,
    Rows,
    ScoredRow,
    TrainSet,
)
from thawbench.errors import DegenerateError, UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog, word_spaces
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.forgetting import SetRows
from thawbench.tasks.fresh_readout import fresh_predictions
from thawbench.tasks.labelled_set import Split, Splits
from thawbench.tasks.layers import Layers
from thawbench.tasks.set_catalog import register_set


class Knows:
    """An encoder whose layer 1 of three tells `yes` from `no`, and whose others tell nothing.

    Args:
        spoilt: whether a state is no number.
    """

    def __init__(self, *, spoilt: bool = False) -> None:
        self._spoilt = spoilt

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for number, text in enumerate(texts):
            states = np.ones((3, 2, 4), dtype=np.float32)
            states[1, 1, 0] = 3 if "yes" in text else -3
            if self._spoilt and number == 7:
                states[2] = np.nan
            yield HiddenStates(states, np.array([[0, 0], [0, len(text)]]))


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layers:
    """`layers/own@12`: ten test rows, six of them `no`; `pairs` and `scored` are beside it."""
    monkeypatch.setattr(set_catalog, "_own", {})
    train = "".join(f"{label} {row},{label}\n" for row, label in enumerate(["no", "yes"] * 10))
    test = "".join(f"{label} the {row},{label}\n" for row, label in enumerate(["no"] * 6 + ["yes"] * 4))
    (tmp_path / "own.csv").write_text("text,label\n" + train)
    (tmp_path / "own_test.csv").write_text("text,label\n" + test)
    (tmp_path / "own.toml").write_text('file = "own.csv"\ntest_file = "own_test.csv"\n')
    (tmp_path / "scored.csv").write_text("text,gold\nx,1\ny,2\nz,3\n")
    (tmp_path / "scored.toml").write_text('file = "scored.csv"\nscore = "gold"\nrange = [0, 5]\n')
    pairs = "".join(f"the {animal} {row},a dog {row},{row % 2}\n" for row, animal in enumerate(["cat", "dog"] * 10))
    (tmp_path / "pairs.csv").write_text("text,text_b,label\n" + pairs)
    (tmp_path / "pairs_test.csv").write_text("text,text_b,label\nthe cat,a dog,0\na dog,a dog,1\n")
    (tmp_path / "pairs.toml").write_text('file = "pairs.csv"\ntest_file = "pairs_test.csv"\ntext_b = "text_b"\n')
    for name in ("own", "pairs", "scored"):
        register_set(tmp_path / f"{name}.toml")
    return Layers.resolve("own@12")


def test_the_layer_that_knows_is_the_one_that_scores(task: Layers) -> None:
    scores = task.evaluate(cast("list[Adapted]", [Knows()]), task.load())
    accuracy, *_, seconds = scores.curves

    assert (accuracy.name, accuracy.axis, accuracy.x) == ("accuracy", "layer", (0.0, 1.0, 2.0))
    assert accuracy.y[1] == 1
    assert accuracy.y[0] == accuracy.y[2] in (0.4, 0.6)
    assert scores.scalars["accuracy"] == accuracy.y[2]
    assert (seconds.name, seconds.x) == ("readout_s", accuracy.x)
    assert all(0 < value < 30 for value in seconds.y)


@pytest.mark.parametrize("of_pairs", [False, True], ids=["texts", "pairs"])
def test_no_more_memory_is_taken_than_is_asked_for(
    task: Layers, monkeypatch: pytest.MonkeyPatch, of_pairs: bool
) -> None:
    class Wide:
        def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
            draws = np.random.default_rng(0)
            for text in texts:
                states = draws.normal(0 if "yes" in text else 1, 1, size=(2, 2, 400)).astype(np.float32)
                yield HiddenStates(states, np.array([[0, 0], [0, len(text)]]))

    def rows(label: str, of: str) -> list[Labelled]:
        texts = [f"{label} {of} {row}" for row in range(150)]
        return [Labelled((text, f"{text} too") if of_pairs else text, label=label) for text in texts]

    train, test = (tuple(rows("yes", of) + rows("no", of)) for of in ("train", "test"))
    target = ClassTarget(("no", "yes"))
    dev = Rows(labelled=(*rows("yes", "dev"), *rows("no", "dev")))
    data = SetRows(
        Splits(target, Split((), ()), Split(test, tuple(range(300)))), TrainSet("x", 1, "", target, train, dev=dev)
    )
    asked: list[int] = []
    monkeypatch.setattr(word_spaces, "check_room", lambda needed, *_: asked.append(needed))
    importlib.import_module("sklearn.linear_model")

    tracemalloc.start()
    task.evaluate(cast("list[Adapted]", [Wide()]), data)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * asked[0] < taken < 1.2 * asked[0]


def test_rows_and_scalars_are_those_of_the_last_layer(task: Layers, tiny: AdaptedEncoder) -> None:
    data = task.load()
    inputs = [row.input for row in data.splits.test.rows]
    said = fresh_predictions(tiny, data.train, inputs)
    scores = task.evaluate([tiny], data)

    assert [row.prediction for row in scores.rows] == said  # mean pooling of the last layer is what it encodes
    assert scores.rows[6] == ScoredRow("test:6", "yes", said[6])
    assert scores.scalars["accuracy"] == np.mean([row.gold == row.prediction for row in scores.rows])
    assert set(scores.scalars) == {metric.name for metric in task.metrics}


def test_its_metrics_are_the_sets_own_with_chance_and_without_a_direction(task: Layers) -> None:
    main, *others = task.metrics

    assert (main.name, main.main, main.chance) == ("accuracy", True, 0.6)
    assert {metric.direction for metric in (main, *others)} == {"none"}


def test_states_that_are_not_finite_are_degenerate(task: Layers) -> None:
    with pytest.raises(DegenerateError, match="not finite in layer 2"):
        task.evaluate(cast("list[Adapted]", [Knows(spoilt=True)]), task.load())


@pytest.mark.usefixtures("task")
def test_pairs_are_read_as_pairs(tiny: AdaptedEncoder) -> None:
    task = Layers.resolve("pairs@12")
    data = task.load()
    scores = task.evaluate([tiny], data)

    assert data.splits.test.rows[0].input == ("the cat", "a dog")
    assert [row.prediction for row in scores.rows] == fresh_predictions(
        tiny, data.train, [row.input for row in data.splits.test.rows]
    )


def test_another_n_is_another_task_with_another_train_set(task: Layers) -> None:
    other = Layers.resolve("own@10")

    assert (task.name, task.train) == ("layers/own@12", ("own@12",))
    assert other.name == "layers/own@10"
    assert len(task.fingerprint()) == 64


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("scored@3", "scored is measured by spearman; take a set that is measured by its classes"),
        ("world/meal@20", "did you mean world/meals"),
    ],
)
def test_what_has_no_classes_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        resolve_task(f"layers/{body}")

    assert "\n" not in str(error.value)


def test_every_name_in_the_listing_can_be_resolved() -> None:
    listed = [name for name in known_tasks() if name.startswith("layers/")]

    assert len(listed) == 4
    assert [resolve_task(name).name for name in listed] == listed


@pytest.mark.usefixtures("task")
def test_a_strategy_that_drops_layers_has_a_curve_as_much_shorter_and_one_without_layers_has_none(
    tiny_folder: Path, tmp_path: Path
) -> None:
    strategies = ("frozen", "drop_top:k=1", "majority")
    plan = make_plan(
        Request(
            strategies=strategies,
            tasks=("layers/own@12",),
            backbone=str(tiny_folder),
            budget=Budget(steps=2),
            seeds="1",
        )
    )
    runner = Runner(tmp_path / "results", plan.cells)
    records = {record.strategy: record for record in (runner.run(cell).record for cell in plan.cells)}

    assert records["frozen"].curves[0].x == (0.0, 1.0, 2.0)
    assert records["drop_top:k=1"].curves[0].x == (0.0, 1.0)
    assert records["frozen"].rows is not None
    assert records["majority"].status == "not_applicable"
