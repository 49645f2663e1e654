"""From words to cells: what is shared, what does not apply, what is refused and how."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import INFO, PAIRS, FirstComponent, Shift

from thawbench.contracts import ClassTarget, Provides, Signal, TrainSetInfo
from thawbench.errors import UserError
from thawbench.names import TaskName, parse_strategies
from thawbench.registry import strategies
from thawbench.strategies.base import BaseStrategy
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.suite.plan import Plan, Request, make_plan

CORPUS = TrainSetInfo("corpus/first", 1, "d" * 64, frozenset({Signal.TEXTS}), None)


class Still(BaseStrategy):
    """Looks at nothing, draws on nothing."""

    name = "still"


class Reader(BaseStrategy):
    """Reads the documents of the task at hand."""

    name = "reader"
    consumes = frozenset({Signal.TEXTS})
    fits_on_corpus = True
    control = True


class Classes(BaseStrategy):
    """Makes no vectors."""

    name = "classes"
    consumes = frozenset({Signal.PAIRS})
    provides = frozenset({Provides.CLASSES})


class Inside(BaseStrategy):
    """Gives layers, and nothing that classes could be read out of."""

    name = "inside"
    provides = frozenset({Provides.LAYERS})


class AtOnce(BaseStrategy):
    """Is fitted on all sets so far."""

    name = "at_once"
    consumes = frozenset({Signal.PAIRS})
    provides = frozenset({Provides.CLASSES})
    whole_chain = True


KINDS = (Shift, Still, Reader, Classes, Inside, AtOnce)


@pytest.fixture(autouse=True)
def _planner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    def resolve(name: TaskName) -> FirstComponent:
        own = tuple(option for option in name.options if option[0] != "train")
        task = FirstComponent(name=str(replace(name, options=own)), family=name.family)
        if name.family == "chain":
            return replace(task, train=tuple(name.body.split("+")), needs=Provides.CLASSES)
        return replace(task, corpus="corpus/first" if name.family == "ir" else None)

    labels = frozenset({Signal.LABELS, Signal.PAIRS})
    infos = {"pairs": PAIRS, "corpus/first": CORPUS, "world/toys": replace(PAIRS, name="world/toys")}
    infos |= {name: TrainSetInfo(name, 1, name * 64, labels, ClassTarget(("no", "yes"))) for name in "ab"}
    monkeypatch.setattr("thawbench.suite.plan.resolve_task", resolve)
    monkeypatch.setattr("thawbench.suite.plan.trainset_info", infos.__getitem__)
    monkeypatch.setattr("thawbench.suite.plan.resolve_backbone", lambda spec, precision, device: INFO)
    for kind in KINDS:
        strategies.register(kind.name)(kind)
    yield
    for kind in KINDS:
        strategies.unregister(kind.name)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A small matrix."""
    path = tmp_path / "small.toml"
    path.write_text(
        'description = "small"\nbackbone = "fake"\nstrategies = ["still", "shift"]\n'
        'tasks = ["sts/one", "sts/two", "ir/first"]\n'
    )
    return str(path)


def plan(profile: str, **asked: Any) -> Plan:
    return make_plan(Request(profile=profile, **asked))


def names(found: Plan) -> list[tuple[str, str]]:
    return [(cell.strategy, cell.task_name) for cell in found.cells]


def test_a_profile_is_a_matrix(profile: str) -> None:
    assert sorted(names(plan(profile))) == [
        (strategy, task) for strategy in ("shift", "still") for task in ("ir/first", "sts/one", "sts/two")
    ]


def test_seeds_multiply_only_what_draws_on_them(profile: str) -> None:
    found = plan(profile, seeds="3", tasks=("sts/one",))

    assert sum(cell.strategy == "shift" for cell in found.cells) == 3
    assert sum(cell.strategy == "still" for cell in found.cells) == 1


def test_crossed_seeds_collapse_on_the_streams_that_are_not_drawn(profile: str) -> None:
    found = plan(profile, seeds="sample=0-1,init=0-2,order=0-4", tasks=("sts/one",), strategies=("shift",))

    assert len(found.cells) == 2 * 3  # shift draws init, its pairs are a sample, and order changes nothing


def test_tasks_share_an_adaptation_and_its_cells_stand_together(profile: str) -> None:
    found = plan(profile, seeds="2", strategies=("shift",))
    keys = [cell.adaptation.key for cell in found.cells]

    assert found.adaptations == 2
    assert len(found.cells) == 6
    assert keys == [keys[0]] * 3 + [keys[3]] * 3
    assert [cell.seeds.init for cell in found.cells] == [0, 0, 0, 1, 1, 1]


