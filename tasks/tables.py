"""Rows as columns, from a split on the Hub or from a CSV, TSV, JSONL or parquet file."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from thawbench.errors import UserError, unknown
from thawbench.tasks.hub import load_split

_LONGEST_TEXT = 2**31 - 1
"""Characters in a field of a CSV file: the most that every platform's `csv` takes; by itself it stops at 131,072."""


@dataclass(frozen=True)
class Table:
    """Some rows.

    Attributes:
        where: for messages, such as `mine.csv`.
        columns: values by column, all of one length.
        names: the classes behind a column of integers, where the data says them.
        own: from a user's file, in which a hole is a mistake, and not a way to hide a gold label.
    """

    where: str
    columns: Mapping[str, Sequence[Any]]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: bool = True

    def column(self, name: str) -> Sequence[Any]:
        """One column.

        Raises:
            UserError: there is none of that name; the nearest are given.
        """
        if name not in self.columns:
            raise unknown(f"column of {self.where}", name, self.columns)
        return self.columns[name]


def hub_table(data: str, config: str | None, split: str, revision: str, use: str) -> Table:
    """One split of a data set on the Hub.

    Raises:
        DataUnavailableError: not to be had.
    """
    rows = load_split(data, config, split, revision, use)
    features = dict(rows.features)
    for column, kind in rows.features.items():
        if isinstance(fields := getattr(kind, "feature", None), Mapping):
            features.update({f"{column}.{field}": inner for field, inner in fields.items()})
    names = {column: tuple(kind.names) for column, kind in features.items() if hasattr(kind, "names")}
    where = " ".join(part for part in (data, config, split) if part)
    return Table(where, {column: rows[column] for column in rows.column_names}, names, own=False)


def flattened(table: Table, each: str) -> Table:
    """One row for every record in a column of lists of records, beside what its row has in other columns.

    Args:
        each: that column; the records' field x is the column `<each>.x`.

    Raises:
        UserError: there is no such column, or it holds something else; the first such row is named.
    """
    lists = list(table.column(each))
    for place, records in enumerate(lists):
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise UserError(f"{table.where}, row {place + 1}: {each} is no list of records; leave out each")
    found = [record for records in lists for record in records]
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        if name != each:
            columns[name] = [value for value, records in zip(values, lists, strict=True) for _ in records]
    for field_name in dict.fromkeys(key for record in found for key in record):
        columns[f"{each}.{field_name}"] = [record.get(field_name) for record in found]
    return replace(table, columns=columns)


def file_table(path: Path) -> Table:
    """A file by its ending.

    Raises:
        UserError: no such ending, or a file that is not what its ending says; the row is named.
    """
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path} is none of {', '.join(readers)}; convert it, or rename it if it is one")
    try:
        columns = readers[path.suffix.lower()](path)
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror or error}); check the path in the set's TOML") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    if not columns or not next(iter(columns.values())):
        raise UserError(f"{path} has no rows")
    return Table(path.name, columns)


def _csv(path: Path) -> dict[str, list[Any]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    csv.field_size_limit(_LONGEST_TEXT)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            rows = [row for row in reader if row]
        except csv.Error as error:
            raise UserError(f"{path}, line {reader.line_num}: {error}; mend its quotes") from None
    if len(set(header)) < len(header):
        raise UserError(f"{path} has two columns of one name: {', '.join(header)}; rename one")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise UserError(f"{path}, row {number} has {len(row)} fields, not {len(header)}; quote a text with commas")
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def _jsonl(path: Path) -> dict[str, list[Any]]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}, line {number} is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise UserError(f'{path}, line {number} is not an object such as {{"text": "…", "label": "…"}}')
        rows.append(row)
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}


def _parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns: dict[str, list[Any]] = pq.read_table(path).to_pydict()
    except pa.ArrowException as error:
        raise UserError(f"{path} is not a parquet file: {' '.join(str(error).split())[:200]}") from None
    return columns
