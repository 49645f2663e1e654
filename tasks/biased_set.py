"""A labelled set whose train rows are cut by the words in them, and the same set cut by chance, as its control."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from thawbench.contracts import Input
from thawbench.tasks import sampling
from thawbench.tasks.labelled_set import LabelledSet, Split, Splits
from thawbench.tasks.pool import texts_of

WORDS = ("women", "woman", "girl", "girls", "mother", "wife", "female")
_ANY_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)


def holds_word(item: Input) -> bool:
    """Whether one of `WORDS` stands in a text, or in one of a pair, as a whole word in whatever case."""
    return any(map(_ANY_WORD.search, texts_of(item)))


@dataclass(frozen=True)
class BiasedSet(LabelledSet):
    """A set with fewer train rows, and all of its test rows.

    `biased` leaves out the train rows that hold one of `WORDS`. `thinned` leaves out as many of each class, drawn once
    by chance, whatever the sample seed: it has as many rows and as many of each class as `biased` has, so that what
    the two differ in is which rows they are.
    """

    base: LabelledSet
    cut: Literal["biased", "thinned"]

    @property
    def name(self) -> str:
        return f"{self.base.name}_{self.cut}"

    @property
    def version(self) -> int:
        return self.base.version

    @property
    def data(self) -> str:
        return self.base.data

    @property
    def revision(self) -> str:
        return self.base.revision

    @property
    def classes(self) -> tuple[str, ...]:
        return self.base.classes

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.base.metrics

    __hash__ = LabelledSet.__hash__

    def splits(self) -> Splits:
        """The base's, with the train rows that are left."""
        whole = self.base.splits()
        train = whole.trainable()  # test rows go first, or the two cuts could lose different numbers of them
        return Splits(whole.target, self._cut(train), whole.test)

    def _cut(self, train: Split) -> Split:
        holding = [holds_word(row.input) for row in train.rows]
        if self.cut == "biased":
            return train.only([not held for held in holding])
        quota = Counter(row.label for row, held in zip(train.rows, holding, strict=True) if held)
        kept = [True] * len(train.rows)
        for number in sampling.order(f"thinned/{self.base.name}", 0, len(train.rows)):
            label = train.rows[number].label
            if quota[label]:
                quota[label] -= 1
                kept[number] = False
        return train.only(kept)


def cuts(base: LabelledSet) -> tuple[BiasedSet, BiasedSet]:
    """Both cuts of a set."""
    return BiasedSet(base, "biased"), BiasedSet(base, "thinned")
