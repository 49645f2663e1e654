"""The backbone `tiny`: the one place where the embedded world's texts meet the machinery that learns from them.

It stands outside `tasks` and `strategies`, which do not import each other.
"""

import dataclasses
import hashlib
import json
import os
import secrets
import shutil
import sys
from pathlib import Path

import tokenizers
import torch
import transformers
from safetensors import SafetensorError

from thawbench.cache import cache_folder
from thawbench.errors import UserError
from thawbench.strategies.tiny_backbone import Pretraining, make_backbone
from thawbench.tasks.world import make_world, texts

VERSION = 2
"""Raised whenever the same texts and the same recipe come to give another backbone."""


def tiny_folder(recipe: Pretraining | None = None) -> Path:
    """Where `tiny` lies, ready to be loaded. The first time it is pretrained, for some 20 s on a quiet core.

    Its name holds a hash of the texts, the recipe and the libraries, so that it is made again when one of them changes.

    Raises:
        UserError: the cache cannot be written.
    """
    recipe = Pretraining() if recipe is None else recipe
    read = texts(make_world(0))
    versions = [torch.__version__, transformers.__version__, tokenizers.__version__]
    determines = json.dumps([dataclasses.asdict(recipe), versions, read], sort_keys=True)
    hashed = hashlib.sha256(determines.encode()).hexdigest()[:16]
    folder = cache_folder() / "backbones" / f"tiny-v{VERSION}-{hashed}"
    if folder.is_dir():
        return folder
    print(
        f"backbone tiny: pretraining it on {len(read)} sentences of the embedded world, once, in {folder}",
        file=sys.stderr,
        flush=True,
    )
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        fresh.mkdir(parents=True)
        make_backbone(read, fresh, recipe)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first, with the same bytes
                raise
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"backbone 'tiny' cannot be written in {folder}: {error}; free some space or set THAWBENCH_CACHE"
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder
