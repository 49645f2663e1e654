"""A labelled set as data: one small TOML file says where its rows are, what its columns mean, how it is measured."""

import hashlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from thawbench.errors import UserError, unknown
from thawbench.tasks.classification_scores import BESIDE, CLASS_METRICS, SCORE_METRICS
from thawbench.tasks.fingerprint import fingerprint

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class SetDescription:
    """What a TOML file says; each attribute but `path` is one of its keys.

    Attributes:
        name: as it is spelled after `fewshot/`; the file's own name unless given.
        version: raised when the file's meaning changes while its data does not.
        data, config, revision: a data set on the Hub; the revision of a set of files is the SHA-256 of all of them.
        train, test: splits on the Hub; an empty train is that of a set which is there to be tested on.
        file, test_file, test_share: a CSV, TSV, JSONL or parquet file beside the TOML file instead, with the test rows
            in a second file, or as a share of the first (a fifth, by class, unless given).
        each: a column of lists of records, each of which is a row; the field x of a column c is the column `c.x`.
        text, text_b: columns; several are joined by a space. With `text_b` an item is a pair.
        label: the column of classes.
        labels: the classes by name, in the order of a head's columns; those of the train rows unless given.
        rename: what the data calls a class, and its name here; two may get one name.
        drop: classes, as the data calls them, whose rows are left out.
        groups: what stands above the classes: each group and the classes and groups in it.
        score, range: the column of scores instead of classes, and the least and the greatest one.
        metrics: the first is the main one. With groups there is coarse accuracy beside those that are given.
        title, licence: for the reader.
        path: the file itself.
    """

    name: str
    path: Path
    version: int = 1
    data: str = ""
    config: str | None = None
    revision: str = "main"
    train: str = "train"
    test: str = "test"
    file: str = ""
    test_file: str = ""
    test_share: float = 0.0
    each: str = ""
    text: tuple[str, ...] = ("text",)
    text_b: tuple[str, ...] = ()
    label: str = ""
    labels: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    drop: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    score: str = ""
    range: tuple[float, float] = (0.0, 0.0)
    metrics: tuple[str, ...] = ()
    title: str = ""
    licence: str = ""

    @property
    def folder(self) -> Path:
        """Where the file lies, and the files that it names beside it."""
        return self.path.parent

    @property
    def meaning(self) -> str:
        """SHA-256 of all that it says but for the reader.

        What is at its default does not count, so that a key that Thawbench learns later changes no set without it.
        """
        said = [item for item in fields(self) if item.name not in ("path", "title", "licence")]
        values = {item.name: getattr(self, item.name) for item in said}
        return fingerprint([{item.name: values[item.name] for item in said if values[item.name] != item.default}])

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The way down to everything that is in a group, from the top: its groups and itself."""
        above = _above(self.groups)
        found = {}
        for name in above:
            way = [name]
            while way[0] in above:
                way.insert(0, above[way[0]])
            found[name] = tuple(way)
        return found


def read_description(path: Path) -> SetDescription:
    """Read and check a set's TOML file.

    Raises:
        UserError: one line that names the file, the key and the way out.
    """
    try:
        text = path.read_text(encoding="utf-8")
        read = tomllib.loads(text)
    except OSError as error:
        raise UserError(f"cannot read the set {path} ({error.strerror}); give the path of a TOML file") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise UserError(f"{path} is not a TOML file: {error}") from None
    known = {item.name for item in fields(SetDescription)} - {"path"}
    for key in read:
        if key not in known:
            raise unknown(f"key of {path}", key, known)
    values = {key: _typed(value, key, path) for key, value in read.items()}
    _check(values, path)
    values.setdefault("name", path.stem)
    if not _NAME.fullmatch(values["name"]):
        raise UserError(f"{path}: {values['name']!r} cannot be a set's name; use letters, digits and _ . -, as in mine")
    if "score" not in values:
        values.setdefault("label", "label")
    values.setdefault("metrics", ("spearman", "pearson") if "score" in values else ("accuracy", "macro_f1", "mcc"))
    if "groups" in values and "coarse_accuracy" not in values["metrics"]:
        values["metrics"] = (*values["metrics"], "coarse_accuracy")
    if "file" in values:
        if "test_file" not in values:
            values.setdefault("test_share", 0.2)
        files = [path.parent / values[key] for key in ("file", "test_file") if key in values]
        values["revision"] = _digest(text, files, path)
    return SetDescription(path=path, **values)


def _typed(value: Any, key: str, path: Path) -> Any:
    """A key's value in the form of its field."""
    if key in ("text", "text_b", "labels", "drop", "metrics"):
        listed = [value] if isinstance(value, str) and key in ("text", "text_b") else value
        if _strings(listed):
            return tuple(listed)
        raise UserError(f"{path}: {key} must be a list of strings, and is {value!r}")
    if key == "rename":
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return tuple(value.items())
        raise UserError(f'{path}: rename must be a table such as {{ neg = "negative" }}, and is {value!r}')
    if key == "groups":
        if isinstance(value, dict) and all(_strings(items) for items in value.values()):
            return tuple((group, tuple(items)) for group, items in value.items())
        raise UserError(f'{path}: groups must be a table such as {{ pets = ["cat", "dog"] }}, and is {value!r}')
    if key == "range":
        if isinstance(value, list) and len(value) == 2 and all(_number(item) for item in value) and value[0] < value[1]:
            return (float(value[0]), float(value[1]))
        raise UserError(
            f"{path}: range must be the least and the greatest score, finite as in [0, 5], and is {value!r}"
        )
    if key == "test_share":
        if _number(value) and 0 < value < 1:
            return float(value)
        raise UserError(f"{path}: test_share must lie between 0 and 1, and is {value!r}")
    if key == "version":
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise UserError(f"{path}: version must be a whole number from 1, and is {value!r}")
    if isinstance(value, str) and (value or key == "train"):
        return value
    raise UserError(f"{path}: {key} must be a string that is not empty, and is {value!r}")


