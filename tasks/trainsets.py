"""Train sets by name: `nli`, `stsb`, `corpus/<IR set>`, and `name@n` for the first n rows of a sample."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from thawbench.contracts import ClassTarget, Json, Rows, ScoreTarget, Signal, Target, TrainSet, TrainSetInfo
from thawbench.errors import UserError, unknown
from thawbench.tasks import fingerprint, sampling
from thawbench.tasks.corpus import Corpus
from thawbench.tasks.fingerprint import Entry
from thawbench.tasks.ir import Ir
from thawbench.tasks.nli import Nli
from thawbench.tasks.pool import Pool, Source
from thawbench.tasks.stsb import Stsb

_SOURCES: dict[str, Source] = {source.name: source for source in (Nli(), Stsb())}
_CORPUS = "corpus/"


def known_trainsets() -> tuple[str, ...]:
    """The names worth listing; `corpus/` takes every retrieval task, and `@n` may follow a set that has labels."""
    return (*sorted(_SOURCES), *(f"{_CORPUS}{body.lower()}" for body in Ir.known()))


def trainset_info(name: str) -> TrainSetInfo:
    """What planning needs, out of the manifest if the set was seen before; otherwise its rows are loaded.

    Raises:
        UserError: no such set (the nearest names are given), or it has fewer rows than asked for.
        DataUnavailableError: never seen, and not to be had now.
    """
    source, taken = _parse(name)
    entry = _seen(source) or _loaded(source)[1]
    _count(source.name, taken, cast("int", entry.facts["rows"]))
    return TrainSetInfo(
        name=_spelled(source, taken),
        version=source.version,
        fingerprint=entry.fingerprint,
        signals=frozenset(Signal(signal) for signal in cast("list[str]", entry.facts["signals"])),
        target=_target(entry.facts["target"]),
    )


def load_trainset(name: str, sample_seed: int) -> TrainSet:
    """The rows: those that the sample seed takes, a fifth of them as dev, and the whole unlabelled pool.

    Raises:
        UserError: no such set (the nearest names are given), or it has fewer rows than asked for.
        DataUnavailableError: not to be had, or not the rows of the manifest.
    """
    source, taken = _parse(name)
    pool, entry = _loaded(source)
    count = _count(source.name, taken, len(pool))
    sample = sampling.order(source.name, sample_seed, len(pool))[:count]
    dev: frozenset[int] = frozenset()
    if sample:
        strata = pool.strata()
        dev = sampling.dev_rows([strata[row] for row in sample])
    train_rows = _rows(pool, (row for position, row in enumerate(sample) if position not in dev))
    return TrainSet(
        name=_spelled(source, taken),
        version=source.version,
        fingerprint=entry.fingerprint,
        target=pool.target,
        labelled=train_rows.labelled,
        pairs=train_rows.pairs,
        texts=pool.texts,
        documents=pool.documents,
        dev=_rows(pool, (row for position, row in enumerate(sample) if position in dev)),
    )


def _parse(name: str) -> tuple[Source, int | None]:
    base, at, count = name.partition("@")
    if at and not re.fullmatch(r"[1-9][0-9]*", count):
        raise UserError(f"malformed train set {name!r} (after @ stands a number of rows, as in {base}@100)")
    if base.lower().startswith(_CORPUS):
        return Corpus(base[len(_CORPUS) :]), int(count) if at else None
    if base not in _SOURCES:
        raise unknown("train set", base, known_trainsets())
    return _SOURCES[base], int(count) if at else None


def _spelled(source: Source, taken: int | None) -> str:
    return source.name if taken is None else f"{source.name}@{taken}"


def _count(name: str, taken: int | None, rows: int) -> int:
    """How many rows to take."""
    if taken is None:
        return rows
    if rows == 0:
        raise UserError(f"{name} has no labelled rows to take {taken} of; leave out the @{taken}")
    if taken > rows:
        raise UserError(f"{name}@{taken} asks for more rows than the {rows} that there are")
    if taken < 2:
        raise UserError(f"{name}@{taken} leaves no row to train on beside the one for dev; take at least 2")
    return taken


def _rows(pool: Pool, rows: Iterable[int]) -> Rows:
    indices = list(rows)
    return Rows(
        labelled=tuple(pool.labelled[row] for row in indices) if pool.labelled else (),
        pairs=tuple(pool.pairs[row] for row in indices) if pool.pairs else (),
    )


def _seen(source: Source) -> Entry | None:
    for entry in fingerprint.seen(source.name):
        if entry.revision == source.revision and entry.facts.get("version") == source.version:
            return entry
    return None


def _loaded(source: Source) -> tuple[Pool, Entry]:
    """The pool, checked against the manifest or entered into it."""
    pool = _pool(source)
    found = fingerprint.fingerprint(pool.rows())
    entry = _seen(source)
    if entry is None:
        facts: dict[str, Json] = {
            "version": source.version,
            "rows": len(pool),
            "dropped": pool.dropped,
            "signals": [signal.value for signal in Signal if signal in pool.signals],
            "target": _described(pool.target),
        }
        entry = Entry(source.name, source.data, source.revision, found, facts)
        fingerprint.remember(entry)
    fingerprint.check(entry, found)
    return pool, entry


@lru_cache(maxsize=2)  # the seeds and strategies of a run read the same sets one after another
def _pool(source: Source) -> Pool:
    return source.load()


def _described(target: Target | None) -> Json:
    if isinstance(target, ClassTarget):
        return list(target.classes)
    return [target.low, target.high] if target else None


def _target(described: Json) -> Target | None:
    if not isinstance(described, list):
        return None
    if all(isinstance(value, str) for value in described):
        return ClassTarget(tuple(cast("list[str]", described)))
    low, high = cast("list[float]", described)
    return ScoreTarget(low, high)
