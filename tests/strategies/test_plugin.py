"""A strategy given as a file: found, versioned by its bytes, and refused in one line that says why."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from small_fits import fit, inputs_of, moods, same_bytes

from thawbench.contracts import Rows, State
from thawbench.errors import UserError
from thawbench.names import configure, parse_strategies
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.plugin import load_strategy_file
from thawbench.strategies.random_vectors import RandomSource

GOOD = """
from dataclasses import dataclass

from thawbench.registry import strategies
from thawbench.strategies.base import BaseStrategy


@strategies.register("my_idea")
class MyIdea(BaseStrategy):
    @dataclass(frozen=True)
    class Config:
        factor: float = 2.0

    def transform(self, vectors, state):
        return vectors * self.config.factor
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = set(strategies.names())
    yield
    for name in set(strategies.names()) - before:
        strategies.unregister(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my_idea.py"


def refusal(file: Path, text: str) -> str:
    file.write_text(text)
    before = strategies.names()
    with pytest.raises(UserError) as caught:
        load_strategy_file(str(file))
    assert strategies.names() == before  # nothing is left behind
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_gives_its_strategy_its_name_and_its_hash(file: Path) -> None:
    file.write_text(GOOD)

    name, version = load_strategy_file(str(file))

    assert (name, version) == ("my_idea", hashlib.sha256(GOOD.encode()).hexdigest())
    strategy = strategies.get(name)
    config = configure(strategy.Config, parse_strategies("my_idea:factor=3")[0], "strategy")
    start = AdaptedEncoder(RandomSource(0, 4))
    tripled = strategy(config).restore(start, State()).encode(["a"])
    assert (tripled == 3 * start.encode(["a"])).all()
    assert sorted(path.name for path in file.parent.iterdir()) == ["my_idea.py"]  # no __pycache__


def test_the_same_file_may_be_given_twice(file: Path) -> None:
    file.write_text(GOOD)

    assert load_strategy_file(str(file)) == load_strategy_file(str(file.parent / "." / file.name))


def test_an_edited_file_replaces_what_it_was(file: Path) -> None:
    file.write_text(GOOD)
    _, old = load_strategy_file(str(file))
    file.write_text(GOOD.replace("2.0", "5.0"))
    _, new = load_strategy_file(str(file))

    assert old != new
    assert strategies.get("my_idea").Config().factor == 5.0


def test_a_missing_file_is_named(file: Path) -> None:
    with pytest.raises(UserError, match=r"my_idea\.py cannot be read: No such file"):
        load_strategy_file(str(file))


def test_a_file_without_a_strategy_is_told_how_to_register_one(file: Path) -> None:
    assert "registers no strategy; put @strategies.register" in refusal(file, "x = 1\n")


def test_two_strategies_in_one_file_are_refused_by_name(file: Path) -> None:
    two = GOOD + "\n@strategies.register('another')\nclass Another(BaseStrategy):\n    pass\n"

    assert "2 strategies (another, my_idea)" in refusal(file, two)


def test_a_syntax_error_gives_its_line(file: Path) -> None:
    assert "my_idea.py, line 3: " in refusal(file, "x = 1\n\ndef f(:\n")


def test_an_error_on_import_gives_the_line_in_the_file(file: Path) -> None:
    assert "my_idea.py, line 2: ModuleNotFoundError: No module named 'no_such'" in refusal(file, "\nimport no_such\n")


def test_a_taken_name_is_refused_and_both_modules_are_named(file: Path) -> None:
    message = refusal(file, GOOD.replace('"my_idea"', '"frozen"'))

    assert "thawbench.strategies.frozen.Frozen" in message
    assert "my_idea.py: " in message


def test_bytes_that_are_no_text_are_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"my_idea\.py(, line|: ValueError)"):  # Pythons differ in what they call it
        load_strategy_file(str(file))


def test_the_one_in_the_docs_is_finetune_on_all_rows_without_dev(tiny: AdaptedEncoder) -> None:
    data = moods(dev=True)
    name, _ = load_strategy_file(str(Path(__file__).resolve().parents[2] / "docs" / "all_rows.py"))
    made = fit(name, tiny, data)
    plain = fit("finetune", tiny, replace(data, labelled=(*data.labelled, *data.dev.labelled), dev=Rows()))

    assert made.state.cost.dev_score is None
    assert same_bytes(made, plain, inputs_of(data), "moods")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("class MyIdea(BaseStrategy):", "class MyIdea:", "MyIdea has no version; derive it from BaseStrategy"),
        ("    @dataclass(frozen=True)\n", "", "MyIdea.Config is no dataclass; write @dataclass(frozen=True) above it"),
        (
            "    def transform",
            '    consumes = "texts"\n\n    def transform',
            "consumes of MyIdea is 'texts'; it must be",
        ),
    ],
)
def test_what_no_plan_can_be_made_with_is_told_when_the_file_is_read(file: Path, old: str, new: str, told: str) -> None:
    assert told in refusal(file, GOOD.replace(old, new))
