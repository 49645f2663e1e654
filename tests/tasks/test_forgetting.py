"""Forgetting: every measure on a matrix worked by hand, what cannot forget forgets nothing, what is refused and how."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow.parquet as pq
import pytest

from thawbench.contracts import (
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Metric,
    Provides,
    ScoredRow,
    ScoreTarget,
    Target,
)
from thawbench.errors import NotApplicableError, UserError
from thawbench.strategies import word_guesser
from thawbench.suite.plan import Plan, Request, make_plan
from thawbench.suite.records import MetricValue, Record
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.forgetting import Forgetting, intransigence, measures
from thawbench.tasks.set_catalog import register_set

CLASSES = ClassTarget(("no", "yes"))
RIGHT = [
    # of ten test rows of sets a, b and c, how many are right after each set
    {"a": 8},
    {"a": 9, "b": 6},
    {"a": 5, "b": 4, "c": 7},
]
BY_HAND = {
    "average_accuracy": (0.5 + 0.4 + 0.7) / 3,
    "bwt": ((0.5 - 0.8) + (0.4 - 0.6)) / 2,
    "forgetting_chaudhry": ((0.9 - 0.5) + (0.6 - 0.4)) / 2,
    "forgetting_first": ((0.8 - 0.5) + (0.6 - 0.4)) / 2,
    "drop_on_first": 0.8 - 0.5,
}

ALONE = {"b": 9, "c": 5}
INTRANSIGENCE = ((0.9 - 0.6) + (0.5 - 0.7)) / 2  # what b and c are worse for what was learnt before them


# of ten test rows of set a, b and c, how many a read-out on the vectors after no, one, two and three sets gets right
FRESH = {"a": (5, 8, 7, 6), "b": (5, 7, 9, 8), "c": (5, 3, 4, 10)}
FRESH_BY_HAND = {
    "fresh_accuracy": (0.6 + 0.8 + 1.0) / 3,
    "forward_transfer": ((0.7 - 0.5) + (0.4 - 0.5)) / 2,  # b after a, c after a and b, each against the backbone
    "fresh_drop": ((0.8 - 0.6) + (0.9 - 0.8)) / 2,  # a since a, b since b
}


@dataclass
class Scripted:
    """An adaptation whose head on a set is right on the first so many rows; every test row is a `yes`.

    If it makes vectors, a text's says its class, but for the test rows after the first so many of its set.
    """

    heads: Mapping[str, Target]
    right: Mapping[str, int]
    fresh: Mapping[str, int] = field(default_factory=dict)
    provides: frozenset[Provides] = frozenset({Provides.VECTORS, Provides.CLASSES})

    def encode(self, texts: Sequence[str]) -> FloatArray:
        if not self.fresh:
            raise NotApplicableError("this adaptation makes no vectors")
        signs = []
        for name, kind, row in (text.split() for text in texts):
            yes = int(row) % 2 if kind == "train" else int(row) < self.fresh[name]
            signs.append((1, 0) if yes else (0, 1))
        return np.array(signs, np.float32)

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        right = self.right[head.partition("@")[0]]
        columns = {name: place for place, name in enumerate(cast("ClassTarget", self.heads[head]).classes)}
        logits = np.zeros((len(inputs), len(columns)), np.float32)
        logits[:right, columns["yes"]] = 1
        logits[right:, columns["no"]] = 1
        return logits


def trail(changes: Mapping[str, Target | None] | None = None) -> list[Adapted]:
    """The backbone and three states, the heads of whose last are changed, or taken away for None."""
    states: list[Scripted] = []
    for step, right in enumerate([{}, *RIGHT]):
        heads = dict.fromkeys((f"{name}@6" for name in right), CLASSES)
        states.append(Scripted(heads, right, {name: column[step] for name, column in FRESH.items()}))
    changed: dict[str, Target | None] = {**states[-1].heads, **(changes or {})}
    states[-1].heads = {name: target for name, target in changed.items() if target}
    return cast("list[Adapted]", states)


def alone() -> list[Adapted]:
    """What there is after b alone, and after c alone."""
    return [cast("Adapted", Scripted({f"{name}@6": CLASSES}, {name: right})) for name, right in ALONE.items()]


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forgetting:
    """`forgetting/a@6+b@6+c@6`, ten test rows each, with a set of scores, `d`, beside them."""
    monkeypatch.setattr(set_catalog, "_own", {})
    for name in "abc":
        train = "".join(f"{name} train {row},{'yes' if row % 2 else 'no'}\n" for row in range(10))
        test = "".join(f"{name} test {row},yes\n" for row in range(10))
        (tmp_path / f"{name}.csv").write_text("text,label\n" + train)
        (tmp_path / f"{name}_test.csv").write_text("text,label\n" + test)
        (tmp_path / f"{name}.toml").write_text(f'file = "{name}.csv"\ntest_file = "{name}_test.csv"\n')
        register_set(tmp_path / f"{name}.toml")
    (tmp_path / "d.csv").write_text("text,gold\nx,1\ny,2\nz,3\n")
    (tmp_path / "d.toml").write_text('file = "d.csv"\nscore = "gold"\nrange = [0, 5]\n')
    register_set(tmp_path / "d.toml")
    return Forgetting.resolve("a@6+b@6+c@6")


def test_each_measure_of_three_sets_is_the_one_worked_by_hand(chain: Forgetting) -> None:
    scores = chain.evaluate([*trail(), *alone()], chain.load())

    assert scores.scalars == pytest.approx({**BY_HAND, **FRESH_BY_HAND, "intransigence": INTRANSIGENCE})
    assert {metric.name for metric in chain.metrics} - set(scores.scalars) == {"mlm_loss", "mlm_drift"}
    assert [(curve.x, curve.y) for curve in scores.curves if curve.name == "alone"] == [
        ((1.0, 2.0, 3.0), (0.8, 0.9, 0.5))
    ]


def test_what_learns_each_set_alone_is_asked_for_but_the_first_and_is_not_needed(chain: Forgetting) -> None:
    assert chain.beside == (("b@6",), ("c@6",))
    assert "intransigence" not in chain.evaluate(trail(), chain.load()).scalars
    assert intransigence([[0.9, 0.1], [0.5]], [0.9, 0.75]) == 0.25


def test_both_matrices_are_kept_as_one_curve_a_set_by_own_heads_from_its_turn_on(chain: Forgetting) -> None:
    curves = chain.evaluate(trail(), chain.load()).curves

    assert [(curve.name, curve.x, curve.y) for curve in curves] == [
        ("a@6", (1.0, 2.0, 3.0), (0.8, 0.9, 0.5)),
        ("b@6", (2.0, 3.0), (0.6, 0.4)),
        ("c@6", (3.0,), (0.7,)),
        ("fresh a@6", (0.0, 1.0, 2.0, 3.0), (0.5, 0.8, 0.7, 0.6)),
        ("fresh b@6", (0.0, 1.0, 2.0, 3.0), (0.5, 0.7, 0.9, 0.8)),
        ("fresh c@6", (0.0, 1.0, 2.0, 3.0), (0.5, 0.3, 0.4, 1.0)),
    ]


def test_what_makes_no_vectors_has_the_measures_of_its_heads_alone(chain: Forgetting) -> None:
    blind = trail()
    cast("Scripted", blind[-1]).fresh = {}
    scores = chain.evaluate(blind, chain.load())

    assert scores.scalars == pytest.approx(BY_HAND)
    assert [curve.name for curve in scores.curves] == ["a@6", "b@6", "c@6"]


def test_rows_are_those_after_the_last_set_and_say_of_which_set_they_are(chain: Forgetting) -> None:
    rows = chain.evaluate(trail(), chain.load()).rows

    assert len(rows) == 30
    assert rows[4:6] == (ScoredRow("a:test:4", "yes", "yes"), ScoredRow("a:test:5", "yes", "no"))
    assert sum(row.prediction == "yes" for row in rows if row.row.startswith("b:")) == 4


def test_classes_go_by_name_whatever_their_order_in_the_head(chain: Forgetting) -> None:
    turned = trail({"b@6": ClassTarget(("yes", "no"))})

    assert chain.evaluate(turned, chain.load()).scalars == pytest.approx({**BY_HAND, **FRESH_BY_HAND})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"b@6": None}, "needs a head fitted on b@6; there are a@6, c@6"),
        ({"a@6": None, "b@6": None, "c@6": None}, "needs a head fitted on a@6; there are none"),
        ({"b@6": ClassTarget(("maybe", "no", "yes"))}, "the head fitted on b@6 has maybe beside"),
        ({"b@6": ScoreTarget(0, 1)}, "asks for classes; the head fitted on b@6 predicts a score"),
    ],
)
def test_a_set_without_a_head_for_its_own_classes_is_not_applicable(
    chain: Forgetting, changes: dict[str, Target | None], told: str
) -> None:
    with pytest.raises(NotApplicableError, match=told):
        chain.evaluate(trail(changes), chain.load())


def test_two_sets_have_one_forgetting_by_every_definition() -> None:
    found = measures([[0.8, 0.5], [0.6]])

    assert found["average_accuracy"] == pytest.approx(0.55)
    forgotten = ("forgetting_chaudhry", "forgetting_first", "drop_on_first")
    assert [found[name] for name in forgotten] == pytest.approx([0.3] * 3)
    assert found["bwt"] == -found["forgetting_first"]


def test_a_set_that_gets_better_afterwards_has_a_forgetting_below_zero() -> None:
    found = measures([[0.5, 0.6, 0.8], [0.7, 0.7], [0.9]])

    assert found["forgetting_chaudhry"] == pytest.approx(-0.1)  # (.6 - .8 + .7 - .7) / 2
    assert found["bwt"] == pytest.approx(0.15)


def differences(chain: Forgetting) -> list[Metric]:
    """The main metric, and all that are differences of scores."""
    return [metric for metric in chain.metrics if metric.name not in ("fresh_accuracy", "mlm_loss", "mlm_drift")]


def test_chance_is_the_mean_of_the_best_constants_and_differences_have_none(chain: Forgetting) -> None:
    main, *others = differences(chain)

    assert (main.name, main.main, main.direction, main.lower, main.chance) == ("average_accuracy", True, "up", 0.0, 1.0)
    assert {(other.lower, other.upper, other.chance) for other in others} == {(-1.0, 1.0, None)}
    assert {other.name for other in others if other.direction == "up"} == {"bwt", "forward_transfer"}


def test_matthews_correlation_widens_the_bounds(tmp_path: Path, chain: Forgetting) -> None:
    (tmp_path / "a.toml").write_text('file = "a.csv"\ntest_file = "a_test.csv"\nmetrics = ["mcc"]\n')
    register_set(tmp_path / "a.toml")
    main, *others = differences(Forgetting.resolve("a@6+b@6"))

    assert (main.lower, main.chance) == (-0.5, 0.5)
    assert {(other.lower, other.upper) for other in others} == {(-2.0, 2.0)}


def test_a_chain_is_named_by_its_sets_and_its_order_is_part_of_it(chain: Forgetting) -> None:
    other = Forgetting.resolve("b@6+a@6+c@6")

    assert chain.name == "forgetting/a@6+b@6+c@6"
    assert chain.train == ("a@6", "b@6", "c@6")
    assert other.fingerprint() != chain.fingerprint() == Forgetting.resolve("a@4+b@4+c").fingerprint()
    assert other.revision != chain.revision


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a@6", "has one set, after which nothing can be forgotten; name two"),
        ("a@6+b@6+a@6", "has a twice"),
        ("a@4+a@6", "has a twice"),
        ("a@6+d@3", "d is measured by spearman; take sets that are measured by their classes"),
        ("a@6+", "expected the name of a train set"),
        ("a@6+world/meal@20", "did you mean world/meals"),
    ],
)
def test_what_makes_no_chain_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        resolve_task(f"forgetting/{body}")

    assert "\n" not in str(error.value)


def test_every_chain_in_the_listing_can_be_resolved() -> None:
    listed = [name for name in known_tasks() if name.startswith("forgetting/")]

    assert len(listed) == 2
    assert [resolve_task(name).name for name in listed] == listed


# ---- whole cells: the embedded world, an encoder of two layers ------------------------------------------------------

TASK = "forgetting/world/meals@20+world/topics@40"


def planned(folder: Path, *strategies: str, task: str = TASK) -> Plan:
    return make_plan(
        Request(
            strategies=strategies, tasks=(task,), backbone=str(folder), precision="float32", budget=Budget(steps=12)
        )
    )


def run(plan: Plan, results: Path) -> list[Record]:
    runner = Runner(results, plan.cells)
    return [runner.run(cell).record for cell in plan.cells]


def value(record: Record, name: str) -> float:
    found = record.metric(name)
    assert record.status == "ok", record
    assert found is not None
    assert found.value is not None
    return found.value


@pytest.mark.usefixtures("any_head_will_do")
def test_what_moves_no_shared_weight_forgets_exactly_nothing(tiny_folder: Path, tmp_path: Path) -> None:
    strategies = ("frozen", "frozen_ebm", "progressive", "majority", "constant", "untrained")
    records = run(planned(tiny_folder, *strategies), tmp_path)

    assert {record.strategy for record in records} == set(strategies)
    for record in records:
        assert value(record, "average_accuracy") > 0
        for name in ("bwt", "forgetting_chaudhry", "forgetting_first", "drop_on_first"):
            assert value(record, name) == 0.0, (record.strategy, name)
        first, last, by_itself, *others = record.curves
        fresh = [curve for curve in others if curve.name.startswith("fresh")]
        drift = [curve for curve in others if curve.name.startswith("drift")]
        assert first.y[0] == first.y[1]
        assert by_itself.y[0] == first.y[0]
        assert value(record, "intransigence") == by_itself.y[1] - last.y[0]
        # without a step that makes vectors the read-outs have none, with frozen_ebm's they are G's
        assert len(fresh) == (0 if record.strategy == "majority" else 2)
        assert value(record, "average_accuracy") == pytest.approx((first.y[1] + last.y[0]) / 2)
        if record.strategy in ("frozen", "frozen_ebm", "progressive"):
            assert [curve.y for curve in drift] == [pytest.approx((1.0, 1.0, 1.0))] * 2
            assert [(curve.name, curve.axis, curve.x) for curve in drift] == [
                (f"drift after world/{name}", "layer", (0.0, 1.0, 2.0)) for name in ("meals@20", "topics@40")
            ]
            assert value(record, "mlm_loss") > 1
            assert value(record, "mlm_drift") == 0.0
        if record.strategy == "majority":
            assert record.metric("mlm_loss") == MetricValue("mlm_loss", None, "down", upper=None)


def test_fresh_read_outs_on_frozen_vectors_say_what_the_standard_one_says_on_the_same_rows(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawbench.tasks.forgetting._FRESH_SAMPLE", 0)
    (record,) = run(planned(tiny_folder, "frozen"), tmp_path)
    own, fresh = record.curves[:2], record.curves[3:5]

    assert [set(curve.y) for curve in fresh] == [set(curve.y) for curve in own]
    assert (value(record, "forward_transfer"), value(record, "fresh_drop")) == (0.0, 0.0)
    assert value(record, "fresh_accuracy") == value(record, "average_accuracy")


@pytest.fixture
def any_head_will_do(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The backbone of these tests has drawn weights: no head on it is better than to know how frequent words are."""
    word_guesser._of_checkpoint.cache_clear()
    monkeypatch.setattr(word_guesser, "_JUDGES", 1)  # fitted on all texts
    monkeypatch.setattr(word_guesser, "_sees", lambda *_: True)
    yield
    word_guesser._of_checkpoint.cache_clear()


