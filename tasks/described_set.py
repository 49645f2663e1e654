"""The labelled set that a TOML file describes: its rows out of a data set on the Hub, or out of files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from thawbench.contracts import ClassTarget, Input, Labelled, ScoreTarget
from thawbench.errors import UserError, unknown
from thawbench.tasks import sampling
from thawbench.tasks.labelled_set import LabelledSet, Split, Splits
from thawbench.tasks.set_description import SetDescription, check_groups
from thawbench.tasks.tables import Table, file_table, flattened, hub_table


@dataclass(frozen=True)
class DescribedSet(LabelledSet):
    """The set that a TOML file describes.

    Attributes:
        own: a user's, who may edit the file at any time; what the file says is then in its keys, version or not.
    """

    description: SetDescription
    own: bool = False

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
        found = self.description.revision
        if self.own and self.description.data:  # that of files is one of the TOML file, too
            return f"{found}+{self.description.meaning[:16]}"
        return found

    @property
    def classes(self) -> tuple[str, ...]:
        return self.description.labels

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.description.metrics

    @property
    def trains(self) -> bool:
        return bool(self.description.train)

    __hash__ = LabelledSet.__hash__

    def splits(self) -> Splits:
        """Both splits; the last four sets read are kept, as train sets and tasks read the same ones."""
        return _splits(self.description)


@lru_cache(maxsize=4)
def _splits(description: SetDescription) -> Splits:
    if description.data:
        tables = [
            hub_table(description.data, description.config, split, description.revision, description.name)
            for split in (description.train, description.test)
            if split
        ]
    else:
        files = (description.file, description.test_file) if description.test_file else (description.file,)
        tables = [file_table(description.folder / file) for file in files]
    if description.each:
        tables = [flattened(table, description.each) for table in tables]
    found = [_split(table, description) for table in tables]
    if not description.train:
        train, test = Split((), ()), found[0]
    else:
        train, test = found if len(found) == 2 else _cut(found[0], description)
    if description.score:
        return Splits(ScoreTarget(*description.range), train, test)
    # the data's own classes, where the description does not name them: as they are listed, else those that there are
    present = sorted({str(row.label) for row in train.rows or test.rows})
    names = next((table.names[description.label] for table in tables if description.label in table.names), ())
    rename = dict(description.rename)
    listed = tuple(dict.fromkeys(rename.get(name, name) for name in names if name not in description.drop))
    classes = description.labels or listed or tuple(present)
    check_groups(description.groups, classes, f"the set {description.name}")  # only now are a file's classes known
    return Splits(ClassTarget(classes), train, test)


def _split(table: Table, description: SetDescription) -> Split:
    """A table's usable rows."""
    texts = _inputs(table, description.text)
    others = _inputs(table, description.text_b) if description.text_b else [None] * len(texts)
    column = table.column(description.score or description.label)
    rename, paths = dict(description.rename), description.paths
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
            if isinstance(value, list | dict):
                raise UserError(
                    f"{table.where}, row {place + 1}: the label {value!r:.60} is a {type(value).__name__}; "
                    "a row has one class, a text or a number"
                )
            label = _label(value, table.names.get(description.label, ()), table.own)
            if not label:
                if table.own:
                    raise UserError(f"{table.where}, row {place + 1} has no label; fill it or delete the row")
                continue
            if label in description.drop:
                continue
            label = rename.get(label, label)
            if description.labels and label not in description.labels:
                told = unknown("label", label, description.labels)
                raise UserError(f"{table.where}, row {place + 1} has an {told}")
            rows.append(Labelled(item, label=label, path=paths.get(label, ())))
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
    if value is None or (isinstance(value, float) and math.isnan(value)):  # nan is how pandas writes a hole
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value < 0 and not own:
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
