"""Train sets that hold test rows of a task: the table, and that its counts are those of the data."""

import os
import re

import pytest

from thawbench.names import parse_task
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.leaks import leak
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


def normalised(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


@pytest.mark.hub
@pytest.mark.parametrize("year", [12, 16])
def test_the_counts_are_those_of_the_data(year: int) -> None:
    if not os.environ.get("HF_ENDPOINT"):
        pytest.skip("needs a Hub mirror: HF_ENDPOINT")
    rows = load_trainset("stsb", 0)
    train = {frozenset(map(normalised, row.input)) for part in (rows, rows.dev) for row in part.labelled}
    data = resolve_task(parse_task(f"sts/STS{year}")).load().task.dataset["test"]
    test = [frozenset(map(normalised, pair)) for pair in zip(data["sentence1"], data["sentence2"], strict=True)]
    found = sum(pair in train for pair in test)
    assert f"{found:,} of the {len(test):,} test rows" in leak(f"sts/STS{year}", "stsb")
