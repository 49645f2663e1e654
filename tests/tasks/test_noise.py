"""The noise tasks: worked by hand on an oracle, plug-ins, and whole cells on the embedded world."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, ClassTarget, FloatArray, Input, Target
from thawbench.errors import UserError
from thawbench.registry import noisers
from thawbench.suite.plan import Plan, Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.noise import Noise
from thawbench.tasks.set_catalog import register_set
from thawbench.tasks.text_noise import spoilt
from thawbench.tasks.word_noise import FELT_BY_ALL

CLASSES = ClassTarget(("no", "yes"))


class Translator:
    """A fake way there and back: the first so many words are turned round, and each call is noted."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    calls: ClassVar[list[tuple[int, float, int]]] = []

    def __call__(self, texts: Sequence[str], strength: float, seed: int) -> list[str]:
        self.calls.append((len(texts), strength, seed))
        told = []
        for text in texts:
            words = text.split()
            count = round(strength * len(words))
            told.append(" ".join([*(word[::-1] for word in words[:count]), *words[count:]]))
        return told


@pytest.fixture
def translator() -> Iterator[type[Translator]]:
    noisers.register("there_and_back")(Translator)
    Translator.calls.clear()
    yield Translator
    noisers.unregister("there_and_back")


@dataclass
class Reader:
    """An adaptation that says yes where a text has the word `film`, and keeps what it was asked."""

    heads: Mapping[str, Target] = field(default_factory=lambda: {"mine@6": CLASSES})
    asked: list[Sequence[Input]] = field(default_factory=list)

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        self.asked.append(inputs)
        yes = np.array(["film" in str(item).split() for item in inputs])
        return np.stack([~yes, yes], axis=1).astype(np.float32)


