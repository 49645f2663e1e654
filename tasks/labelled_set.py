"""A labelled set: its train rows as the source of train sets, and its test rows for the tasks that measure on it."""

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from thawbench.contracts import ClassTarget, Input, Json, Labelled, Pair, Target
from thawbench.errors import UserError
from thawbench.tasks.pool import Pool, texts_of, unique


@dataclass(frozen=True)
class Split:
    """Rows with a gold label, and where each stood in its split.

    Attributes:
        places: row i of `rows` was row `places[i]` of the data, counted from 0.
        left_out: rows without a gold label, without a text, or that the set does not take.
    """

    rows: tuple[Labelled, ...]
    places: tuple[int, ...]
    left_out: int = 0

    def lines(self, part: str) -> Iterator[Json]:
        """All that a task reads of it, for a fingerprint: one list a row, under the part's name."""
        for place, row in zip(self.places, self.rows, strict=True):
            text: Json = row.input if isinstance(row.input, str) else list(row.input)
            yield [part, place, text, row.label, row.score]

    def only(self, kept: Sequence[bool]) -> "Split":
        """The rows that are kept; the others count as left out."""
        rows, places = tuple(compress(self.rows, kept)), tuple(compress(self.places, kept))
        return Split(rows, places, self.left_out + len(self.rows) - len(rows))


@dataclass(frozen=True)
class Splits:
    """A set's rows as they are, before any is dropped for being in both splits."""

    target: Target
    train: Split
    test: Split

    @property
    def groups(self) -> dict[str, str]:
        """The group at the top of each class's path, of classes without a test row too, as far as rows have paths."""
        return {str(row.label): row.path[0] for row in (*self.train.rows, *self.test.rows) if row.path}

    def trainable(self) -> Split:
        """The train rows that are no test rows."""
        hidden = {text_key(row.input) for row in self.test.rows}
        return self.train.only([text_key(row.input) not in hidden for row in self.train.rows])


class LabelledSet(abc.ABC):
    """One set of texts or pairs with classes or scores. A source of train sets (see `pool.Source`)."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """As it is spelled after `fewshot/`."""

    @property
    @abc.abstractmethod
    def version(self) -> int:
        """Raised when what is made of the data changes."""

    @property
    @abc.abstractmethod
    def data(self) -> str:
        """The data set on the Hub, or the file."""

    @property
    @abc.abstractmethod
    def revision(self) -> str:
        """The commit on the Hub, or the files' SHA-256."""

    @property
    @abc.abstractmethod
    def classes(self) -> tuple[str, ...]:
        """Its classes as far as they are known without its rows; empty for scores."""

    @property
    @abc.abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """Names out of `classification_scores`; the first is the main one."""

    @property
    def trains(self) -> bool:
        """Whether it has train rows; if not, it is there to be tested on."""
        return True

    @property
    def own(self) -> bool:
        """Whether it is a user's, who may edit it at any time."""
        return False

    @abc.abstractmethod
    def splits(self) -> Splits:
        """Both splits.

        Raises:
            DataUnavailableError: not to be had.
            UserError: rows that cannot be used; the first is named.
        """

    def __hash__(self) -> int:
        return hash((self.name, self.version, self.revision))

    def load(self) -> Pool:
        """The train rows, less those that are test rows too but for order in a pair, case and white space.

        Raises:
            DataUnavailableError: not to be had.
            UserError: rows that cannot be used, none at all, or a class without a train row.
        """
        if not self.trains:
            raise UserError(f"{self.name} has no train rows; it is there to be tested on, as in shift/NAME~{self.name}")
        splits = self.splits()
        train = splits.trainable()
        rows = train.rows
        _check_left(self.name, splits.train.rows, rows)
        _check_classes(self.name, splits, rows)
        keys = {text_key(row.input) for row in rows}
        scored_pairs = tuple(
            Pair(*row.input, score=row.score)
            for row in rows
            if row.score is not None and not isinstance(row.input, str)
        )
        return Pool(
            target=splits.target,
            labelled=rows,
            pairs=scored_pairs,
            texts=unique(text for row in rows for text in texts_of(row.input)),
            dropped=train.left_out,
            duplicates=len(rows) - len(keys),
        )


def _check_left(name: str, before: Sequence[Labelled], left: Sequence[Labelled]) -> None:
    """See that rows are left, and of each class, when those are dropped that are test rows too."""
    present = {row.label for row in left}
    lost = [row.label for row in before if row.label not in present]
    if lost:
        which, count = (f" with label {lost[0]!r}", lost.count(lost[0])) if left else ("", len(lost))
        raise UserError(
            f"{name}: every train row{which} ({count}) is a test row too, so that none is left; "
            "give the set other train rows or other test rows"
        )


def _check_classes(name: str, splits: Splits, rows: Sequence[Labelled]) -> None:
    if not isinstance(splits.target, ClassTarget):
        return
    classes = splits.target.classes
    present = {row.label for row in rows}
    for row, place in zip(splits.test.rows, splits.test.places, strict=True):
        if row.label not in present:
            raise UserError(f"{name}: test row {place + 1} has label {row.label!r}, which no train row has")
    if len(classes) < 2:
        raise UserError(f"{name} has one class only ({', '.join(classes)}); there is nothing to tell apart")
    if absent := [label for label in classes if label not in present]:
        raise UserError(f"{name}: no train row has label {', '.join(map(repr, absent[:5]))}; take it out of labels")


def text_key(item: Input) -> frozenset[str]:
    """What two items share that differ in nothing but case, white space and the order within a pair."""
    return frozenset(" ".join(text.lower().split()) for text in texts_of(item))
