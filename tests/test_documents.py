"""The documents: links lead somewhere, and the examples run as they are printed."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import thawbench
from thawbench.contracts import Adapt, Budget, Seeds, Task, TrainSet
from thawbench.errors import UserError
from thawbench.registry import families, strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.plugin import load_strategy_file
from thawbench.suite.plan import Request, make_plan

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
TEXTS = ("the cat sat on the mat", "a good film", "who ran")


def example(name: str) -> str:
    """The block of CONTRIBUTING.md that is headed by this file name."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```python {re.escape(name)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def registered() -> Iterator[None]:
    yield
    strategies.unregister("centred")
    families.unregister("crowding")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8"))
    relative = [link for link in links if not link.startswith(("http://", "https://", "mailto:"))]
    assert [link for link in relative if not (document.parent / link).exists()] == []


@pytest.mark.usefixtures("registered")
def test_the_example_strategy_runs_and_centres(tmp_path: Path, tiny: AdaptedEncoder) -> None:
    file = tmp_path / "my_idea.py"
    file.write_text(example("my_idea.py"), encoding="utf-8")
    name, _ = load_strategy_file(str(file))
    strategy = cast(Any, strategies.get(name))(None)
    data = TrainSet("x", 1, "f", texts=TEXTS)
    adapt = cast(Adapt, None)
    adapted = strategy.fit(tiny, data, seeds=Seeds(), budget=Budget(), adapt=adapt)
    np.testing.assert_allclose(adapted.encode(TEXTS).mean(axis=0), 0, atol=1e-6)
    again = strategy.restore(tiny, adapted.state)
    np.testing.assert_array_equal(again.encode(TEXTS), adapted.encode(TEXTS))


@pytest.mark.usefixtures("registered")
def test_the_example_task_runs_and_refuses_an_unknown_name(tiny: AdaptedEncoder) -> None:
    exec(compile(example("crowding.py"), "crowding.py", "exec"), {"__name__": "crowding"})
    family = families.get("crowding")
    task: Task = family.resolve("weather")
    assert task.name == "crowding/weather"
    assert len(task.fingerprint()) == 64
    scores = task.evaluate([tiny], task.load())
    vectors = tiny.encode(task.load())
    first, second, third = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    by_hand = (first @ second + first @ third + second @ third) / 3
    assert scores.scalars["mean_cosine"] == pytest.approx(by_hand, abs=1e-6)
    (cell,) = make_plan(Request(strategies=("frozen",), tasks=(task.name,))).cells
    assert (cell.task_name, cell.reason) == ("crowding/weather", "")
    with pytest.raises(UserError, match="did you mean weather"):
        family.resolve("wether")


def test_the_license_is_the_whole_apache_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert [f"   {number}. " in text for number in range(1, 10)] == [True] * 9
    assert "END OF TERMS AND CONDITIONS" in text
    assert len(text.splitlines()) == 202


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {thawbench.__version__}\n" in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\nlicense: {project['license']}\n" in citation
