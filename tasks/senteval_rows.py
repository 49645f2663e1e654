"""What SentEval's tasks read: which splits of which labelled sets, and in which role."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Json, Labelled
from thawbench.tasks.described_set import DescribedSet
from thawbench.tasks.labelled_set import Split
from thawbench.tasks.set_catalog import named_set

_TWO_OF_FIVE = (("very negative", "negative"), ("very positive", "positive"))


@dataclass(frozen=True)
class Part:
    """A split of a labelled set; `in_two` makes two classes of SST's five degrees, and leaves the middle one out."""

    labelled: str
    split: str
    in_two: bool = False


@dataclass(frozen=True)
class Recipe:
    """Where rows come from. Without `test`, train rows are tested in folds; without `dev`, C is chosen in folds."""

    train: tuple[Part, ...]
    dev: tuple[Part, ...] = ()
    test: tuple[Part, ...] = ()


RECIPES = {
    "mr": Recipe(tuple(Part("rotten_tomatoes", split) for split in ("train", "validation", "test"))),
    "subj": Recipe((Part("subj", "train"), Part("subj", "test"))),
    "mpqa": Recipe((Part("mpqa", "train"), Part("mpqa", "test"))),
    # GLUE hides the labels of SST-2's test split, which SST-5 has
    "sst2": Recipe((Part("sst2", "train"),), (Part("sst2", "validation"),), (Part("sst5", "test", in_two=True),)),
    # the original train split is GLUE's train and validation
    "mrpc": Recipe((Part("mrpc", "train"), Part("mrpc", "validation")), test=(Part("mrpc", "test"),)),
    "world/meals": Recipe((Part("world/meals", "train"),), test=(Part("world/meals", "test"),)),
}


@dataclass(frozen=True)
class Rows:
    """Rows of one role, each with an id of its split and its place in it."""

    names: tuple[str, ...]
    rows: tuple[Labelled, ...]

    @property
    def labels(self) -> NDArray[Any]:
        """(rows,) classes by name."""
        return np.array([str(row.label) for row in self.rows])

    def lines(self, role: str) -> Iterator[Json]:
        """For the fingerprint: one list a row."""
        for name, row in zip(self.names, self.rows, strict=True):
            yield [role, name, row.input if isinstance(row.input, str) else list(row.input), row.label]


@dataclass(frozen=True)
class Loaded:
    """The rows of a task by their roles; `dev` and `test` may be empty."""

    train: Rows
    dev: Rows
    test: Rows


def read(parts: Sequence[Part]) -> Rows:
    """The rows of some splits, one after another.

    Raises:
        DataUnavailableError: not to be had.
    """
    splits = [_split(part) for part in parts]
    names = [f"{part.split}:{place}" for part, split in zip(parts, splits, strict=True) for place in split.places]
    return Rows(tuple(names), tuple(row for split in splits for row in split.rows))


def _split(part: Part) -> Split:
    found = named_set(part.labelled)
    if not isinstance(found, DescribedSet) or not found.description.data:
        splits = found.splits()
        return splits.train if part.split == "train" else splits.test
    description = replace(found.description, train="", test=part.split)
    if part.in_two:
        description = replace(description, rename=_TWO_OF_FIVE, drop=("neutral",), labels=("negative", "positive"))
    return DescribedSet(description).splits().test
