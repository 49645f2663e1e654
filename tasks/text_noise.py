"""Noise by name on a set's rows: which texts it meets, from which seed, and how such noise is spelled."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from thawbench.contracts import Input, Labelled
from thawbench.errors import UserError
from thawbench.registry import noisers
from thawbench.tasks.pool import texts_of


def spoilt(
    rows: Sequence[Labelled], kind: str, strength: float, split: Literal["train", "test"]
) -> tuple[Labelled, ...]:
    """The rows of a whole split, their texts spoilt by the noiser `kind`; at strength 0 as they are.

    Nothing else goes into it, so that every strategy and every seed meets the same texts. The seed is that of the split
    and of the side of a pair; the noiser tells texts apart by their place.

    Raises:
        UserError: no such noiser, or it gives back another number of texts.
    """
    if strength == 0 or not rows:
        return tuple(rows)
    sides = zip(*(texts_of(row.input) for row in rows), strict=True)
    noiser, told = noisers.get(kind)(), []
    for number, side in enumerate(sides):
        texts = noiser(side, strength, _seed(split, number))
        if len(texts) != len(side):
            raise UserError(
                f"the text noiser {kind} gave {len(texts)} texts for {len(side)}; it must give one for each"
            )
        told.append(texts)
    inputs: list[Input] = list(told[0]) if len(told) == 1 else list(zip(told[0], told[1], strict=True))
    return tuple(replace(row, input=item) for row, item in zip(rows, inputs, strict=True))


def version(kind: str) -> int:
    """The noiser's version, part of whatever it went into.

    Raises:
        UserError: no such noiser; the nearest names are given.
    """
    return noisers.get(kind).version


def strength_of(text: str, where: str) -> float:
    """A strength out of a name.

    Raises:
        UserError: not a number from 0 to 1.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UserError(f"{where} must be a number from 0 to 1, and is {text}")
    return abs(value)  # -0 is 0


def shown(strength: float) -> str:
    """A strength as names have it: `0.1`, `1`."""
    return repr(strength).removesuffix(".0")


def _seed(*key: str | int) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:4], "big")
