"""Counts what encoding costs, so that a record can say it: texts, tokens, truncations, seconds as of a cold cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class EncodeMeter:
    """A running total.

    Attributes:
        seconds: as of a cold cache; those of a cached entry are the ones it took when it was made.
        spent: seconds that went by in this process.
    """

    texts: int = 0
    tokens: int = 0
    truncated: int = 0
    zero_vectors: int = 0
    seconds: float = 0.0
    spent: float = 0.0


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


def count(
    *,
    texts: int = 0,
    tokens: int = 0,
    truncated: int = 0,
    zero_vectors: int = 0,
    seconds: float = 0.0,
    spent: float | None = None,
) -> None:
    """Report one encode call to every open meter; `spent` defaults to `seconds`."""
    for meter in _meters.get():
        meter.texts += texts
        meter.tokens += tokens
        meter.truncated += truncated
        meter.zero_vectors += zero_vectors
        meter.seconds += seconds
        meter.spent += seconds if spent is None else spent
