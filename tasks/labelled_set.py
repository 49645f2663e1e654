"""A labelled set: its train rows as the source of train sets, and its test rows for the tasks that measure on it."""

import abc
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from thawbench.contracts import ClassTarget, Input, Labelled, Pair, ScoreTarget, Target
from thawbench.errors import UserError, unknown
from thawbench.tasks import sampling
from thawbench.tasks.pool import Pool, unique
from thawbench.tasks.set_description import SetDescription
from thawbench.tasks.tables import Table, file_table, hub_table


@dataclass(frozen=True)
class Split:
    """Rows with a gold label, and where each stood in its split.

    Attributes:
        places: row i of `rows` was row `places[i]` of the data, counted from 0.
        left_out: rows without a gold label, or without a text.
    """

    rows: tuple[Labelled, ...]
    places: tuple[int, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Splits:
    """A set's rows as they are, before any is dropped for being in both splits."""

    target: Target
    train: Split
    test: Split


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
            UserError: rows that cannot be used, or a class without a train row.
        """
        splits = self.splits()
        hidden = {_key(row.input) for row in splits.test.rows}
        rows = tuple(row for row in splits.train.rows if _key(row.input) not in hidden)
        _check_classes(self.name, splits, rows)
        keys = {_key(row.input) for row in rows}
        scored_pairs = tuple(
            Pair(*row.input, score=row.score)
            for row in rows
            if row.score is not None and not isinstance(row.input, str)
        )
        return Pool(
            target=splits.target,
            labelled=rows,
            pairs=scored_pairs,
            texts=unique(text for row in rows for text in _texts(row.input)),
            dropped=splits.train.left_out + len(splits.train.rows) - len(rows),
            duplicates=len(rows) - len(keys),
        )


@dataclass(frozen=True)
class DescribedSet(LabelledSet):
    """The set that a TOML file describes."""

    description: SetDescription

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def version(self) -> int:
        return self.description.version

    @property
    def data(self) -> str:
        return self.description.data or self.description.file

    @property
    def revision(self) -> str:
        return self.description.revision

    @property
    def classes(self) -> tuple[str, ...]:
        return self.description.labels

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.description.metrics

    __hash__ = LabelledSet.__hash__

    def splits(self) -> Splits:
        """Both splits; the last two sets read are kept, as train sets and tasks read the same ones."""
        return _splits(self.description)


@lru_cache(maxsize=2)
def _splits(description: SetDescription) -> Splits:
    if description.data:
        tables = [
            hub_table(description.data, description.config, split, description.revision, description.name)
            for split in (description.train, description.test)
        ]
    else:
        files = (description.file, description.test_file) if description.test_file else (description.file,)
        tables = [file_table(description.folder / file) for file in files]
    found = [_split(table, description) for table in tables]
    train, test = found if len(found) == 2 else _cut(found[0], description)
    if description.score:
        return Splits(ScoreTarget(*description.range), train, test)
    # a file's own classes, where the description does not name them
    present = sorted({str(row.label) for row in train.rows})
    names = next((table.names[description.label] for table in tables if description.label in table.names), ())
    renamed = tuple(dict(description.rename).get(name, name) for name in names)
    return Splits(ClassTarget(description.labels or renamed or tuple(present)), train, test)


def _split(table: Table, description: SetDescription) -> Split:
    """A table's usable rows."""
    texts = _inputs(table, description.text)
    others = _inputs(table, description.text_b) if description.text_b else [None] * len(texts)
    column = table.column(description.score or description.label)
    rename = dict(description.rename)
    rows: list[Labelled] = []
    places: list[int] = []
    for place, (a, b, value) in enumerate(zip(texts, others, column, strict=True)):
        if not a.strip() or (b is not None and not b.strip()):
            if table.own:
                raise UserError(f"{table.where}, row {place + 1} has an empty text; fill it or delete the row")
            continue
        item: Input = a if b is None else (a, b)
        if description.score:
            score = _score(value, table, place, description)
            if score is None:
                continue
            rows.append(Labelled(item, score=score))
        else:
            label = _label(value, table.names.get(description.label, ()), table.own)
            if not label:
                if table.own:
                    raise UserError(f"{table.where}, row {place + 1} has no label; fill it or delete the row")
                continue
            label = rename.get(label, label)
            if description.labels and label not in description.labels:
                told = unknown("label", label, description.labels)
                raise UserError(f"{table.where}, row {place + 1} has an {told}")
            rows.append(Labelled(item, label=label))
        places.append(place)
    if not rows:
        raise UserError(
            f"every gold label of {table.where} is hidden (below 0 or absent); name a split that has labels"
        )
    return Split(tuple(rows), tuple(places), len(texts) - len(rows))


def _inputs(table: Table, names: Sequence[str]) -> list[str]:
    columns = [table.column(name) for name in names]
    texts = []
    for place, values in enumerate(zip(*columns, strict=True)):
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, str | None):
                raise UserError(
                    f"{table.where}, row {place + 1}: {name} is {type(value).__name__}, not text: {value!r}"
                )
        # a single column stays as it is, to the last blank
        texts.append((values[0] or "") if len(values) == 1 else " ".join(value for value in values if value))
    return texts


def _label(value: Any, names: Sequence[str], own: bool) -> str | None:
    """A class by name; None where the data hides it."""
    if names and isinstance(value, int):
        return names[value] if value >= 0 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and value < 0 and not own):
        return None
    return str(value).strip()


def _score(value: Any, table: Table, place: int, description: SetDescription) -> float | None:
    """A gold score; None where the data hides it."""
    low, high = description.range
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not table.own and (math.isnan(score) or score < min(low, 0)):
        return None
    if not low <= score <= high:
        raise UserError(f"{table.where}, row {place + 1}: score {value!r} is not a number from {low:g} to {high:g}")
    return score


def _cut(whole: Split, description: SetDescription) -> tuple[Split, Split]:
    """Train and test out of one file: a fixed share by class, drawn once, whatever the sample seed."""
    order = sampling.order(f"test/{description.name}", 0, len(whole.rows))
    rows = [whole.rows[row] for row in order]
    if len(rows) < 2:
        raise UserError(f"{description.file} has one row; a train row and a test row are the least")
    held = sampling.dev_rows([row.label if row.score is None else row.score for row in rows], description.test_share)
    test = {order[position] for position in held}
    parts = [[row for row in range(len(rows)) if (row in test) == wanted] for wanted in (False, True)]
    train, hidden = (
        Split(tuple(whole.rows[row] for row in part), tuple(whole.places[row] for row in part)) for part in parts
    )
    return train, hidden


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


def _texts(item: Input) -> Iterator[str]:
    yield from (item,) if isinstance(item, str) else item


def _key(item: Input) -> frozenset[str]:
    return frozenset(" ".join(text.lower().split()) for text in _texts(item))
