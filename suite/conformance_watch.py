"""What a fit does beside its result: which texts it has tokenised, and what becomes of the global generators."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from thawbench.contracts import Input, TrainSet
from thawbench.strategies.encoder import Encoder, Tokens


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Leave the global generators as they were before the block."""
    python, numpy, torch_cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(torch_cpu)


def seed_generators(seed: int) -> None:
    """Seed the three global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def generators() -> dict[str, str]:
    """Their states, to compare."""
    return {
        "random": repr(random.getstate()),
        "numpy": repr([part.tolist() if isinstance(part, np.ndarray) else part for part in np.random.get_state()]),  # noqa: NPY002
        "torch": torch.get_rng_state().numpy().tobytes().hex(),
    }


def texts_of(data: TrainSet) -> Iterator[str]:
    """Every text that can be reached from a train set."""
    for row in (*data.labelled, *data.dev.labelled):
        yield from (row.input,) if isinstance(row.input, str) else row.input
    for pair in (*data.pairs, *data.dev.pairs):
        yield from (pair.a, pair.b)
    yield from data.texts
    for document in data.documents:
        yield from document


@contextmanager
def tokenized() -> Iterator[list[str]]:
    """Every text that any encoder tokenises inside the block."""
    seen: list[str] = []
    tokenize = Encoder.tokenize

    def watched(self: Encoder, inputs: Sequence[Input]) -> list[Tokens]:
        for item in inputs:
            seen.extend((item,) if isinstance(item, str) else item)
        return tokenize(self, inputs)

    Encoder.tokenize = watched  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Encoder.tokenize = tokenize  # type: ignore[method-assign]
