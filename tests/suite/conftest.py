"""The suite's own machinery is tested on fakes: no weights, no rows, no time."""

import pytest
from fakes import LengthSource, Shift, load_pairs

from thawbench.strategies.adapted import AdaptedEncoder


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shift, "fits", 0)
    monkeypatch.setattr("thawbench.suite.store.load_backbone", lambda info: AdaptedEncoder(LengthSource()))
    monkeypatch.setattr("thawbench.suite.store.load_trainset", load_pairs)