@pytest.fixture(autouse=True)
def _mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mine`: the four test rows of the second class hold the word `film`, first, second, third and last of four."""
    monkeypatch.setattr(set_catalog, "_own", {})
    train = "".join(f"train {row},{'yes' if row % 2 else 'no'}\n" for row in range(10))
    test = "film b c d,yes\na film c d,yes\na b film d,yes\na b c film,yes\na b c d,no\ne f g h,no\n"
    (tmp_path / "train.csv").write_text("text,label\n" + train)
    (tmp_path / "test.csv").write_text("text,label\n" + test)
    (tmp_path / "mine.toml").write_text('file = "train.csv"\ntest_file = "test.csv"\nmetrics = ["accuracy", "mcc"]\n')
    register_set(tmp_path / "mine.toml")
    (tmp_path / "corr.toml").write_text('file = "train.csv"\ntest_file = "test.csv"\nmetrics = ["mcc"]\n')
    register_set(tmp_path / "corr.toml")


def as_adapted(reader: Reader) -> list[Adapted]:
    return [cast("Adapted", reader)]


def test_a_curve_and_its_figures_are_those_worked_by_hand(translator: type[Translator]) -> None:
    task = resolve_task("noise/mine@6:there_and_back=1.0")
    reader = Reader()
    scores = task.evaluate(as_adapted(reader), task.load())

    (curve,) = scores.curves
    assert (curve.name, curve.axis, curve.x) == ("there_and_back", "strength", (0.0, 0.25, 0.5, 1.0))
    assert curve.y == pytest.approx((1, 5 / 6, 4 / 6, 2 / 6))  # the first, two, all four words are turned round
    assert scores.scalars == pytest.approx({"clean": 1.0, "noisy": 2 / 6, "drop": 4 / 6})
    assert [(strength, rows) for rows, strength, _ in translator.calls] == [(0.25, 6), (0.5, 6), (1.0, 6)]
    assert [(row.row, row.gold, row.prediction) for row in scores.rows][5:8] == [
        ("test:5", "no", "no"),
        ("there_and_back=1:test:0", "yes", "no"),
        ("there_and_back=1:test:1", "yes", "no"),
    ]
    assert len(scores.rows) == 12


def test_several_kinds_have_a_curve_each_and_the_main_figure_is_their_mean(translator: type[Translator]) -> None:
    task = resolve_task("noise/mine@6:there_and_back=0.5,case=1")
    scores = task.evaluate(as_adapted(Reader()), task.load())

    assert [curve.name for curve in scores.curves] == ["case", "there_and_back"]
    assert scores.scalars == pytest.approx(
        {"clean": 1.0, "case": 2 / 6, "there_and_back": 4 / 6, "noisy": 3 / 6, "drop": 3 / 6}
    )
    assert set(scores.scalars) == {metric.name for metric in task.metrics}


def test_without_an_option_the_six_kinds_end_at_a_fifth_and_no_plug_in_is_among_them(
    translator: type[Translator],
) -> None:
    task = resolve_task("noise/mine@6")
    assert isinstance(task, Noise)
    scores = task.evaluate(as_adapted(Reader()), task.load())

    assert task.name == "noise/mine@6"
    assert [curve.name for curve in scores.curves] == list(FELT_BY_ALL) == list(task.ends)
    assert {curve.x for curve in scores.curves} == {(0.0, 0.05, 0.1, 0.2)}
    assert not translator.calls


def test_every_strategy_meets_the_same_noise_and_strength_0_is_the_clean_text() -> None:
    first, second = Reader(), Reader()
    for reader in (first, second):
        task = resolve_task("noise/mine@6:typos=1")
        task.evaluate(as_adapted(reader), task.load())

    assert first.asked == second.asked
    assert first.asked[0] == [row.input for row in FewShot.resolve("mine@6").load().test.rows]
    assert first.asked[0] != first.asked[-1]


def test_both_sides_of_a_pair_are_spoilt_and_not_alike() -> None:
    rows = FewShot.resolve("world/nli@1000").load().test.rows
    same = [row.input[0] for row in rows]
    twins = tuple(type(row)((text, text), row.label) for row, text in zip(rows, same, strict=True))
    found = spoilt(twins, "typos", 0.5, "test")

    assert any(row.input[0] != row.input[1] for row in found)
    assert [row.label for row in found] == [row.label for row in twins]
    assert [row.input[0] for row in spoilt(twins, "typos", 0.5, "train")] != [row.input[0] for row in found]


def test_metrics_have_the_bounds_and_the_chance_of_the_set_s_own() -> None:
    noisy, clean, drop = resolve_task("noise/mine@6:typos=0.1").metrics

    assert (noisy.name, noisy.main, noisy.direction, noisy.lower, noisy.chance) == ("noisy", True, "up", 0.0, 4 / 6)
    assert (clean.name, clean.main, clean.chance) == ("clean", False, 4 / 6)
    assert (drop.name, drop.direction, drop.lower, drop.upper, drop.chance) == ("drop", "down", -1.0, 1.0, None)
    wide = resolve_task("noise/corr@6:typos=0.1").metrics
    assert [(metric.lower, metric.upper) for metric in wide] == [(-1.0, 1.0), (-1.0, 1.0), (-2.0, 2.0)]


def test_train_noise_alone_leaves_the_test_rows_clean() -> None:
    task = resolve_task("noise/mine@6:train_labels=0.2,train_typos=0.1")
    scores = task.evaluate(as_adapted(Reader({"mine@6~typos-0.1~labels-0.2": CLASSES})), task.load())

    assert task.train == ("mine@6~typos-0.1~labels-0.2",)
    assert [(metric.name, metric.main) for metric in task.metrics] == [("clean", True)]
    assert (scores.scalars, scores.curves) == ({"clean": 1.0}, ())


def test_options_are_part_of_the_name_in_one_spelling() -> None:
    spelled = [resolve_task(f"noise/mine@6:{given}") for given in ("typos=0.10,case=1", "case=1.0,typos=0.1")]

    assert {task.name for task in spelled} == {"noise/mine@6:case=1,typos=0.1"}
    assert resolve_task(spelled[0].name).name == spelled[0].name
    both = resolve_task("noise/mine@6:train_labels=0.2,typos=0.1")
    assert (both.name, both.train) == ("noise/mine@6:typos=0.1,train_labels=0.2", ("mine@6~labels-0.2",))


def test_a_noiser_of_another_version_makes_another_task(translator: type[Translator]) -> None:
    first = resolve_task("noise/mine@6:there_and_back=0.5").fingerprint()
    translator.version = 2

    assert resolve_task("noise/mine@6:there_and_back=0.5").fingerprint() != first


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("noise/mine@6:typo=0.1", "unknown option of task noise/mine@6 'typo'; did you mean typos"),
        ("noise/mine@6:train_label=0.1", "did you mean train_labels"),
        ("noise/mine@6:typos=1.5", "noise/mine@6: typos must be a number from 0 to 1, and is 1.5"),
        ("noise/mine@6:typos=much", "must be a number from 0 to 1, and is much"),
        ("noise/mine@6:train_case=0", "train_case=0 spoils nothing; ask for fewshot/mine@6"),
        ("noise/min@6", "did you mean mine"),
    ],
)
def test_mistakes_are_told_in_one_line(name: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        resolve_task(name)
    assert "\n" not in str(error.value)


def test_a_noiser_that_loses_a_text_is_named(translator: type[Translator], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator, "__call__", lambda self, texts, strength, seed: list(texts)[1:])

    with pytest.raises(UserError, match="the text noiser there_and_back gave 5 texts for 6"):
        resolve_task("noise/mine@6:there_and_back=0.5").load()


def test_every_noise_task_in_the_listing_can_be_resolved() -> None:
    listed = [name for name in known_tasks() if name.startswith("noise/")]

    assert len(listed) == 4
    assert [resolve_task(name).name for name in listed] == listed


# ---- whole cells: the embedded world, an encoder of two layers ------------------------------------------------------


def planned(folder: Path, strategies: tuple[str, ...], *tasks: str) -> Plan:
    return make_plan(
        Request(strategies=strategies, tasks=tasks, backbone=str(folder), precision="float32", budget=Budget(steps=5))
    )


def run(plan: Plan, results: Path) -> dict[tuple[str, str], Record]:
    runner = Runner(results, plan.cells)
    return {(cell.strategy, cell.task_name): runner.run(cell).record for cell in plan.cells}


def value(record: Record, name: str) -> float:
    found = record.metric(name)
    assert record.status == "ok", record
    assert found is not None
    assert found.value is not None
    return found.value


def test_strength_0_is_the_few_shot_score_to_the_bit_out_of_the_same_adaptation(
    tiny_folder: Path, tmp_path: Path
) -> None:
    strategies = ("frozen", "finetune:lr=1e-3")
    noise = "noise/world/meals@20:order=0.5,typos=0.2"
    plan = planned(tiny_folder, strategies, "fewshot/world/meals@20", noise)
    records = run(plan, tmp_path)

    assert plan.adaptations == len(strategies)
    for strategy in strategies:
        clean = value(records[strategy, "fewshot/world/meals@20"], "accuracy")
        noisy = records[strategy, noise]
        assert value(noisy, "clean") == clean
        assert {curve.y[0] for curve in noisy.curves} == {clean}
        assert value(noisy, "drop") == pytest.approx(clean - value(noisy, "noisy"))


def test_a_majority_is_flat_and_words_counted_in_lower_case_see_neither_order_nor_case(
    tiny_folder: Path, tmp_path: Path
) -> None:
    task = "noise/world/meals@20:case=0.2,deletions=0.2,order=0.2"
    records = run(planned(tiny_folder, ("majority", "tfidf"), task), tmp_path)
    constant, counted = (records[strategy, task] for strategy in ("majority", "tfidf"))

    assert value(constant, "drop") == 0.0
    assert all(set(curve.y) == {value(constant, "clean")} for curve in constant.curves)
    flat = {curve.name for curve in counted.curves if len(set(curve.y)) == 1}
    assert {"order", "case"} <= flat
    assert "deletions" not in flat


def test_train_noise_is_learnt_from_and_keys_the_fit(tiny_folder: Path, tmp_path: Path) -> None:
    tasks = ("fewshot/world/topics@40", "noise/world/topics@40:train_labels=1", "noise/world/topics@40:train_typos=0.5")
    plan = planned(tiny_folder, ("frozen",), *tasks)
    records = run(plan, tmp_path)

    assert plan.adaptations == 3
    assert len({cell.key for cell in plan.cells}) == 3
    clean, wrong, _ = (records["frozen", task] for task in tasks)
    assert value(wrong, "clean") < value(clean, "accuracy")


def test_train_noise_does_not_go_with_a_train_set_of_the_caller(tiny_folder: Path) -> None:
    with pytest.raises(UserError, match="names its train sets itself; leave out train=world/films@20"):
        planned(tiny_folder, ("frozen",), "noise/world/meals@20:train_labels=0.2,train=world/films@20")


def test_labels_spoilt_in_no_row_are_no_noise(tiny_folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"world/meals~labels-0\.02: 0\.02 of 20 rows spoils no label; take more of either"
    ):
        planned(tiny_folder, ("frozen",), "noise/world/meals@20:train_labels=0.02")


def test_a_strength_of_minus_nothing_is_nothing() -> None:
    assert resolve_task("noise/mine@6:typos=-0").name == resolve_task("noise/mine@6:typos=0").name


def test_the_spelled_name_holds_the_options_once_and_the_train_set_after_them(tiny_folder: Path) -> None:
    (cell,) = planned(tiny_folder, ("frozen",), "noise/world/meals@20:train=world/films@20,typos=0.10").cells

    assert cell.task_name == "noise/world/meals@20:typos=0.1,train=world/films@20"
    assert cell.task.name == "noise/world/meals@20:typos=0.1"
