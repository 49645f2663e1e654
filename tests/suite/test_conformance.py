"""The conformance kit: built-in strategies pass, and each planted fault is found by the check made for it."""

import copy
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import ClassTarget, Signal, State
from thawbench.errors import UserError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.majority import ConstantHead, Majority
from thawbench.strategies.readout import with_head
from thawbench.suite import conformance_table
from thawbench.suite.conformance import Subject, Verdict, run_check
from thawbench.suite.conformance_checks import CHECKS, mteb_mock_tasks

BUILT_IN = strategies.names()


def verdicts(strategy: Any, start: AdaptedEncoder, *, mteb: bool = False) -> list[Verdict]:
    subject = Subject(strategy, start)
    return [run_check(check, subject) for check in CHECKS if mteb or check is not mteb_mock_tasks]


def failed(strategy: Any, start: AdaptedEncoder, *, mteb: bool = False) -> list[str]:
    return [verdict.check for verdict in verdicts(strategy, start, mteb=mteb) if verdict.outcome == "failed"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_strategy_passes(name: str, tiny: AdaptedEncoder) -> None:
    kind: Any = strategies.get(name)
    found = verdicts(kind(kind.Config()), tiny)
    assert [verdict.check for verdict in found if verdict.outcome == "failed"] == []
    assert sum(verdict.outcome == "passed" for verdict in found) >= 8


class Plain(BaseStrategy):
    """Without a fault: the planted ones differ from it in one thing each."""

    name = "plain"
    consumes = frozenset({Signal.TEXTS})

    def learn(self, start: Any, data: Any, *, seeds: Any, budget: Any, adapt: Any) -> Learned:
        return Learned({"by": np.full(1, self.learnt(start, data, seeds), np.float32)})

    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        return 1.0

    def transform(self, vectors: Any, state: State) -> Any:
        return vectors + state.tensors["by"]


class SecretConfig(Plain):
    @dataclass(frozen=True)
    class Config:
        layers: tuple[int, ...] = field(default=(1, 2))  # comes back from JSON as a list


class Counting(Plain):
    """Counts its fits in its config."""

    @dataclass(frozen=True)
    class Config:
        fits: int = 0

    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        object.__setattr__(self.config, "fits", self.config.fits + 1)
        return 1.0


class Remembering(Plain):
    """Keeps what it learnt in itself."""

    def learn(self, start: Any, data: Any, *, seeds: Any, budget: Any, adapt: Any) -> Learned:
        self.by = np.ones(1, np.float32)
        return Learned()

    def transform(self, vectors: Any, state: State) -> Any:
        return vectors + self.by


class Drifting(Plain):
    fits: ClassVar[int] = 0

    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        type(self).fits += 1
        return self.fits


class HiddenInit(Plain):
    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        return float(seeds.init)


class IdleOrder(Plain):
    draws = frozenset({"order"})


class MovesGlobals(Plain):
    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        random.random()
        torch.rand(1)
        return 1.0


class ReadsGlobals(Plain):
    """Draws from a copy: the state itself stays where it was."""

    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        own = random.Random()
        own.setstate(random.getstate())
        return own.random()


class NoEmptyList(Plain):
    def transform(self, vectors: Any, state: State) -> Any:
        if not len(vectors):
            raise ValueError("nothing to shift")
        return vectors + 1


class _Wrapped:
    """A source with a fault of its own."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.key, self.dim, self.total_parameters = inner, "wrapped", inner.dim, 0
        self.calls = 0

    def encode(self, texts: Any, role: Any = None) -> Any:
        return self.faulty(self.inner.encode(texts))

    def faulty(self, vectors: Any) -> Any:
        return vectors

    def hidden_states(self, texts: Any) -> Any:
        return self.inner.hidden_states(texts)


class _ByLength(_Wrapped):
    """Gives back what a length-sorted batch holds, in its order."""

    def encode(self, texts: Any, role: Any = None) -> Any:
        return self.inner.encode(sorted(texts, key=len))


class _Noisy(_Wrapped):
    def faulty(self, vectors: Any) -> Any:
        self.calls += 1
        return vectors * np.float32(1 + 1e-6 * (self.calls % 7))


class Unordered(Plain):
    def source(self, start: Any, state: State) -> Any:
        return _ByLength(start.source)


class Dropping(Plain):
    def source(self, start: Any, state: State) -> Any:
        return _Noisy(start.source)


class Forgetful(Plain):
    """Keeps what it learnt beside its state."""

    def restore(self, start: Any, state: State) -> AdaptedEncoder:
        return super().restore(
            start, replace(state, tensors={"by": state.tensors["by"] * ("lost" not in state.values)})
        )

    def fit(self, start: Any, data: Any, **given: Any) -> AdaptedEncoder:
        adapted = super().fit(start, data, **given)
        return replace(adapted, state=replace(adapted.state, values={"lost": True}))


class Collapsed(Plain):
    def transform(self, vectors: Any, state: State) -> Any:
        return np.ones_like(vectors)


class AlphabeticalColumns(Majority):
    """Right for classes in alphabetical order."""

    control = False

    def restore(self, start: Any, state: State) -> AdaptedEncoder:
        adapted = super().restore(start, state)
        (name,) = adapted.heads
        head: Any = adapted.head_models[name]
        assert isinstance(head.target, ClassTarget)
        places = np.argsort(head.target.classes)
        return with_head(adapted, name, ConstantHead(head.target, head.row[places]))


class MovesTheStart(Plain):
    """Sets a weight of the shared backbone."""

    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        with torch.no_grad():
            start.source.model.get_input_embeddings().weight[0] = 7.0  # of the padding, which no vector shows
        return 1.0


class Peeking(Plain):
    def learnt(self, start: Any, data: Any, seeds: Any) -> float:
        start.encode(["a testrow from elsewhere"])
        return 1.0


class SelectivelyNan(Plain):
    def source(self, start: Any, state: State) -> Any:
        return _NotFiniteForMteb(start.source)


class _NotFiniteForMteb(_Wrapped):
    """Not finite for texts that only mteb's mock tasks hold."""

    def encode(self, texts: Any, role: Any = None) -> Any:
        vectors = self.inner.encode(texts).copy()
        vectors[[index for index, text in enumerate(texts) if "test sentence" in text]] = np.nan
        return vectors


PLANTED: dict[type[Any], str] = {
    SecretConfig: "contract",
    Counting: "contract",
    Remembering: "save and load",
    Drifting: "same seed same bytes",
    HiddenInit: "init seed",
    IdleOrder: "order seed",
    MovesGlobals: "no global random state",
    ReadsGlobals: "no global random state",
    NoEmptyList: "odd texts",
    Unordered: "order kept",
    Dropping: "dropout off",
    Forgetful: "save and load",
    Collapsed: "vectors differ",
    AlphabeticalColumns: "columns by class name",
    MovesTheStart: "start unchanged",
    Peeking: "only train rows read",
    SelectivelyNan: "mteb mock tasks",
}


def test_a_strategy_without_a_fault_fails_no_check(tiny: AdaptedEncoder) -> None:
    found = verdicts(Plain(), tiny, mteb=True)
    assert [verdict for verdict in found if verdict.outcome == "failed"] == []


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_fault_is_found_by_its_check(kind: type[Any], tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    source = Encoder(tiny.source.info, copy.deepcopy(tiny.source.model), tiny.source.tokenizer, tiny.source.cache)
    found = failed(kind(), replace(tiny, source=source), mteb=kind is SelectivelyNan)
    assert PLANTED[kind] in found
    # these two cannot be told apart from a drift by what they leave behind
    follow = {Drifting: 4, Dropping: 6, ReadsGlobals: 2}
    assert len(found) <= follow.get(kind, 1), found


def test_the_example_of_the_guide_passes_on_the_command_line(tmp_path: Path, tiny_folder: Path) -> None:
    guide = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    file = tmp_path / "my_idea.py"
    file.write_text(guide.split("```python my_idea.py\n")[1].split("```")[0], encoding="utf-8")
    try:
        result = CliRunner().invoke(app, ["check", str(file), "--backbone", str(tiny_folder)])
    finally:
        strategies.unregister("centred")
    assert result.exit_code == 0, result.output
    assert " 0 failed, " in result.output


def test_a_failed_check_ends_with_1_and_an_unknown_name_is_the_users_mistake(tmp_path: Path, tiny_folder: Path) -> None:
    file = tmp_path / "collapsed_idea.py"
    file.write_text(
        "from thawbench.registry import strategies\n"
        "from thawbench.strategies.base import BaseStrategy\n\n\n"
        "@strategies.register('collapsed')\n"
        "class Collapsed(BaseStrategy):\n"
        "    def transform(self, vectors, state):\n"
        "        return vectors * 0\n"
    )
    try:
        result = CliRunner().invoke(app, ["check", str(file), "--backbone", str(tiny_folder)])
    finally:
        strategies.unregister("collapsed")
    assert result.exit_code == 1, result.output
    assert "vectors differ" in result.output
    unknown = CliRunner().invoke(app, ["check", "frozn", "--backbone", str(tiny_folder)])
    assert isinstance(unknown.exception, UserError)
    assert "did you mean frozen" in str(unknown.exception)


def test_one_file_is_one_strategy_whatever_its_folder_is_called(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance_table, "CHECKS", ())
    file = tmp_path / "a+b" / "my_idea.py"
    file.parent.mkdir()
    file.write_text(
        "from thawbench.registry import strategies\n"
        "from thawbench.strategies.base import BaseStrategy\n\n\n"
        "@strategies.register('beside_a_plus')\n"
        "class BesideAPlus(BaseStrategy):\n"
        "    pass\n"
    )
    try:
        assert conformance_table.show(str(file), str(tiny_folder), Console(quiet=True))
        for several in (f"{file}+frozen", "mlm+frozen_ebm", "mlm_frozen_ebm", "frozen*"):
            with pytest.raises(UserError, match=r"check takes one strategy, and .* names several"):
                conformance_table.show(several, str(tiny_folder), Console(quiet=True))
    finally:
        strategies.unregister("beside_a_plus")


def test_every_check_has_a_planted_fault() -> None:
    assert {check.__name__.replace("_", " ") for check in CHECKS} == set(PLANTED.values())
