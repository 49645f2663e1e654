"""What is fetched from the Hub, when it is asked for again, and what its own cache is worth."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from thawbench.errors import UserError
from thawbench.strategies import hub_weights

REPO, COMMIT = "org/enc", "a" * 40


class Hub:
    """A Hub, and the local cache that its clients fill; `there` says which of a commit's files the cache has."""

    def __init__(self, folder: Path, *there: str) -> None:
        self.snapshot = folder / COMMIT
        self.reachable = True
        self.asked = 0
        self._put(*there)

    def _put(self, *files: str) -> None:
        self.snapshot.mkdir(parents=True, exist_ok=True)
        for file in files:
            (self.snapshot / file).touch()

    def model_info(self, repo: str, **given: Any) -> SimpleNamespace:
        self.asked += 1
        if not self.reachable:
            raise OSError("no route")
        return SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename="model.safetensors")])

    def download(self, repo: str, *, local_files_only: bool = False, **given: Any) -> str:
        if not local_files_only:
            self._put("config.json", "model.safetensors", "modules.json")
        elif not any(self.snapshot.iterdir()):
            raise LocalEntryNotFoundError("nothing")
        return str(self.snapshot)


def served(folder: Path, monkeypatch: pytest.MonkeyPatch, *there: str) -> Hub:
    hub = Hub(folder / "hub", *there)
    monkeypatch.setattr(hub_weights, "HfApi", lambda: hub)
    monkeypatch.setattr(hub_weights, "snapshot_download", hub.download)
    monkeypatch.setenv("THAWBENCH_CACHE", str(folder / "cache"))
    return hub


def test_a_commit_that_was_fetched_here_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = served(tmp_path, monkeypatch)
    assert hub_weights.fetch(REPO, None) == (hub.snapshot, COMMIT)
    hub.reachable = False
    assert hub_weights.fetch(REPO, COMMIT) == (hub.snapshot, COMMIT)
    assert hub.asked == 1


def test_a_cache_that_somebody_else_filled_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = served(tmp_path, monkeypatch, "config.json", "model.safetensors")
    hub_weights.fetch(REPO, COMMIT)
    assert (hub.snapshot / "modules.json").is_file()


def test_without_a_hub_such_a_cache_is_taken_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = served(tmp_path, monkeypatch, "config.json", "model.safetensors")
    hub.reachable = False
    with caplog.at_level(logging.WARNING):
        assert hub_weights.fetch(REPO, COMMIT) == (hub.snapshot, COMMIT)
    assert "is taken from the Hub's cache as it is" in caplog.text


def test_a_pinned_commit_outlives_its_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = served(tmp_path, monkeypatch, "config.json", "model.safetensors")

    def gone(repo: str, **given: Any) -> SimpleNamespace:
        raise UserError(f"no backbone {repo}")

    monkeypatch.setattr(hub, "model_info", gone)
    assert hub_weights.fetch(REPO, COMMIT) == (hub.snapshot, COMMIT)
    with pytest.raises(UserError, match="no backbone org/enc"):
        hub_weights.fetch(REPO, "main")


def test_another_cache_of_the_hub_s_is_not_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = served(tmp_path, monkeypatch)
    hub_weights.fetch(REPO, None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    hub_weights.fetch(REPO, COMMIT)
    assert hub.asked == 2
