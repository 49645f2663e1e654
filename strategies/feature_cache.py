"""Vectors that were computed before: one file per (encoder key, list of texts)."""

import functools
import hashlib
import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from thawbench.cache import cache_folder
from thawbench.contracts import FloatArray

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Features:
    """What one encode call gave, and what it took when nothing was cached.

    Attributes:
        vectors: (texts, dim) float32.
        tokens: that were computed, padding left out.
        truncated: texts that were longer than the limit.
        seconds: wall clock of the computation, tokenizing included.
    """

    vectors: FloatArray
    tokens: int
    truncated: int
    seconds: float


class FeatureCache:
    """A folder of features. Safe under several writers and kill -9: an entry appears whole, by rename, or not at all.

    Nothing that goes wrong here fails an encode: an entry that is damaged is set aside (`*.damaged`) and counts as
    missing, and a folder that cannot be written is reported once and left alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def default(cls) -> "FeatureCache":
        """The one in `thawbench.cache.cache_folder()`."""
        return cls(cache_folder() / "features")

    def path(self, key: str, texts: Sequence[str]) -> Path:
        """The file that holds, or would hold, the features of this list; an encoder's entries share a folder."""
        return self.folder / key / f"{texts_hash(texts)}.safetensors"

    def get(self, key: str, texts: Sequence[str]) -> Features | None:
        """The features of this list of texts by this encoder, or None."""
        path = self.path(key, texts)
        try:
            return _read(path, len(texts))
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(f"feature cache {self.folder} cannot be read ({error}); vectors are computed anew")
        except (SafetensorError, ValueError, KeyError) as error:
            _log.warning("cached vectors in %s are damaged (%s); set aside and computed anew", path, error)
            _set_aside(path)
        return None

    def put(self, key: str, texts: Sequence[str], features: Features) -> None:
        """Keep the features of this list of texts."""
        vectors = np.ascontiguousarray(features.vectors)
        metadata = {
            "tokens": str(features.tokens),
            "truncated": str(features.truncated),
            "seconds": repr(features.seconds),
            "sha256": hashlib.sha256(vectors.tobytes()).hexdigest(),
        }
        try:
            _write(self.path(key, texts), save({"vectors": vectors}, metadata))
        except OSError as error:
            _warn_once(f"feature cache {self.folder} cannot be written ({error.strerror}); vectors are not kept")


def texts_hash(texts: Sequence[str]) -> str:
    """SHA-256 of a list of texts, each preceded by its length, so that ["ab"] and ["a", "b"] differ."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def cache_size(folder: Path) -> tuple[int, int]:
    """How many files lie under a cache folder, links aside, and their bytes; (0, 0) if it is not there."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                sizes.append(path.stat().st_size)
        except OSError:  # another process has just renamed it
            continue
    return len(sizes), sum(sizes)


def _read(path: Path, rows: int) -> Features:
    path.stat()  # safetensors words a missing file in its own way, differently by version
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        vectors = file.get_tensor("vectors")
    if vectors.ndim != 2 or len(vectors) != rows or vectors.dtype != np.float32:
        raise ValueError(f"expected {rows} float32 vectors, found {vectors.dtype} {vectors.shape}")
    if hashlib.sha256(vectors.tobytes()).hexdigest() != metadata["sha256"]:
        raise ValueError("the bytes are not those of its checksum")
    return Features(vectors, int(metadata["tokens"]), int(metadata["truncated"]), float(metadata["seconds"]))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.stem[:16]}-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _set_aside(path: Path) -> None:
    try:
        path.replace(path.with_suffix(".damaged"))
    except OSError as error:
        _warn_once(f"feature cache entry {path} cannot be set aside ({error.strerror})")


@functools.cache
def _warn_once(message: str) -> None:
    _log.warning(message)
