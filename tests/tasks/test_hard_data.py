"""What real data and bad encoders do to every task: empty and endless texts, a lone example, one vector for all."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, ClassTarget, FloatArray, Input, Labelled, Provides, Target, TrainSet
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog, trainsets
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.labelled_set import LabelledSet, Split, Splits, text_key
from thawbench.tasks.pool import texts_of
from thawbench.tasks.set_catalog import named_set
from thawbench.tasks.trainsets import load_trainset

COLOURS = ("blue", "green", "red")
ENDLESS = " ".join(["the", "red", "film", "was", "not", "bad"] * 1667)
"""10,002 words."""


@dataclass(frozen=True)
class Hard(LabelledSet):
    """Texts of three colours, or pairs; an endless one in each split, an empty one in one; red has a single train row.

    Four train rows more are test rows, too, but for case and white space.
    """

    order: tuple[str, ...] = COLOURS
    pairs: bool = False
    name: str = "hard"

    version = 1
    data = "none"
    revision = "r1"
    metrics = ("accuracy", "macro_f1")

    __hash__ = LabelledSet.__hash__

    @property
    def classes(self) -> tuple[str, ...]:
        return self.order

    def splits(self) -> Splits:
        empty = ("", "?") if self.pairs else ("?", "")
        test = [(f"some {COLOURS[row % 3]} plot {row}", COLOURS[row % 3]) for row in range(12)]
        train = [(f"a {COLOURS[row % 2]} film {row}", COLOURS[row % 2]) for row in range(20)]
        train += [(empty[1], "blue"), ("a red film", "red"), (f"{ENDLESS} at last", "green")]
        train += [(f" {text.upper()}", label) for text, label in test[:4]]
        test += [(empty[0], "green"), (ENDLESS, "red")]
        return Splits(ClassTarget(self.order), self._split(train), self._split(test))

    def _split(self, texts: list[tuple[str, str]]) -> Split:
        rows = tuple(Labelled((text, "is it so") if self.pairs else text, label) for text, label in texts)
        return Split(rows, tuple(range(len(rows))))


@pytest.fixture(params=[False, True], ids=["texts", "pairs"])
def hard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hard]:
    """`hard` and `other`, which has the same rows, as sets that have names."""
    found = {name: Hard(pairs=request.param, name=name) for name in ("hard", "other")}
    monkeypatch.setattr(set_catalog, "_own", found)
    yield found["hard"]
    trainsets._pool.cache_clear()
    trainsets._spoilt.cache_clear()


def run(folder: Path, results: Path, strategies: tuple[str, ...], tasks: tuple[str, ...]) -> list[Record]:
    plan = make_plan(
        Request(strategies=strategies, tasks=tasks, backbone=str(folder), precision="float32", budget=Budget(steps=2))
    )
    runner = Runner(results, plan.cells)
    return [runner.run(cell).record for cell in plan.cells]


ON_HARD = (
    "fewshot/hard",
    "noise/hard:deletions=1,typos=1",
    "noise/hard:train_deletions=1,train_labels=0.5",
    "shift/hard~hard",
    "forgetting/hard+other",
    "two_classifiers/hard+other",
)
STRATEGIES = ("frozen", "frozen_ebm", "tfidf", "majority", "finetune")


def test_no_task_stumbles_over_an_empty_text_an_endless_one_or_a_class_with_one_example(
    tiny_folder: Path, tmp_path: Path, hard: Hard
) -> None:
    records = run(tiny_folder, tmp_path, STRATEGIES, ON_HARD)

    assert len(records) == len(STRATEGIES) * len(ON_HARD)
    assert [record.failure.traceback for record in records if record.failure] == []
    assert {record.task for record in records if record.status == "ok"} == set(ON_HARD)


def test_the_only_example_of_a_class_is_trained_on_and_not_dev(hard: Hard) -> None:
    for seed in range(5):
        data = load_trainset("hard@8", seed)
        assert [row.label for row in data.labelled].count("red") == 1
        assert not [row for row in data.dev.labelled if row.label == "red"]


# ---- an encoder that gives one vector -------------------------------------------------------------------------------

ASKED = ("senteval/world/meals", *ON_HARD)


def test_a_constant_encoder_is_never_over_chance_and_loses_nothing(
    tiny_folder: Path, tmp_path: Path, hard: Hard
) -> None:
    if hard.pairs:
        pytest.skip("one vector is one vector")
    records = {record.task: record for record in run(tiny_folder, tmp_path, ("constant",), ASKED)}

    assert {task: record.status for task, record in records.items()} == dict.fromkeys(ASKED, "ok")
    for record in records.values():
        main = record.main
        if main is not None and main.value is not None and main.chance is not None:
            assert main.value <= main.chance + 1e-9, record.task
        for name in ("drop", "drop_on_first", "intransigence", "fresh_drop"):
            found = record.metric(name)
            if found is not None and record.family != "shift":
                assert found.value == 0.0, (record.task, name)


# ---- names of classes in another order ------------------------------------------------------------------------------


@dataclass
class Knows:
    """Heads that know the colour by what the text says, in whatever order of classes."""

    heads: dict[str, Target]
    provides = frozenset({Provides.VECTORS, Provides.CLASSES})

    def predict(self, inputs: list[Input], head: str) -> FloatArray:
        classes = cast("ClassTarget", self.heads[head]).classes
        told = [next((name for name in COLOURS if name in texts_of(item)[0]), COLOURS[0]) for item in inputs]
        return np.array([[name == said for name in classes] for said in told], np.float32)

    def encode(self, texts: list[str]) -> FloatArray:
        return np.array([[name in text for name in COLOURS] for text in texts], np.float32) + np.float32(0.01)


ORDERED = (
    "fewshot/hard",
    "noise/hard:typos=0.5",
    "shift/hard~hard",
    "forgetting/hard+other",
    "two_classifiers/hard+other",
)


@pytest.mark.parametrize("task", ORDERED)
def test_scores_do_not_depend_on_the_order_in_which_a_set_or_a_head_has_its_classes(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    orders = ((COLOURS, COLOURS), (COLOURS[::-1], COLOURS), (COLOURS, ("red", "blue", "green")))
    for place, (of_set, of_head) in enumerate(orders):
        monkeypatch.setattr(set_catalog, "_own", {name: Hard(of_set, name=name) for name in ("hard", "other")})
        monkeypatch.setenv("THAWBENCH_CACHE", str(tmp_path / str(place)))  # a manifest of its own
        trainsets._pool.cache_clear()
        heads = dict.fromkeys(("hard", "other"), cast("Target", ClassTarget(of_head)))
        asked = resolve_task(task)
        trail = [cast("Adapted", Knows(heads))] * (len(asked.train) + 1)
        found.append((asked.evaluate(trail, asked.load()), asked.metrics))
    trainsets._pool.cache_clear()

    assert found[1] == found[2] == found[0]
    assert found[0][0].rows


# ---- test rows ------------------------------------------------------------------------------------------------------


def everything(data: TrainSet) -> list[Input]:
    """All inputs that a strategy can reach."""
    rows = [row.input for row in (*data.labelled, *data.dev.labelled)]
    return [*rows, *((pair.a, pair.b) for pair in (*data.pairs, *data.dev.pairs)), *data.texts]


@pytest.mark.parametrize("name", ["hard", "world/meals", "world/films", "world/topics", "world/nli", "world/sts"])
@pytest.mark.parametrize("suffix", ["", "@20", "@20~case-1", "~labels-0.2"])
def test_no_test_row_can_be_reached_from_a_train_set_in_any_sample(
    name: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "world/sts" and "labels" in suffix:
        pytest.skip("scores have no label noise")
    monkeypatch.setattr(set_catalog, "_own", {"hard": Hard()})
    hidden = {text_key(row.input) for row in named_set(name).splits().test.rows}
    for seed in range(3):
        assert not hidden & {text_key(item) for item in everything(load_trainset(f"{name}{suffix}", seed))}
    trainsets._pool.cache_clear()
    trainsets._spoilt.cache_clear()
