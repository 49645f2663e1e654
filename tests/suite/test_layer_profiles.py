"""The two profiles that look at layers: every name in them stands for something, and the rows are those promised."""

import pytest

from thawbench.names import configure, parse_strategies
from thawbench.registry import strategies
from thawbench.strategies.finetune import FinetuneConfig
from thawbench.suite.profile import load_profile
from thawbench.tasks.catalog import resolve_task


def configured(spelled: str) -> FinetuneConfig:
    (spec,) = parse_strategies(spelled)
    made: FinetuneConfig = configure(strategies.get(spec.name).Config, spec.without("train"), "strategy")
    return made


@pytest.mark.parametrize("name", ["inward", "layer_removal"])
def test_every_name_stands_for_something(name: str) -> None:
    profile = load_profile(name)

    assert [resolve_task(task).name for task in profile.tasks] == list(profile.tasks)
    assert all(configured(strategy) is not None for strategy in profile.strategies)


def test_layers_are_removed_one_by_one_under_either_head_and_all_else_is_alike() -> None:
    profile = load_profile("layer_removal")
    rows = [configured(strategy) for strategy in profile.strategies]

    assert [(row.head, row.k) for row in rows] == [  # type: ignore[attr-defined]
        (head, k) for head in ("linear", "relu50") for k in range(6)
    ]
    assert {(row.epochs, row.batch_size, row.lr, row.recipe) for row in rows} == {(2, 32, 5e-5, "default")}
    assert (profile.tasks, profile.seeds) == (("fewshot/snli", "fewshot/druglib"), "3")


def test_the_inward_rows_are_the_controls_and_four_ways_to_learn_from_nli() -> None:
    profile = load_profile("inward")
    names = [parse_strategies(strategy)[0].name for strategy in profile.strategies]

    assert names == ["frozen", "untrained", "finetune", "scl", "mnr", "mlm"]
    assert {task.partition("/")[0] for task in profile.tasks} == {"geometry", "layers", "probe"}
