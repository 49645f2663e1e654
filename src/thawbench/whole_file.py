"""Files that are there whole or not at all, whoever reads, writes or is killed meanwhile."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which takes its place at the end.

    On any error nothing is left of it, and `path` is as it was. No two processes are given the same, not even on two
    nodes that share the folder.

    Raises:
        OSError: it cannot be put into place.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}.tmp")
    try:
        yield beside
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):  # a file that cannot be removed must not hide the first error
            beside.unlink(missing_ok=True)
        raise
