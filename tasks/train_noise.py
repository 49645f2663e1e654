"""Noisy train sets, named by a suffix: `sst2@100~typos-0.1~labels-0.2`.

Text noise spoils every row of the train split, the unlabelled pool included, in the same way for every sample and n.
Label noise gives exactly round(share * n) of the n rows of a sample another class, drawn from the sample seed. The rows
and those of them that are dev are the ones of the clean set, so that the two compare row by row.

Dev is spoilt like the rest. Nobody who has noisy data has a clean fifth of it: a strategy that stops or chooses by
clean labels would know more than its user does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from thawbench.contracts import ClassTarget, Json, Labelled, Relation, ScoreTarget, Target
from thawbench.errors import UserError, unknown
from thawbench.registry import noisers
from thawbench.tasks import sampling
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.pool import Pool, texts_of, unique
from thawbench.tasks.text_noise import shown, spoilt, strength_of, version

LABELS = "labels"
"""The kind that spoils classes and no text."""

_VERSION = 1
_SEPARATOR = "~"
_PART = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)-(.+)")


@dataclass(frozen=True)
class TrainNoise:
    """What is spoilt in a train set, and how much.

    Attributes:
        texts: noisers by name with their strengths above 0, in the order of their names, which they are applied in.
        labels: the share of the rows that get another class.
    """

    texts: tuple[tuple[str, float], ...] = ()
    labels: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.texts or self.labels)

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """Every kind with its strength, the labels last."""
        return (*self.texts, *([(LABELS, self.labels)] if self.labels else []))

    @property
    def suffix(self) -> str:
        """What follows the clean set's name."""
        return "".join(f"{_SEPARATOR}{kind}-{shown(strength)}" for kind, strength in self.parts)

    def fingerprint(self, clean: str) -> str:
        """That of the noisy set, out of the clean one's: its rows follow from both, and planning needs none of them."""
        if not self:
            return clean
        spoilers: list[list[Json]] = [[kind, version(kind), strength] for kind, strength in self.texts]
        return fingerprint([clean, _VERSION, *spoilers, [LABELS, self.labels]])

    def check(self, name: str, target: Target | None, rows: int) -> None:
        """Refuse what this noise cannot spoil.

        Args:
            rows: that are taken of the set, dev's among them.

        Raises:
            UserError: a set without labelled rows, or label noise on one of scores, or on so few rows that it spoils
                none.
        """
        if self and target is None:
            raise UserError(f"{name}{self.suffix}: {name} has no labels; noise goes on labelled sets")
        if self.labels and isinstance(target, ScoreTarget):
            raise UserError(f"{name}{self.suffix}: {name} has scores and no classes; leave out {LABELS}")
        if self.labels and not round(self.labels * rows):
            raise UserError(
                f"{name}{self.suffix}: {shown(self.labels)} of {rows} rows spoils no label; take more of either"
            )


CLEAN = TrainNoise()


def is_part(text: str) -> bool:
    """Whether this is one noise and its strength, as it stands behind a set's name."""
    match = _PART.fullmatch(text)
    return match is not None and match[1] in _kinds()


def parse(name: str) -> tuple[str, TrainNoise]:
    """The clean set's name, and its noise.

    Raises:
        UserError: malformed, no such noiser, or a strength that is none.
    """
    clean, *parts = name.split(_SEPARATOR)
    given: dict[str, float] = {}
    for part in parts:
        match = _PART.fullmatch(part)
        if match is None or match[1] in given:
            raise UserError(
                f"malformed name {name!r} (after {_SEPARATOR} stands a noise and its strength, each once, as in "
                f"{clean}{_SEPARATOR}{LABELS}-0.2)"
            )
        given[match[1]] = strength_of(match[2], f"{match[1]} of {name}")
    return clean, train_noise(given)


def train_noise(strengths: dict[str, float]) -> TrainNoise:
    """The noise of these kinds; one of strength 0 is none.

    Raises:
        UserError: no such noiser; the nearest names are given.
    """
    for kind in strengths:
        if kind not in _kinds():
            raise unknown("noise", kind, _kinds())
    texts = sorted((kind, strength) for kind, strength in strengths.items() if kind != LABELS and strength)
    return TrainNoise(tuple(texts), strengths.get(LABELS, 0.0))


def _kinds() -> tuple[str, ...]:
    return (LABELS, *noisers.names())


def spoil_texts(pool: Pool, texts: Sequence[tuple[str, float]]) -> Pool:
    """A labelled pool with the texts of every row spoilt."""
    rows: tuple[Labelled, ...] = pool.labelled
    for kind, strength in texts:
        rows = spoilt(rows, kind, strength, "train")
    pairs = tuple(  # there are none, or one a row
        replace(pair, a=row.input[0], b=row.input[1]) for pair, row in zip(pool.pairs, rows, strict=False)
    )
    sides = (text for row in rows for text in texts_of(row.input))
    return replace(pool, labelled=rows, pairs=pairs, texts=unique(sides))


def spoil_labels(pool: Pool, share: float, sample: Sequence[int], name: str, sample_seed: int) -> Pool:
    """The pool with round(share * n) of the sample's n rows in another class, each of the others equally likely.

    What is flipped at a share is flipped at a greater one too, to the same class. The path of a hierarchy becomes that
    of the first row of the new class.

    Args:
        sample: places of rows in the pool.
        name: of the clean set, which with the seed decides the draw.
    """
    assert isinstance(pool.target, ClassTarget)
    classes = pool.target.classes
    draws = sampling.generator(LABELS, sample_seed, name)
    order = draws.permutation(len(sample)).tolist()
    steps = draws.integers(1, len(classes), size=len(sample)).tolist()
    paths = {row.label: row.path for row in reversed(pool.labelled)}
    labelled, pairs = list(pool.labelled), list(pool.pairs)
    for position in order[: round(share * len(sample))]:
        row = labelled[sample[position]]
        label = classes[(classes.index(str(row.label)) + steps[position]) % len(classes)]
        labelled[sample[position]] = replace(row, label=label, path=paths[label])
        if pairs:  # of classes: each says its relation, which is its row's class
            pairs[sample[position]] = replace(pairs[sample[position]], relation=cast("Relation", label))
    return replace(pool, labelled=tuple(labelled), pairs=tuple(pairs))
