"""Defaults by size of the backbone, out of committed files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, FloatArray, Seeds, State, Strategy, TrainSet
from thawbench.errors import UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.bitfit import Bitfit
from thawbench.strategies.finetune import FinetuneConfig
from thawbench.strategies.llrd import Llrd, LlrdConfig
from thawbench.strategies.soup import Soup, SoupConfig
from thawbench.strategies.sources import LayerlessSource
from thawbench.strategies.tuned import FOLDER, read_choices, tuned, tuned_version, version_with_choices

FILE = """
[[choice]]
weights = "a"
parameters = 1000
field = "lr"
value = 1e-3
trials = []

[[choice]]
weights = "b"
parameters = 100000
field = "lr"
value = 1e-5
trials = []
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One strategy's choices on two backbones."""
    (tmp_path / "some.toml").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (1000, {"lr": 1e-3}),
        (2999, {"lr": 1e-3}),
        (10_000, {}),
        (40_000, {"lr": 1e-5}),
        (290_000, {"lr": 1e-5}),
        (0, {}),
    ],
)
def test_the_choice_of_the_nearest_size_counts_if_it_is_near(folder: Path, size: int, found: dict[str, float]) -> None:
    assert tuned("some", size, folder) == found


def test_a_strategy_that_was_never_tuned_has_no_choice(folder: Path) -> None:
    assert tuned("other", 1000, folder) == {}


@pytest.mark.parametrize("text", ["[[choice]", "a = 1", "[[choice]]\nfield = 'lr'", "choice = 3"])
def test_a_damaged_file_is_one_line_that_says_what_to_do(folder: Path, text: str) -> None:
    (folder / "some.toml").write_text(text)
    with pytest.raises(UserError, match=r"some\.toml is not as `thawbench tune` writes it .*; remove it"):
        tuned("some", 1000, folder)


def test_committed_choices_can_be_read() -> None:
    for path in FOLDER.glob("*.toml"):
        for choice in read_choices(path.stem):
            assert choice["value"] in choice["values"]  # type: ignore[operator]


@dataclass(frozen=True)
class OpenConfig:
    """Something to leave open."""

    lr: float | None = None


@dataclass(frozen=True)
class Sized(LayerlessSource):
    """An encoder of so many parameters, as far as anybody asks."""

    total_parameters: int
    key = "sized"
    dim = 2

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        return np.zeros((len(texts), 2), np.float32)


def no_adapt(strategy: Strategy, seeds: Seeds) -> Adapted:
    raise AssertionError("not asked for")


def test_what_fills_an_open_field_is_part_of_the_version(folder: Path) -> None:
    before = tuned_version("3", "some", OpenConfig(), folder)
    (folder / "some.toml").write_text(FILE.replace("value = 1e-5", "value = 2e-5"))
    after = tuned_version("3", "some", OpenConfig(), folder)

    assert before.startswith("3+")
    assert after.startswith("3+")
    assert before != after
    assert tuned_version("3", "some", OpenConfig(lr=1e-3), folder) == "3"  # so a search does not repeat itself
    assert tuned_version("3", "other", OpenConfig(), folder) == "3"


def test_a_choice_that_is_what_the_strategy_takes_by_itself_makes_no_cell_anew(folder: Path) -> None:
    class Own(BaseStrategy):
        """Takes 1e-5 where nothing else is said."""

        name = "some"
        lr = 1e-5
        Config = OpenConfig

    # one of the two choices is another, and decides with the other which sizes between them take which
    assert tuned_version("3", "some", OpenConfig(), folder, own=Own(OpenConfig())) != "3"
    (folder / "some.toml").write_text(FILE.replace("value = 1e-3", "value = 1e-5"))
    assert tuned_version("3", "some", OpenConfig(), folder, own=Own(OpenConfig())) == "3"
    assert tuned_version("3", "some", OpenConfig(), folder) != "3"


def test_a_fit_takes_the_choice_for_its_backbones_size_where_a_field_is_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Told(BaseStrategy):
        """Keeps the rate that it was given."""

        name = "some"
        Config = OpenConfig

        def learn(self, start: AdaptedEncoder, data: TrainSet, **_: Any) -> Learned:
            return Learned(values={"lr": self.config.lr})

        def transform(self, vectors: FloatArray, state: State) -> FloatArray:
            return vectors

    monkeypatch.setattr("thawbench.strategies.tuned.tuned", lambda name, size: tuned(name, size, folder))

    def lr_of(config: OpenConfig, size: int) -> Any:
        start, data = AdaptedEncoder(Sized(size)), TrainSet("t", 1, "f")
        return Told(config).fit(start, data, seeds=Seeds(), budget=Budget(), adapt=no_adapt).state.values["lr"]

    assert lr_of(OpenConfig(), 1500) == 1e-3
    assert lr_of(OpenConfig(), 90_000) == 1e-5
    assert lr_of(OpenConfig(lr=7.0), 1500) == 7.0
    assert lr_of(OpenConfig(), 10_000) is None


@pytest.mark.parametrize(
    ("recipe", "lr", "epochs"), [("mosbach", 2e-5, 20), ("devlin", 2e-5, 3), ("default", None, None)]
)
def test_a_published_recipe_leaves_nothing_open(recipe: Any, lr: float | None, epochs: int | None) -> None:
    config = FinetuneConfig(recipe=recipe)
    assert (config.lr, config.epochs) == (lr, epochs)
    assert FinetuneConfig(recipe=recipe, lr=1.0).lr == 1.0


def test_what_derives_from_finetune_takes_its_choice_until_it_has_one_of_its_own(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: dict[str, dict[str, Any]] = {"finetune": {"lr": 0.5}}
    monkeypatch.setattr("thawbench.strategies.tuned.tuned", lambda name, size: chosen.get(name, {}))
    asked: list[str] = []

    def noted(version: str, name: str, config: Any, **_: Any) -> str:
        asked.append(name)
        return version

    monkeypatch.setattr("thawbench.strategies.tuned.tuned_version", noted)

    assert Llrd(LlrdConfig())._filled(tiny).config.lr == 0.5
    assert Bitfit(FinetuneConfig())._filled(tiny).config.lr is None  # its rates are of another size
    assert Soup(SoupConfig())._filled(tiny).config.lr is None  # it asks for a plain `finetune`, which fills its own
    chosen["llrd"] = {"lr": 0.25}
    assert Llrd(LlrdConfig())._filled(tiny).config.lr == 0.25
    version_with_choices("1", Llrd(LlrdConfig()))
    assert asked == ["llrd", "finetune"]