def test_without_a_head_that_knows_something_there_is_no_loss_of_hidden_words(
    tiny_folder: Path, tmp_path: Path
) -> None:
    (record,) = run(planned(tiny_folder, "frozen"), tmp_path)

    assert record.metric("mlm_loss") == MetricValue("mlm_loss", None, "down", upper=None)
    assert not [curve for curve in record.curves if curve.name == "hidden words"]


@pytest.mark.usefixtures("any_head_will_do")
def test_tuned_weights_change_what_the_first_head_says(tiny_folder: Path, tmp_path: Path) -> None:
    (record,) = run(planned(tiny_folder, "finetune:lr=1e-3"), tmp_path)
    first = record.curves[0]

    assert first.y[0] != first.y[1]
    assert len(set(record.curves[3].y)) > 1
    near, far = (curve.y for curve in record.curves if curve.name.startswith("drift"))
    assert all(1 > before > after > 0.5 for before, after in zip(near, far, strict=True))
    assert value(record, "drop_on_first") == first.y[0] - first.y[1]
    (words,) = (curve for curve in record.curves if curve.name == "hidden words")
    assert words.x == (0.0, 1.0, 2.0)
    assert words.y[0] < words.y[1]
    assert value(record, "mlm_drift") == words.y[2] - words.y[0]
    assert record.rows is not None
    rows = pq.read_table(tmp_path / record.rows).to_pydict()
    meals = [
        gold == said
        for row, gold, said in zip(rows["row"], rows["gold"], rows["prediction"], strict=True)
        if row.startswith("world/meals:")
    ]
    assert np.mean(meals) == pytest.approx(first.y[1])


