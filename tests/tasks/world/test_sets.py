"""The world as train sets and as few-shot tasks: no Hub, no network, no test row in reach of training."""

from collections import Counter
from typing import cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, ClassTarget, FloatArray, Input, Labelled, Provides, ScoreTarget, Signal, Target
from thawbench.errors import DegenerateError
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.pool import Pool
from thawbench.tasks.set_catalog import known_sets
from thawbench.tasks.trainsets import known_trainsets, load_trainset, trainset_info
from thawbench.tasks.world import held_out_texts, make_world, texts
from thawbench.tasks.world.sets import WORLD_SETS, WorldSet

LABELS, PAIRS, TEXTS, DOCUMENTS = Signal.LABELS, Signal.PAIRS, Signal.TEXTS, Signal.DOCUMENTS
POLARITY = {"negative", "positive"}
COARSE = {"nature", "sport", "science", "household"}
RELATIONS = {"entailment", "neutral", "contradiction"}

# name: signals, classes (None for scores and for no labels), labelled rows
TRAIN_SETS: dict[str, tuple[set[Signal], set[str] | None, int]] = {
    "world/meals": ({LABELS, TEXTS}, POLARITY, 1200),
    "world/films": ({LABELS, TEXTS}, POLARITY, 1200),
    "world/journeys": ({LABELS, TEXTS}, POLARITY, 1200),
    "world/topics": ({LABELS, TEXTS}, COARSE, 1500),
    "world/nli": ({LABELS, PAIRS, TEXTS}, RELATIONS, 2001),
    "world/sts": ({LABELS, PAIRS, TEXTS}, None, 1500),
    "world/texts": ({TEXTS}, None, 0),
    "docs/world": ({DOCUMENTS, TEXTS}, None, 0),
    "corpus/world": ({TEXTS}, None, 0),
}


class Oracle:
    """A head that gives fixed logits, or scores, by input."""

    provides = frozenset({Provides.CLASSES})

    def __init__(self, name: str, target: Target, answers: dict[Input, list[float]]) -> None:
        self.heads = {name: target}
        self._answers = answers

    def predict(self, inputs: list[Input], head: str) -> FloatArray:
        return np.array([self._answers[item] for item in inputs], dtype=np.float32)


def oracle(task: FewShot, rows: tuple[Labelled, ...], *, right: bool) -> Adapted:
    target = task.labelled.splits().target
    if isinstance(target, ClassTarget):
        answers = {row.input: [float(name == row.label) if right else 0.0 for name in target.classes] for row in rows}
    else:
        answers = {row.input: [cast("float", row.score) if right else 1.0] for row in rows}
    return cast("Adapted", Oracle(task.train[0], target, answers))


@pytest.mark.parametrize("name", TRAIN_SETS)
def test_a_train_set_is_planned_and_loaded_with_its_signals_and_classes(name: str) -> None:
    signals, classes, rows = TRAIN_SETS[name]
    info, data = trainset_info(name), load_trainset(name, 0)
    assert info.signals == data.signals == signals
    assert (info.name, info.fingerprint, info.target) == (data.name, data.fingerprint, data.target)
    assert len(data.labelled) + len(data.dev.labelled) == rows
    if classes:
        assert isinstance(data.target, ClassTarget)
        assert set(data.target.classes) == classes == {row.label for row in data.labelled}
    else:
        assert data.target == (ScoreTarget(0.0, 5.0) if rows else None)


@pytest.mark.parametrize("name", [*TRAIN_SETS, "world/topics_fine"])
def test_no_test_text_can_be_reached_from_a_train_set(name: str) -> None:
    data = load_trainset(name, 0)
    found = {*data.texts, *(sentence for document in data.documents for sentence in document)}
    for row in (*data.labelled, *data.dev.labelled):
        found |= {row.input} if isinstance(row.input, str) else {*row.input}
    for pair in (*data.pairs, *data.dev.pairs):
        found |= {pair.a, pair.b}
    assert len(found) > 500
    assert not found & set(held_out_texts(make_world()))


def test_texts_without_labels_are_those_of_the_world() -> None:
    world = make_world()
    assert load_trainset("world/texts", 0).texts == texts(world)
    assert load_trainset("docs/world", 0).documents == world.documents
    assert sorted(load_trainset("corpus/world", 0).texts) == sorted(world.retrieval.corpus.values())


