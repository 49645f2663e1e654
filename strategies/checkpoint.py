"""Where a training run keeps itself while it lasts, so that it can be killed and go on."""

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from thawbench.whole_file import replacing

_log = logging.getLogger(__name__)


class Checkpoint:
    """One run's file: tensors and plain JSON in a single safetensors, written beside and renamed.

    A file of another run (another schedule, another library) counts as missing, and so does a damaged one.
    """

    def __init__(self, path: Path, every_s: float) -> None:
        self.path = path
        self._every_s = every_s
        self._saved_at = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._saved_at >= self._every_s

    def load(self, run: str) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """The values and tensors that the run of this fingerprint saved last, or None."""
        if not self.path.is_file():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata()
                if metadata["run"] != run:
                    _log.warning("%s is of another training run; starting anew", self.path)
                    return None
                return json.loads(metadata["values"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is damaged (%s); starting anew", self.path, error)
            return None

    def save(self, run: str, values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Replace the file. One that cannot be written is reported, and the old one stays: training goes on."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as beside:
                save_file(dict(tensors), beside, {"run": run, "values": json.dumps(values)})
        except (SafetensorError, OSError) as error:
            _log.warning("training cannot be saved in %s: %s", self.path, error)
        self._saved_at = time.monotonic()


class _Folder:
    """Numbers the training runs of one fit, which come in the same order when it is repeated."""

    def __init__(self, path: Path, every_s: float) -> None:
        self.path = path
        self.every_s = every_s
        self.runs = 0

    def next(self) -> Checkpoint:
        self.runs += 1
        return Checkpoint(self.path / f"training-{self.runs}.safetensors", self.every_s)


_folder: ContextVar[_Folder | None] = ContextVar("_folder", default=None)


@contextmanager
def checkpointing(folder: Path | None, every_s: float = 60.0) -> Iterator[None]:
    """Training inside the block saves itself in `folder` and goes on from what it finds there; None saves nothing.

    Every fit needs a folder of its own. When the block ends well its files are removed, so keep its result inside it.
    """
    opened = None if folder is None else _Folder(folder, every_s)
    token = _folder.set(opened)
    try:
        yield
    finally:
        _folder.reset(token)
    if opened is not None:
        for file in opened.path.glob("training-*"):
            file.unlink(missing_ok=True)


def next_checkpoint() -> Checkpoint | None:
    """Where the training run that now begins is to save itself, if anywhere."""
    folder = _folder.get()
    return None if folder is None else folder.next()