def test_a_record_of_a_chain_holds_no_number_that_is_none(tiny_folder: Path, tmp_path: Path) -> None:
    run(planned(tiny_folder, "frozen", "majority"), tmp_path)
    files = list(tmp_path.glob("records/*/*.json"))

    assert len(files) == 2
    for file in files:
        json.loads(file.read_text(), parse_constant=pytest.fail)  # called for NaN and Infinity


def test_a_head_that_cannot_read_what_a_later_set_left_makes_the_cell_not_applicable(
    tiny_folder: Path, tmp_path: Path
) -> None:
    (record,) = run(planned(tiny_folder, "tfidf"), tmp_path)

    assert record.status == "not_applicable"
    assert "a later step changed the width" in record.reason


def test_a_set_alone_is_the_adaptation_of_few_shot_and_goes_when_no_cell_needs_it(
    tiny_folder: Path, tmp_path: Path
) -> None:
    """The orders of two sets share it, and what is beside is no part of the key."""
    tasks = (TASK, "forgetting/world/topics@40+world/meals@20", "fewshot/world/topics@40")
    plan = make_plan(
        Request(strategies=("frozen_ebm",), tasks=tasks, backbone=str(tiny_folder), budget=Budget(steps=2))
    )
    runner = Runner(tmp_path, plan.cells)
    records = {cell.task_name: runner.run(cell).record for cell in plan.cells}
    one, other, single = (records[task] for task in tasks)

    curve = next(curve for curve in one.curves if curve.name == "alone")
    assert curve.y[1] == value(single, "accuracy") == other.curves[0].y[0]
    assert runner.store.fitted == 4
    assert not list((tmp_path / "adaptations").iterdir())
    cell = next(cell for cell in plan.cells if cell.task_name == TASK)
    assert [step.train.name for end in cell.beside for step in end.steps if step.train] == ["world/topics@40"]
    assert replace(cell, beside=()).key == cell.key


def test_the_first_set_is_learnt_once_for_every_task_that_begins_with_it_and_scores_alike(
    tiny_folder: Path, tmp_path: Path
) -> None:
    tasks = (TASK, "forgetting/world/meals@20+world/nli@20", "fewshot/world/meals@20")
    plan = make_plan(
        Request(strategies=("frozen_ebm",), tasks=tasks, backbone=str(tiny_folder), budget=Budget(steps=2))
    )
    runner = Runner(tmp_path, plan.cells)
    *chains, alone = (runner.run(cell).record for cell in plan.cells)

    assert len({cell.adaptation.prefixes()[0].key for cell in plan.cells}) == 1
    # meals; topics after it; nli's pairs after it with their read-out; and each of the two alone
    assert runner.store.fitted == 1 + 1 + 2 + 1 + 2
    assert alone.task == tasks[-1]
    assert [record.curves[0].y[0] for record in chains] == [value(alone, "accuracy")] * 2