def test_the_pool_of_a_set_is_its_own_train_texts() -> None:
    assert load_trainset("world/meals@20", 0).texts == tuple(row.text for row in make_world().sentiment["meals"].train)


def test_topics_carry_the_way_down_to_their_fine_class() -> None:
    coarse, fine = load_trainset("world/topics", 0), load_trainset("world/topics_fine", 0)
    assert all(row.path[0] == row.label for row in coarse.labelled)
    assert all(row.path[1] == row.label for row in fine.labelled)
    assert isinstance(fine.target, ClassTarget)
    assert len(fine.target.classes) == 12
    metrics = [
        [metric.name for metric in FewShot.resolve(f"world/{name}@100").metrics] for name in ("topics", "topics_fine")
    ]
    assert metrics[1] == [*metrics[0], "coarse_accuracy"]


@pytest.mark.parametrize("name", ["nli", "sts"])
def test_a_pair_and_its_label_stand_in_the_same_row(name: str) -> None:
    data = load_trainset(f"world/{name}@100", 1)
    assert len(data.pairs) == 80
    for pair, row in zip((*data.pairs, *data.dev.pairs), (*data.labelled, *data.dev.labelled), strict=True):
        assert ((pair.a, pair.b), pair.relation, pair.score) == (row.input, row.label, row.score)


def test_a_sample_is_balanced_nested_and_drawn_by_its_seed() -> None:
    small, large, other = (load_trainset(f"world/meals@{n}", seed) for n, seed in ((20, 0), (100, 0), (20, 1)))
    taken = [{row.input for row in (*data.labelled, *data.dev.labelled)} for data in (small, large, other)]
    assert taken[0] < taken[1]
    assert taken[0] != taken[2]
    assert Counter(row.label for row in (*small.labelled, *small.dev.labelled)) == {"negative": 10, "positive": 10}


def test_world_sets_are_listed_as_train_sets_and_as_tasks() -> None:
    assert {*TRAIN_SETS, "world/topics_fine"} <= set(known_trainsets())
    assert set(WORLD_SETS) == {name for name in known_sets() if name.startswith("world/")}
    assert {"sts/world", "ir/world", "fewshot/world/meals@20", "fewshot/world/nli@1000"} <= set(known_tasks())


# name: main metric, what the best constant answer scores, test rows
TASKS = {
    "world/meals@20": ("accuracy", 0.5, 400),
    "world/films@100": ("accuracy", 0.5, 400),
    "world/journeys@100": ("accuracy", 0.5, 400),
    "world/topics@100": ("accuracy", 0.25, 504),
    "world/topics_fine@100": ("accuracy", 1 / 12, 504),
    "world/nli@1000": ("accuracy", 1 / 3, 501),
    "world/sts@100": ("spearman", 0.0, 500),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_head_that_knows_all_gets_all_and_a_constant_one_what_chance_gets(name: str) -> None:
    main, chance, rows = TASKS[name]
    task = resolve_task(f"fewshot/{name}")
    assert isinstance(task, FewShot)
    data = task.load()
    assert task.train == (name,)
    assert (task.labelled.data, task.revision) == ("the embedded world", WorldSet("meals").revision)
    assert [metric.chance for metric in task.metrics if metric.main and metric.name == main] == [pytest.approx(chance)]
    right = task.evaluate([oracle(task, data.test.rows, right=True)], data)
    assert right.scalars == {metric.name: pytest.approx(1.0) for metric in task.metrics}
    assert len(right.rows) == rows
    constant = oracle(task, data.test.rows, right=False)
    if main == "spearman":
        with pytest.raises(DegenerateError, match="every predicted score is 1"):
            task.evaluate([constant], data)
    else:
        found = task.evaluate([constant], data).scalars
        assert found == {metric.name: pytest.approx(metric.chance) for metric in task.metrics}


def test_no_train_row_is_dropped_for_being_a_test_row() -> None:
    pools: list[Pool] = [made.load() for made in WORLD_SETS.values()]
    assert [pool.dropped for pool in pools] == [0] * len(WORLD_SETS)
