"""Counts what encoding costs, so that a record can say it: texts, tokens, truncations, seconds as of a cold cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class EncodeMeter:
    """A running total. `seconds` of a cached entry are those that it took when it was made."""

    texts: int = 0
    tokens: int = 0
    truncated: int = 0
    zero_vectors: int = 0
    seconds: float = 0.0

    def add(
        self, *, texts: int = 0, tokens: int = 0, truncated: int = 0, zero_vectors: int = 0, seconds: float = 0.0
    ) -> None:
        """Add one encode call."""
        self.texts += texts
        self.tokens += tokens
        self.truncated += truncated
        self.zero_vectors += zero_vectors
        self.seconds += seconds


_meters: ContextVar[tuple[EncodeMeter, ...]] = ContextVar("_meters", default=())


@contextmanager
def metered() -> Iterator[EncodeMeter]:
    """A meter that sees every encode call inside the block; blocks may nest."""
    meter = EncodeMeter()
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def count(*, texts: int = 0, tokens: int = 0, truncated: int = 0, zero_vectors: int = 0, seconds: float = 0.0) -> None:
    """Report one encode call to every open meter."""
    for meter in _meters.get():
        meter.add(texts=texts, tokens=tokens, truncated=truncated, zero_vectors=zero_vectors, seconds=seconds)
