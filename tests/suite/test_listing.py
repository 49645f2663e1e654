"""`thawbench list` on a wide screen and on a narrow one."""

import io

import pytest
from rich.console import Console

from thawbench.registry import strategies
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.suite.listing import show


def listed(kind: str, width: int) -> list[str]:
    said = io.StringIO()
    show(kind, Console(file=said, width=width))
    return said.getvalue().splitlines()


def test_a_wide_screen_has_a_column_for_each_fact() -> None:
    head, *lines = listed("strategies", 160)

    assert head.split() == ["strategy", "learns", "from", "gives", "draws", "what", "it", "is"]
    assert any(line.startswith("finetune ") and " labels " in line for line in lines)


def test_on_a_narrow_screen_the_facts_stand_under_what_it_is() -> None:
    head, *lines = listed("strategies", 80)
    (place,) = [at for at, line in enumerate(lines) if line.startswith("finetune ")]

    assert head.split() == ["strategy", "what", "it", "is"]
    assert "Train encoder and head on labels" in lines[place]
    told = " ".join(line.strip() for line in lines[place : place + 6])
    assert "learns from labels; gives classes, layers, vectors; draws init, order" in told


def test_a_profile_has_as_many_strategies_as_its_names_and_globs_choose() -> None:
    (line,) = [line for line in listed("profiles", 160) if line.startswith("full ")]

    rows = [*strategies.names(), *NAMED_ROWS]  # "all" of them, and four with options
    assert int(line.split()[1]) == len(rows) + 4


@pytest.mark.parametrize("width", [80, 160])
def test_every_strategy_has_its_name_on_one_line(width: int) -> None:
    names = {line.split(" ")[0] for line in listed("strategies", width)}

    assert set(strategies.names()) <= names
