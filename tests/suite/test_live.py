"""What a run says on the command line."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from thawbench.registry import strategies
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.suite.live import run_live
from thawbench.suite.options import OPTIONS, settings


@pytest.mark.parametrize("said", ["cannot open [/tmp/x/model]", "expected list[str], got dict[str, int]"])
def test_brackets_of_a_failure_are_told_as_they_are(
    tmp_path: Path, tiny_folder: Path, request: pytest.FixtureRequest, said: str
) -> None:
    class Raiser(BaseStrategy):
        """Fails."""

        def learn(self, *args: object, **kwargs: object) -> Learned:
            raise TypeError(said)

    strategies.register("raiser")(Raiser)
    request.addfinalizer(lambda: strategies.unregister("raiser"))
    heard = io.StringIO()
    asked = {"strategy": ("raiser",), "task": ("sts/world",), "backbone": str(tiny_folder), "results": tmp_path / "r"}
    good = run_live(
        settings({**{option.key: option.default for option in OPTIONS}, **asked}), Console(file=heard, width=200)
    )

    assert not good
    assert f"TypeError: {said}" in heard.getvalue()
