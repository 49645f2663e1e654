"""Where Thawbench keeps what it can make again: vectors, the manifest of fingerprints, MTEB's own files."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$THAWBENCH_CACHE`, else `$XDG_CACHE_HOME/thawbench`, else `~/.cache/thawbench`. Not created here."""
    if chosen := os.environ.get("THAWBENCH_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "thawbench"
    return Path.home() / ".cache" / "thawbench"
