"""A cache folder of its own for each test, and a task of mteb and encoders made by hand."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THAWBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MTEB_CACHE", str(tmp_path / "mteb"))


@pytest.fixture
def needs_hub() -> None:
    if not os.environ.get("HF_ENDPOINT"):
        pytest.skip("HF_ENDPOINT is not set")


class TableEncoder:
    """An adaptation that looks its vectors up; rows are dense, or CSR if the table is sparse."""

    heads: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, texts: Sequence[str], table: Any, similarity: str = "cosine") -> None:
        self._index = {text: row for row, text in enumerate(texts)}
        self._table = table
        self.similarity = similarity
        self.roles: list[str | None] = []

    def encode(self, texts: Sequence[str], *, role: str | None = None) -> Any:
        self.roles.append(role)
        return self._table[np.array([self._index[text] for text in texts])]


@pytest.fixture
def table_encoder() -> type[TableEncoder]:
    return TableEncoder
