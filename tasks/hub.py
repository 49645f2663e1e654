"""Fetching: one place that talks to the Hugging Face Hub, and turns all that can go wrong there into one clear line."""

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thawbench.errors import DataUnavailableError, ThawbenchError


def endpoint() -> str:
    """Where data comes from: `$HF_ENDPOINT`, else the Hub itself; or the local cache only, with HF_HUB_OFFLINE."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return "the local cache (HF_HUB_OFFLINE is set)"
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


@contextmanager
def fetching(data: str, use: str) -> Iterator[None]:
    """Whatever fails inside is a `DataUnavailableError` that says which data, for what, from where and what to do.

    `datasets`, `huggingface_hub` and `mteb` raise some twenty unrelated types for a Hub that cannot be reached or
    lacks a file (ValueError, FileNotFoundError, httpx's own, ...): nothing short of `Exception` holds them all.

    Args:
        data: the data set, such as `mteb/sts12-sts at revision a0d554a64d88`.
        use: what it is for, such as `sts/STS12`.
    """
    with quiet():
        try:
            yield
        except ThawbenchError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or "no reason given"
            raise DataUnavailableError(
                f"cannot fetch {data} for {use} from {endpoint()} ({type(error).__name__}: {reason[:200]}); "
                "set HF_ENDPOINT to a Hub that can be reached, or fetch it once while online"
            ) from error


def load_split(dataset: str, config: str | None, split: str, revision: str, use: str) -> Any:
    """One split of a data set on the Hub, as a `datasets.Dataset`.

    Raises:
        DataUnavailableError: not to be had.
    """
    which = " ".join(part for part in (dataset, config, split) if part)
    with fetching(f"{which} at revision {revision[:12]}", use):
        import datasets  # type: ignore[import-untyped]

        return datasets.load_dataset(dataset, config, split=split, revision=revision)


def resolved_revision(dataset: str, revision: str) -> str:
    """The commit behind a branch such as `main`; the revision as it is where the Hub cannot be asked."""
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    try:
        from huggingface_hub import HfApi

        return HfApi().dataset_info(dataset, revision=revision).sha or revision
    except Exception:  # only a note for the reader: the fingerprint is what guards the rows
        return revision


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of `datasets` and `huggingface_hub` inside; afterwards as it was."""
    import datasets

    hub_utils: Any = importlib.import_module("huggingface_hub.utils")  # does not export these in a way mypy reads

    datasets_bars = not datasets.are_progress_bars_disabled()
    hub_bars = not hub_utils.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    hub_utils.disable_progress_bars()
    try:
        yield
    finally:
        if datasets_bars:
            datasets.enable_progress_bars()
        if hub_bars:
            hub_utils.enable_progress_bars()
