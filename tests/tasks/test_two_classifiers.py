"""Two classifiers in succession: each number by hand, the test beside scipy's, what is refused, whole cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from scipy import stats

from thawbench.contracts import Adapted, Budget, ClassTarget, FloatArray, Input, ScoredRow, Target
from thawbench.errors import NotApplicableError, UserError
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.set_catalog import register_set
from thawbench.tasks.two_classifiers import TwoClassifiers, chance_of

CLASSES = ClassTarget(("no", "yes"))


@dataclass
class Says:
    """An adaptation whose head on a set says `yes` to the test rows of these numbers."""

    yes: Mapping[str, frozenset[int]]

    @property
    def heads(self) -> Mapping[str, Target]:
        return {f"{name}@6": CLASSES for name in self.yes}

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        said = [int(str(item).split()[-1]) in self.yes[head[0]] for item in inputs]
        return np.array([[not yes, yes] for yes in said], np.float32)


def trail(after_one: Mapping[str, Sequence[int]], after_two: Mapping[str, Sequence[int]]) -> list[Adapted]:
    states = [Says({name: frozenset(rows) for name, rows in state.items()}) for state in ({}, after_one, after_two)]
    return cast("list[Adapted]", states)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoClassifiers:
    """`two_classifiers/a@6+b@6`; of ten test rows of each the first six are `yes`."""
    monkeypatch.setattr(set_catalog, "_own", {})
    for name in "abc":
        train = "".join(f"{name} train {row},{'yes' if row % 2 else 'no'}\n" for row in range(10))
        test = "".join(f"{name} test {row},{'yes' if row < 6 else 'no'}\n" for row in range(10))
        (tmp_path / f"{name}.csv").write_text("text,label\n" + train)
        (tmp_path / f"{name}_test.csv").write_text("text,label\n" + test)
        (tmp_path / f"{name}.toml").write_text(f'file = "{name}.csv"\ntest_file = "{name}_test.csv"\n')
        register_set(tmp_path / f"{name}.toml")
    return TwoClassifiers.resolve("a@6+b@6")


def test_each_number_is_the_one_worked_by_hand(task: TwoClassifiers) -> None:
    # before, 0 to 5 and so all ten are right; after, 0, 1 and 9 are yes: 2 to 5 and 9 are lost
    scores = task.evaluate(trail({"a": range(6)}, {"a": (0, 1, 9), "b": range(9)}), task.load())

    assert scores.scalars == pytest.approx(
        {
            "before": 1.0,
            "after": 0.5,
            "drop": 0.5,
            "relative_drop": 1 - (0.5 - 0.6) / (1 - 0.6),
            "lost": 0.5,
            "gained": 0.0,
            "p_value": 0.5**5,
            "second": 0.7,
        }
    )
    assert set(scores.scalars) == {metric.name for metric in task.metrics}
    assert scores.rows[2] == ScoredRow("before:test:2", "yes", "yes")
    assert scores.rows[12] == ScoredRow("after:test:2", "yes", "no")


def test_rows_that_change_both_ways_are_told_apart_where_the_drop_is_nothing(task: TwoClassifiers) -> None:
    scores = task.evaluate(trail({"a": (0, 1, 2, 3, 4)}, {"a": (0, 1, 2, 3, 5), "b": ()}), task.load()).scalars

    assert (scores["drop"], scores["lost"], scores["gained"]) == (0.0, 0.1, 0.1)
    assert scores["p_value"] == 0.75  # one head or more in two throws


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (0, 3), (3, 0), (7, 2), (40, 25), (600, 400)])
def test_the_test_is_scipys_one_sided_binomial_test(lost: int, gained: int) -> None:
    expected = stats.binomtest(lost, lost + gained, alternative="greater").pvalue if lost + gained else 1.0

    assert chance_of(lost, gained) == pytest.approx(expected)


def test_what_is_after_counts_and_chance_is_the_best_constants(task: TwoClassifiers) -> None:
    metrics = {metric.name: metric for metric in task.metrics}

    assert [metric.name for metric in task.metrics if metric.main] == ["after"]
    assert [metrics[name].chance for name in ("before", "after", "second", "drop")] == [0.6, 0.6, 0.6, None]
    assert {name for name, metric in metrics.items() if metric.direction == "down"} == {"drop", "relative_drop", "lost"}


def test_the_first_head_must_still_be_there(task: TwoClassifiers) -> None:
    with pytest.raises(NotApplicableError, match="needs a head fitted on a@6; there are b@6"):
        task.evaluate(trail({"a": range(6)}, {"b": ()}), task.load())


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a@6", "has one set, after which nothing can be forgotten; name two, as in two_classifiers/sst2@100"),
        ("a@6+b@6+c@6", "has 3 sets; two make this test, more go into forgetting/"),
        ("a@6+a@4", "has a twice"),
    ],
)
def test_what_makes_no_test_of_two_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        resolve_task(f"two_classifiers/{body}")

    assert "\n" not in str(error.value)


def test_every_test_in_the_listing_can_be_resolved() -> None:
    listed = [name for name in known_tasks() if name.startswith("two_classifiers/")]

    assert len(listed) == 2
    assert [resolve_task(name).name for name in listed] == listed


def test_on_one_chain_it_measures_the_adaptations_of_forgetting_and_the_same_drop(
    tiny_folder: Path, tmp_path: Path
) -> None:
    sets = "world/meals@20+world/topics@40"
    plan = make_plan(
        Request(
            strategies=("finetune:lr=1e-3", "frozen"),
            tasks=(f"forgetting/{sets}", f"two_classifiers/{sets}"),
            backbone=str(tiny_folder),
            precision="float32",
            budget=Budget(steps=12),
        )
    )
    runner = Runner(tmp_path, plan.cells)
    found: dict[tuple[str, str], Record] = {}
    for cell in plan.cells:
        found[cell.strategy, cell.task.family] = runner.run(cell).record

    assert {record.status for record in found.values()} == {"ok"}
    for strategy in ("finetune:lr=1e-3", "frozen"):
        mine, its = found[strategy, "two_classifiers"], found[strategy, "forgetting"]
        assert mine.cell["adaptation"] == its.cell["adaptation"]
        assert number(mine, "drop") == number(its, "drop_on_first")
        assert (number(mine, "before"), number(mine, "after")) == its.curves[0].y
        assert number(mine, "lost") - number(mine, "gained") == pytest.approx(number(mine, "drop"))
    assert number(found["finetune:lr=1e-3", "two_classifiers"], "lost") > 0
    assert number(found["frozen", "two_classifiers"], "drop") == 0.0
    assert number(found["frozen", "two_classifiers"], "p_value") == 1.0


def number(record: Record, name: str) -> float:
    found = record.metric(name)
    assert found is not None
    assert found.value is not None
    return found.value
