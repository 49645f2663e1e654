"""Draws for the embedded world: SHA-512 in counter mode, so that no version of anything can change them."""

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")


class Draws:
    """An endless row of integers out of a seed and the name of a stream; streams do not touch one another."""

    def __init__(self, seed: int, *stream: str) -> None:
        self._key = "/".join((str(seed), *stream)).encode()
        self._block = 0
        self._ready: list[int] = []

    def below(self, bound: int) -> int:
        """An integer in [0, bound)."""
        if not self._ready:
            digest = hashlib.sha512(self._key + self._block.to_bytes(8, "little")).digest()
            self._ready = list(struct.unpack("<8Q", digest))
            self._block += 1
        return self._ready.pop() % bound  # bounds are small: the bias of the remainder is under 2 ** -40

    def chance(self, percent: int) -> bool:
        """True in that many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[ItemT]) -> ItemT:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[ItemT]) -> list[ItemT]:
        """All items in a new order (Fisher and Yates)."""
        out = list(items)
        for last in range(len(out) - 1, 0, -1):
            other = self.below(last + 1)
            out[last], out[other] = out[other], out[last]
        return out

    def two(self, items: Sequence[ItemT]) -> tuple[ItemT, ItemT]:
        """Two different items."""
        first = self.below(len(items))
        return items[first], items[(first + 1 + self.below(len(items) - 1)) % len(items)]


def article(phrase: str) -> str:
    """The phrase behind `a` or `an`; every noun and adjective of the world goes by its first letter."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def sentence(clause: str, end: str = ".") -> str:
    """The clause with a capital at its start and a mark at its end."""
    return f"{clause[0].upper()}{clause[1:]}{end}"