def _strings(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _number(value: Any) -> bool:
    """Whether it is a finite one; TOML has inf, nan, and integers that no float holds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _check(values: Mapping[str, Any], path: Path) -> None:
    """What no key can say alone."""
    if ("data" in values) == ("file" in values):
        raise UserError(f"{path}: give either data (an id on the Hub) or file (CSV, TSV, JSONL or parquet)")
    foreign = ("config", "revision", "train", "test") if "file" in values else ("test_file", "test_share")
    if extra := [key for key in foreign if key in values]:
        raise UserError(f"{path}: {extra[0]} does not go with {'file' if 'file' in values else 'data'}; leave it out")
    if "test_file" in values and "test_share" in values:
        raise UserError(f"{path}: give either test_file or test_share")
    if "label" in values and "score" in values:
        raise UserError(f"{path}: give either label (a column of classes) or score (a column of numbers)")
    if ("score" in values) != ("range" in values):
        raise UserError(f'{path}: score and range go together, as in score = "gold" and range = [0, 5]')
    if "score" in values and (extra := [key for key in ("labels", "rename", "drop", "groups") if key in values]):
        raise UserError(f"{path}: {extra[0]} goes with classes; scores have none")
    labels = values.get("labels", ())
    if len(set(labels)) < len(labels) or len(labels) == 1:
        raise UserError(f"{path}: labels must be at least two different names, and are {', '.join(labels)}")
    possible = SCORE_METRICS if "score" in values else CLASS_METRICS
    metrics = values.get("metrics", ())
    for metric in metrics:
        if metric not in possible:
            raise unknown(f"metric of {path}", metric, possible)
    if len(set(metrics)) < len(metrics):
        raise UserError(f"{path}: metrics names one twice: {', '.join(metrics)}")
    if metrics and metrics[0] in BESIDE:
        raise UserError(f"{path}: {metrics[0]} cannot be the first metric, which is the main one; put accuracy first")
    if "coarse_accuracy" in metrics and "groups" not in values:
        raise UserError(f'{path}: coarse_accuracy needs groups, as in groups = {{ pets = ["cat", "dog"] }}')
    check_groups(values.get("groups", ()), labels, str(path))


def check_groups(groups: Sequence[tuple[str, tuple[str, ...]]], labels: Sequence[str], where: str) -> None:
    """See that groups stand above these classes, each of which has one way down to it.

    Args:
        labels: none while they are not known.
        where: the set, for messages.

    Raises:
        UserError: they do not.
    """
    above = _above(groups)
    if twice := [name for name, count in Counter(name for _, items in groups for name in items).items() if count > 1]:
        raise UserError(f"{where}: {twice[0]} is in two groups; a class has one way down to it")
    named = {group for group, _ in groups}
    if both := sorted(named & set(labels)):
        raise UserError(f"{where}: {both[0]} is a class and a group; give the group another name")
    for name in above:
        if labels and name not in named and name not in labels:
            raise unknown(f"class or group in groups of {where}", name, {*labels, *named})
        top, steps = name, 0
        while top in above:
            top, steps = above[top], steps + 1
            if steps > len(above):
                raise UserError(f"{where}: {name} is in a group that is in it; groups must have a top")


def _above(groups: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """The group of everything that is in one."""
    return {name: group for group, items in groups for name in items}


def _digest(description: str, files: list[Path], path: Path) -> str:
    """SHA-256 of the TOML file and of the files that it names, each hashed by itself first."""
    digest = hashlib.sha256(hashlib.sha256(description.encode()).digest())
    for file in files:
        try:
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
        except OSError as error:
            raise UserError(
                f"{path} names {file}, which cannot be read ({error.strerror}); its path is relative to the TOML file"
            ) from None
    return digest.hexdigest()