def test_globs_choose_tasks_of_the_profile_and_keep_their_options(profile: str) -> None:
    assert names(plan(profile, strategies=("still",), tasks=("sts/*",))) == [("still", "sts/one"), ("still", "sts/two")]
    assert names(plan(profile, strategies=("shift",), tasks=("sts/o*:train=pairs",))) == [
        ("shift", "sts/one:train=pairs")
    ]


def test_a_glob_finds_tasks_with_options_and_adds_to_these(tmp_path: Path) -> None:
    path = tmp_path / "noisy.toml"
    path.write_text(
        'description = "noisy"\nbackbone = "fake"\nstrategies = ["still"]\ntasks = ["sts/one:typos=1", "sts/two"]\n'
    )

    assert names(plan(str(path), strategies=("shift",), tasks=("sts/*:train=pairs",))) == [
        ("shift", "sts/one:typos=1,train=pairs"),
        ("shift", "sts/two:train=pairs"),
    ]
    # what learns from nothing is one cell, whatever train set is asked for
    assert names(plan(str(path), tasks=("sts/*", "sts/*:train=pairs"))) == [
        ("still", "sts/one:typos=1"),
        ("still", "sts/two"),
    ]
    assert names(plan(str(path), tasks=("sts/*:typos=1",))) == [("still", "sts/one:typos=1")]


def test_an_option_of_the_task_is_part_of_its_name_and_key(profile: str) -> None:
    cells = plan(profile, strategies=("still",), tasks=("sts/one", "sts/one:typos=1", "sts/one:typos=2")).cells

    assert [cell.task_name for cell in cells] == ["sts/one", "sts/one:typos=1", "sts/one:typos=2"]
    assert len({cell.key for cell in cells}) == 3
    assert len({cell.adaptation.key for cell in cells}) == 1


def test_a_task_whose_option_spoils_the_train_set_takes_no_other(profile: str) -> None:
    with pytest.raises(UserError, match="sts/one:train_typos=1 names its train sets itself; leave out train=pairs"):
        plan(profile, tasks=("sts/one:train_typos=1,train=pairs",))


def test_globs_choose_strategies(profile: str) -> None:
    assert {cell.strategy for cell in plan(profile, strategies=("s?i*",)).cells} == {"shift", "still"}


def test_a_strategy_that_reads_documents_gets_those_of_the_task(profile: str) -> None:
    (cell,) = plan(profile, strategies=("reader",), tasks=("ir/first",)).cells

    assert cell.adaptation.steps[0].train == CORPUS
    assert cell.streams == frozenset()
    assert cell.control


def test_a_strategy_may_name_its_own_train_set(profile: str) -> None:
    (cell,) = plan(profile, strategies=("reader:train=corpus/first",), tasks=("sts/one",)).cells

    assert cell.adaptation.steps[0].train == CORPUS
    assert cell.strategy == "reader:train=corpus/first"


def test_signals_that_are_not_there_make_a_cell_not_applicable(profile: str) -> None:
    (cell,) = plan(profile, strategies=("reader",), tasks=("sts/one",)).cells

    assert cell.reason == "reader learns from texts; pairs has pairs"


