"""Train sets that hold test rows of a task: the table, and that its counts are those of the data."""

import csv
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from thawbench.contracts import Input, Task
from thawbench.errors import NotApplicableError
from thawbench.names import parse_task
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.runner import Runner
from thawbench.tasks import set_catalog
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.leaks import Asked, Asking, check_unseen, leak
from thawbench.tasks.senteval_rows import RECIPES, read
from thawbench.tasks.set_catalog import register_set
from thawbench.tasks.trainsets import load_trainset


def test_a_train_set_that_holds_test_rows_is_named_with_how_many() -> None:
    said = "stsb holds 196 of the 1,186 test rows of sts/STS16; adapt to another set"
    assert leak("sts/STS16", "stsb") == said
    assert leak("sts/STS16", "stsb@100") == said
    for task in ("fewshot/sst2@20", "noise/sst2@20:typos=0.1", "layers/sst2"):
        assert leak(task, "rotten_tomatoes@100").startswith("rotten_tomatoes holds 731 of the 872")


@pytest.mark.parametrize("train", ["rotten_tomatoes~typos-0.1", "rotten_tomatoes@100~labels-0.2~typos-0.1"])
@pytest.mark.parametrize("task", ["fewshot/sst2", "noise/sst2:typos=0.1", "noise/sst2:train_labels=0.1"])
def test_noise_on_either_side_hides_no_row(task: str, train: str) -> None:
    assert leak(task, train) == f"rotten_tomatoes holds 731 of the 872 test rows of {task}; adapt to another set"


@pytest.mark.parametrize(
    "task", ["forgetting/ag_news@100+sst2@100", "two_classifiers/sst2@100+rotten_tomatoes@100", "shift/imdb@20~sst2"]
)
def test_of_several_sets_the_one_whose_rows_are_read_is_named(task: str) -> None:
    said = f"rotten_tomatoes holds 731 of the 872 test rows of sst2 in {task}; adapt to another set"
    assert leak(task, "rotten_tomatoes@100") == said
    assert not leak(task, "emotion@100")


@pytest.mark.parametrize(
    ("task", "train"), [("sts/STS16", "nli"), ("sts/STSBenchmark", "stsb"), ("fewshot/sst2@20", "sst2@20")]
)
def test_all_else_may_be_measured(task: str, train: str) -> None:
    assert not leak(task, train)


def test_folds_that_test_train_rows_are_not_for_who_was_tuned_on_them() -> None:
    assert leak("senteval/mr", "rotten_tomatoes@100").startswith("rotten_tomatoes holds 8,530 of the 10,662 test rows")
    assert leak("senteval/subj", "subj@1000")
    assert not leak("senteval/subj", "nli")


def keys(rows: Iterable[Input]) -> list[frozenset[str]]:
    return [frozenset(re.sub(r"\W+", "", t.lower()) for t in ([row] if isinstance(row, str) else row)) for row in rows]


def rows_of(task: str) -> list[Input]:
    """The test rows of a task, as the task itself reads them."""
    family, _, body = task.partition("/")
    if family == "senteval":
        recipe = RECIPES[body]
        return [row.input for row in read(recipe.test or recipe.train).rows]
    data = resolve_task(parse_task(task)).load().task.dataset["test"]
    return list(zip(data["sentence1"], data["sentence2"], strict=True))


@pytest.mark.hub
@pytest.mark.parametrize(
    ("task", "train"),
    [
        ("sts/STS12", "stsb"),
        ("sts/STS16", "stsb"),
        ("sts/STS12", "mrpc"),
        ("sts/STSBenchmark", "mrpc"),
        ("senteval/mr", "sst5"),
        ("senteval/sst2", "rotten_tomatoes"),
        ("senteval/subj", "subj"),
        ("senteval/mpqa", "mpqa"),
        ("senteval/mpqa", "sst2"),
        ("senteval/mrpc", "stsb"),
    ],
)
def test_the_counts_are_those_of_the_data(task: str, train: str) -> None:
    if not os.environ.get("HF_ENDPOINT"):
        pytest.skip("needs a Hub mirror: HF_ENDPOINT")
    pool = load_trainset(train, 0)
    known = set(keys(row.input for part in (pool, pool.dev) for row in part.labelled))
    rows = keys(rows_of(task))
    found = sum(row in known for row in rows)
    assert f"{found:,} of the {len(rows):,} test rows" in leak(task, train)


# ---- a user's own sets ----------------------------------------------------------------------------------------------

TASKS = {
    "fewshot/world/meals@20": "world/meals",
    "noise/world/meals@20:typos=0.2": "world/meals",
    "layers/world/meals@20": "world/meals",
    "shift/world/meals~world/meals": "world/meals",
    "forgetting/world/topics@20+world/meals@20": "world/meals",
    "two_classifiers/world/topics@20+world/meals@20": "world/topics",
    "sts/world": "sts/world",
}


@pytest.fixture(autouse=True)
def _forget_own_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_catalog, "_own", {})


def own_set(folder: Path, items: Sequence[Input]) -> str:
    """A set of the user's with these train rows, and ten of its own, turned about and written otherwise."""
    rows = [("  ".join(a.upper().split()), b) for a, b in ((i, "") if isinstance(i, str) else i[::-1] for i in items)]
    rows += [(f"quite another text {number}", f"and its pair {number}") for number in range(10)]
    paired = not isinstance(items[0], str)
    with (folder / "mine.csv").open("w") as file:
        out = csv.writer(file)
        out.writerow(["a", "b", "label"] if paired else ["a", "label"])
        for number, (a, b) in enumerate(rows):
            out.writerow([a, *([b] if paired else []), "yes" if number % 2 else "no"])
    other = "test of mine," + ("its pair," if paired else "")
    (folder / "mine_test.csv").write_text(("a,b,label\n" if paired else "a,label\n") + other + "yes\n")
    columns = '"a"' + ('\ntext_b = "b"' if paired else "")
    (folder / "mine.toml").write_text(f'file = "mine.csv"\ntest_file = "mine_test.csv"\ntext = {columns}\n')
    return register_set(folder / "mine.toml")


def asked_by(name: str) -> tuple[Task, Any, tuple[Asked, ...]]:
    """A task, its data, and what it asks."""
    task = resolve_task(parse_task(name))
    assert isinstance(task, Asking)
    data = task.load()
    return task, data, task.asked(data)


@pytest.mark.parametrize(("name", "tested"), TASKS.items())
def test_what_a_users_own_set_taught_is_not_asked(tmp_path: Path, name: str, tested: str) -> None:
    task, data, tests = asked_by(name)
    items = next(asked.items for asked in tests if asked.name == tested)
    tenth = len(items) // 10
    own = own_set(tmp_path, items[: tenth + 1])
    said = (
        f"^{tenth + 1} of the {len(items)} test rows of {tested} are train rows of mine; take sets of different origin"
    )

    with pytest.raises(NotApplicableError, match=said):
        check_unseen(task, data, ["nli", f"{own}@20~labels-0.2"])
    check_unseen(task, data, ["world/sts", "world/meals@20", "world/topics@20"])


def test_a_tenth_may_be_shared(tmp_path: Path) -> None:
    task, data, (asked,) = asked_by("fewshot/world/meals@20")

    check_unseen(task, data, [own_set(tmp_path, asked.items[: len(asked.items) // 10])])


def test_what_a_users_own_set_asks_may_no_other_set_teach(tmp_path: Path) -> None:
    taught = [row.input for row in load_trainset("world/meals", 0).labelled[:2]]
    own_set(tmp_path, taught)
    rows = (tmp_path / "mine.csv").read_text().splitlines()
    (tmp_path / "mine_test.csv").write_text("\n".join([rows[0], *rows[1:9]]) + "\n")
    (tmp_path / "mine.csv").write_text("\n".join([rows[0], *rows[9:]]) + "\n")
    set_catalog._own.clear()
    own = register_set(tmp_path / "mine.toml")
    task = resolve_task(parse_task(f"fewshot/{own}"))

    check_unseen(task, task.load(), [own, "world/topics"])
    with pytest.raises(NotApplicableError, match="2 of the 8 test rows of mine are train rows of world/meals"):
        check_unseen(task, task.load(), ["world/meals@20"])


def test_a_row_that_was_taught_the_test_is_not_measured(tmp_path: Path, tiny_folder: Path) -> None:
    task, _, (asked,) = asked_by("fewshot/world/meals@20")
    own = own_set(tmp_path, asked.items)
    plan = make_plan(
        Request((f"pca_whitening:train={own}",), (task.name,), backbone=str(tiny_folder), precision="float32")
    )
    (cell,) = plan.cells
    record = Runner(tmp_path / "results", plan.cells).run(cell).record

    assert record.status == "not_applicable"
    assert "test rows of world/meals are train rows of mine" in record.reason
