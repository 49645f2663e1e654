"""The documents: links lead somewhere, and the examples run as they are printed."""

import math
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import thawbench
from thawbench.contracts import Adapt, Budget, Seeds, Task, TrainSet
from thawbench.errors import UserError
from thawbench.registry import families, strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Answers
from thawbench.strategies.plugin import load_strategy_file
from thawbench.suite.plan import Request, make_plan
from thawbench.tasks import set_catalog
from thawbench.tasks.set_catalog import register_set

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
    strategies.unregister("focal")
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
def test_the_example_of_a_loss_weighs_rows_by_what_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "focal.py"
    file.write_text(example("focal.py"), encoding="utf-8")
    load_strategy_file(str(file))
    kind = cast(Any, strategies.get("focal"))
    logits = torch.tensor([[0.0, 0.0], [2.0, 0.0]]).log_softmax(dim=1)
    answers = Answers(np.arange(2), torch.zeros(2, 1), logits, torch.tensor([0, 0]))
    shares = [0.5, 1 / (1 + math.exp(-2))]
    for gamma in (0.0, 2.0):
        by_hand = sum((1 - share) ** gamma * -math.log(share) for share in shares) / 2
        found = kind(kind.Config(gamma=gamma)).loss(None, None, answers)
        assert float(found) == pytest.approx(by_hand, rel=1e-6)


def test_the_example_of_own_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_catalog, "_own", {})
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.findall(r"(?:^    .*\n)+", guide[guide.index('    file = "mine.csv"') :], re.MULTILINE)[0]
    (tmp_path / "mine.toml").write_text(textwrap.dedent(block), encoding="utf-8")
    rows = [f"text {number},{1 + number % 5}" for number in range(50)]
    (tmp_path / "mine.csv").write_text("\n".join(["review,stars", *rows]) + "\n")
    register_set(tmp_path / "mine.toml")
    splits = set_catalog.named_set("mine").splits()

    assert {row.label for row in splits.train.rows} == {"bad", "2", "4", "good"}
    assert (len(splits.train.rows), len(splits.test.rows)) == (32, 8)


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
