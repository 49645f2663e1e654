"""Train sets that hold test rows of a task: the table, and that its counts are those of the data."""

import os
import re
from collections.abc import Iterable

import pytest

from thawbench.contracts import Input
from thawbench.names import parse_task
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.leaks import leak
from thawbench.tasks.senteval_rows import RECIPES, read
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
