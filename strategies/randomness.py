"""Random numbers by (seed, stream, step): what is drawn depends on these three and on nothing that ran before."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(seed: int, stream: str, step: int = 0) -> Iterator[None]:
    """Run a block (dropout, weight drawing) with torch's generators seeded, and put them back as they were.

    Since the seed comes from (seed, stream, step), a resumed run has no generator state to restore. Covers the CPU
    and, where CUDA or MPS is in use, its generators; Python's and numpy's are left alone.
    """
    derived = _derived(seed, stream, step)
    # Seeding CUDA before its first use would only queue the seed, and so change what the caller draws later.
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = list(range(torch.cuda.device_count())) if in_use else []
    mps_state = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(derived)
        if devices:
            torch.cuda.manual_seed_all(derived)
        if mps_state is not None:
            torch.mps.manual_seed(derived)
        try:
            yield
        finally:
            if mps_state is not None:
                torch.mps.set_rng_state(mps_state)


def generator(seed: int, stream: str, step: int = 0) -> np.random.Generator:
    """A numpy generator of its own for (seed, stream, step)."""
    return np.random.default_rng(_derived(seed, stream, step))


def _derived(seed: int, stream: str, step: int) -> int:
    """63 bits: torch takes no more without a sign."""
    digest = hashlib.sha256(f"{seed}\0{stream}\0{step}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
