"""Weights from the Hugging Face Hub: the files that an encoder needs, at a commit, and never a pickle."""

import hashlib
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import huggingface_hub
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from thawbench.cache import cache_folder
from thawbench.errors import DataUnavailableError, UserError

_log = logging.getLogger(__name__)

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
)
_WANTED = [
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*-of-*.safetensors",
    *TOKENIZER_FILES,
]
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_S = 20

# The root of what the HTTP library raises; huggingface_hub has changed that library with its major versions.
_HTTP_ERROR: type[Exception] = HfHubHTTPError.__bases__[0]


def fetch(repo: str, revision: str | None) -> tuple[Path, str]:
    """The local folder with a repository's files, and the commit that they are of.

    A commit that was fetched here before is not asked for again. Without a Hub what its own cache has must do, of which
    somebody else may have left out the files that say how the model pools.

    Raises:
        UserError: there is no such repository or revision, or it has no safetensors weights.
        DataUnavailableError: the Hub cannot be reached, or does not let us in.
    """
    pinned = revision is not None and bool(_COMMIT.fullmatch(revision))
    if pinned and _mark(repo, str(revision)).is_file() and (folder := _kept(repo, revision)):
        return folder, str(revision)
    try:
        return _asked_for(repo, revision)
    except (UserError, DataUnavailableError):
        if pinned and (folder := _kept(repo, revision)):  # whatever has become of the repository
            return _as_it_is(repo, folder)
        raise


def _asked_for(repo: str, revision: str | None) -> tuple[Path, str]:
    name = f"{repo}@{revision}" if revision else repo
    endpoint = huggingface_hub.constants.ENDPOINT
    try:
        about = HfApi().model_info(repo, revision=revision, timeout=_TIMEOUT_S)
        commit = about.sha
        if commit is None:
            raise DataUnavailableError(f"{endpoint} names no commit for {name}, so that its weights cannot be pinned")
        files = [file.rfilename for file in about.siblings or ()]
        if not any("/" not in file and file.endswith(".safetensors") for file in files):
            raise no_safetensors(name, files)
        with _quiet_unless_watched():
            folder = Path(snapshot_download(repo, revision=commit, allow_patterns=_WANTED))
        _remember(_mark(repo, commit))
        return folder, commit
    except HFValidationError as error:
        raise UserError(f"backbone {name!r} is no id of the Hub: {error}") from None
    except RevisionNotFoundError:
        raise UserError(f"backbone {repo!r} has no revision {revision!r} at {endpoint}") from None
    except GatedRepoError:
        raise DataUnavailableError(
            f"the weights of {name} are gated at {endpoint}: accept their terms there and set HF_TOKEN"
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            f"no backbone {repo!r} at {endpoint}: check its spelling, or set HF_TOKEN if it is private"
        ) from None
    except (_HTTP_ERROR, OfflineModeIsEnabled, LocalEntryNotFoundError, OSError) as error:
        if found := _kept(repo, revision):
            return _as_it_is(repo, found)
        raise DataUnavailableError(
            f"the weights of {name} cannot be had from {endpoint} ({_reason(error)}); set HF_ENDPOINT to a mirror "
            "that can be reached, give a local folder, or use `--backbone embedded`"
        ) from None


def _as_it_is(repo: str, folder: Path) -> tuple[Path, str]:
    """A copy that nobody can be asked to complete, and its commit."""
    if not _mark(repo, folder.name).is_file():
        _log.warning(
            "backbone %s is taken from the Hub's cache as it is, where files may lack that say how it pools and how "
            "much it reads; to be sure, name that: %s:pooling=cls,max_length=256",
            repo, repo,
        )  # fmt: skip
    return folder, folder.name


def _mark(repo: str, commit: str) -> Path:
    """There once all that is wanted of a commit has been fetched into this cache of the Hub's."""
    wanted = repr((huggingface_hub.constants.HF_HUB_CACHE, _WANTED))
    cache = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    return cache_folder() / "hub" / cache / f"{repo.replace('/', '--')}@{commit}"


def _remember(mark: Path) -> None:
    with suppress(OSError):  # it is asked for again then
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _kept(repo: str, revision: str | None) -> Path | None:
    """A copy with weights in the local cache of the Hub, if there is one."""
    try:
        folder = Path(snapshot_download(repo, revision=revision, allow_patterns=_WANTED, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        return None
    return folder if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")) else None


def no_safetensors(name: str, files: Iterable[str]) -> UserError:
    """The refusal of a backbone whose weights are not there in the one form that is read."""
    pickles = ", ".join(sorted(file for file in files if file.endswith((".bin", ".pt", ".pth", ".ckpt"))))
    if not pickles:
        return UserError(f"backbone {name!r} holds no *.safetensors, so there are no weights to read")
    return UserError(
        f"backbone {name!r} has its weights as a pickle only ({pickles}), which runs code when it is read; "
        "convert it to model.safetensors and give that folder"
    )


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextmanager
def _quiet_unless_watched() -> Iterator[None]:
    """No progress bars of the download where nobody sees them."""
    if are_progress_bars_disabled() or sys.stderr.isatty():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