def test_a_train_set_that_holds_the_tasks_test_rows_makes_a_cell_not_applicable(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawbench.tasks.leaks._SHARED", {("pairs", "sts/one"): (3, 7)})
    (cell,) = plan(profile, strategies=("shift",), tasks=("sts/one",)).cells
    assert cell.reason == "pairs holds 3 of the 7 test rows of sts/one; adapt to another set"


def test_a_read_out_may_not_be_fitted_on_the_tasks_test_rows_either(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawbench.tasks.leaks._SHARED", {("a", "chain/a"): (3, 7)})
    (cell,) = plan(profile, strategies=("still",), tasks=("chain/a",)).cells
    assert [step.strategy.name for step in cell.adaptation.steps] == ["still", "readout"]
    assert cell.reason == "a holds 3 of the 7 test rows of chain/a; adapt to another set"


def test_what_learns_nothing_is_done_once_on_a_row_of_train_sets_or_where_others_have_learned(profile: str) -> None:
    one, two = plan(profile, strategies=("still",), tasks=("sts/one", "sts/two:train=pairs+pairs")).cells
    assert one.adaptation.key == two.adaptation.key
    (cell,) = plan(profile, strategies=("still+shift",), tasks=("sts/one:train=pairs+pairs",)).cells
    assert [step.strategy.name for step in cell.adaptation.steps] == ["still", "shift", "shift"]
    (cell,) = plan(profile, strategies=("still+shift",), tasks=("chain/a+b",)).cells
    assert [step.strategy.name for step in cell.adaptation.steps] == ["still", "shift", "readout", "shift", "readout"]
    for row in ("still", "shift+still"):  # what a row ends with, every set ends with
        (cell,) = plan(profile, strategies=(row,), tasks=("chain/a+b",)).cells
        assert [step.strategy.name for step in cell.adaptation.steps] == [*row.split("+"), "readout"] * 2


def test_a_task_that_asks_for_what_a_strategy_does_not_give_is_not_applicable(profile: str) -> None:
    (cell,) = plan(profile, strategies=("classes",), tasks=("sts/one",)).cells

    assert cell.reason == "sts/one measures vectors; classes gives classes"


def test_strategies_in_a_row_and_train_sets_in_a_row(profile: str) -> None:
    (cell,) = plan(profile, strategies=("shift+shift:by=2",), tasks=("sts/one:train=pairs+pairs",)).cells

    assert [step.strategy.config.by for step in cell.adaptation.steps] == [1.0, 2.0, 1.0, 2.0]


def test_a_named_row_is_the_row_that_it_stands_for_under_its_own_name(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawbench.suite.plan.NAMED_ROWS", {"twice": "shift+shift:by=2"})
    named, spelled = (
        plan(profile, strategies=(row,), tasks=("sts/one",)).cells[0] for row in ("twice", "shift+shift:by=2")
    )

    assert (named.strategy, spelled.strategy) == ("twice", "shift+shift:by=2")
    assert named.key == spelled.key
    assert [cell.strategy for cell in plan(profile, strategies=("twi*",), tasks=("sts/one",)).cells] == ["twice"]
    with pytest.raises(UserError, match=r"twice is the row shift\+shift:by=2 and takes no options"):
        plan(profile, strategies=("twice:by=3",), tasks=("sts/one",))


@pytest.mark.parametrize("row", NAMED_ROWS.values(), ids=NAMED_ROWS)
def test_every_named_row_is_made_of_strategies_that_exist(row: str) -> None:
    assert [strategies.get(spec.name).name for spec in parse_strategies(row)]


@pytest.mark.parametrize(
    ("row", "steps", "ends"),
    [
        ("classes", ["classes a", "classes b"], (1, 2)),
        ("shift", ["shift a", "readout a", "shift b", "readout b"], (2, 4)),
        ("shift+classes", ["shift a", "classes a", "shift b", "classes b"], (2, 4)),
        ("shift:train=pairs", ["shift pairs", "readout a", "readout b"], (2, 3)),
        ("shift:train=pairs+classes", ["shift pairs", "classes a", "classes b"], (2, 3)),
    ],
)
def test_a_task_that_follows_a_chain_knows_where_each_of_its_sets_ends(
    profile: str, row: str, steps: list[str], ends: tuple[int, ...]
) -> None:
    (cell,) = plan(profile, strategies=(row,), tasks=("chain/a+b",)).cells

    assert [f"{step.strategy.name} {step.train.name}" for step in cell.adaptation.steps if step.train] == steps
    assert cell.ends == ends
    assert cell.reason == ""


@pytest.mark.parametrize("row", ["at_once", "shift:train=pairs+at_once", "at_once+classes"])
def test_what_takes_a_whole_chain_at_once_may_stand_first_or_after_a_step_on_a_set_of_its_own(
    profile: str, row: str
) -> None:
    (cell,) = plan(profile, strategies=(row,), tasks=("chain/a+b",)).cells

    assert cell.reason == ""


def test_after_a_step_on_every_set_it_may_stand_on_one_set_alone(profile: str) -> None:
    """On more, it would begin below what that step did later."""
    chain, alone = plan(profile, strategies=("shift+at_once",), tasks=("chain/a+b", "chain/a")).cells

    assert chain.reason == (
        "at_once begins where the chain does, so that all but the first turn of shift would be lost; "
        "give shift one set of its own, as in shift:train=NAME"
    )
    assert alone.reason == ""


def test_chains_that_begin_alike_share_their_beginning(profile: str) -> None:
    found = plan(profile, strategies=("shift",), tasks=("chain/a+b", "chain/a+pairs", "chain/b+a")).cells
    begins = [cell.adaptation.prefixes()[1].key for cell in found]

    assert begins[0] == begins[1] != begins[2]


@pytest.mark.parametrize(
    ("row", "steps"),
    [
        ("classes", ["classes b"]),
        ("shift", ["shift b", "readout b"]),
        ("shift:train=pairs+classes", ["shift pairs", "classes b"]),
        ("at_once", ["at_once b"]),
    ],
)
def test_what_a_task_measures_beside_is_the_same_row_on_the_sets_that_it_names(
    profile: str, row: str, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FirstComponent, "beside", (("b",),), raising=False)
    (cell,) = plan(profile, strategies=(row,), tasks=("chain/a+b",)).cells
    (other,) = cell.beside

    assert [f"{step.strategy.name} {step.train.name}" for step in other.steps if step.train] == steps
    assert other.backbone == cell.adaptation.backbone
    assert replace(cell, beside=()).key == cell.key
    assert [each.key for each in cell.needed] == [
        *(each.key for each in cell.adaptation.prefixes()),
        *(each.key for each in other.prefixes()),
    ]


def test_a_chain_of_a_strategy_without_classes_or_vectors_is_not_applicable(profile: str) -> None:
    (cell,) = plan(profile, strategies=("inside",), tasks=("chain/a+b",)).cells

    assert cell.reason == "chain/a+b measures classes; inside gives layers"


def test_a_task_that_follows_no_chain_gets_the_whole_trail(profile: str) -> None:
    (cell,) = plan(profile, strategies=("shift+shift:by=2",), tasks=("sts/one:train=pairs+pairs",)).cells

    assert cell.ends == ()


@pytest.mark.parametrize("folder", [".", ".pyenv", "a+b"])
def test_a_file_may_stand_first_in_a_row(profile: str, tmp_path: Path, folder: str) -> None:
    file = tmp_path / folder / "my_idea.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "from thawbench.registry import strategies\n"
        "from thawbench.strategies.base import BaseStrategy\n"
        '@strategies.register("in_a_row")\n'
        "class InARow(BaseStrategy):\n"
        "    pass\n"
    )
    try:
        (cell,) = plan(profile, strategies=(f"{file}+shift:by=2",), tasks=("sts/one",)).cells
    finally:
        strategies.unregister("in_a_row")

    assert cell.strategy == "in_a_row+shift:by=2"
    assert [len(step.version) for step in cell.adaptation.steps] == [64, 1]  # the file's SHA-256, and a number


def test_a_file_that_derives_from_a_built_in_strategy_is_of_its_version_too(profile: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from thawbench.registry import strategies\n"
        "from thawbench.strategies.finetune import Finetune\n"
        '@strategies.register("of_mine")\n'
        "class OfMine(Finetune):\n"
        "    version = 9\n"
    )
    try:
        (cell,) = plan(profile, strategies=(str(file),), tasks=("chain/a",)).cells
    finally:
        strategies.unregister("of_mine")

    assert cell.adaptation.steps[0].version.split("+")[1] == str(strategies.get("finetune").version)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"strategies": ("shfit",)}, "unknown strategy 'shfit'; did you mean shift"),
        ({"strategies": ("x*",)}, "no strategy matches 'x*'"),
        ({"strategies": ("shift:bye=2",)}, "unknown option of strategy shift 'bye'; did you mean by?"),
        ({"strategies": ("shift:by=two",)}, "by=two is not a number"),
        ({"strategies": ("shift:by",)}, "malformed strategy at its end"),
        ({"strategies": ("nowhere/idea.py",)}, "the strategy file nowhere/idea.py cannot be read"),
        ({"tasks": ("st/*",)}, "matches 'st/*'; it has sts/one"),
        ({"tasks": ("sts",)}, "malformed task at its end"),
        ({"tasks": ("chain/a+b:train=a",)}, "chain/a+b names its train sets itself; leave out train=a"),
        ({"seeds": "0"}, "at least 1 seed"),
        ({"seeds": "init=3-1"}, "from low to high"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_mistakes_are_told_in_one_line(profile: str, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        plan(profile, **asked)

    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_profile_names_those_that_exist() -> None:
    with pytest.raises(UserError, match="unknown profile 'servd'; did you mean served"):
        make_plan(Request(profile="servd"))


def test_a_made_up_train_set_of_the_profile_teaches_made_up_tasks_alone(tmp_path: Path) -> None:
    """`run --task sts/STS12` runs under `mini`, whose train set is the embedded world's."""
    path = tmp_path / "toys.toml"
    path.write_text(
        'description = "toys"\nbackbone = "fake"\nstrategies = ["shift"]\ntasks = ["sts/world"]\n'
        '[train]\nsts = "world/toys"\n'
    )
    made_up, real = plan(str(path), tasks=("sts/world", "sts/one")).cells
    assert [step.train.name for step in made_up.adaptation.steps if step.train] == ["world/toys"]
    assert [step.train.name for step in real.adaptation.steps if step.train] == ["pairs"]
