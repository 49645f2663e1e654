"""Train sets by name: `nli`, labelled sets, `corpus/<IR set>`, `docs/…`; `name@n` is n rows, `name@n~case-1` noisy."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import cast

from thawbench.contracts import ClassTarget, Json, Rows, ScoreTarget, Signal, Target, TrainSet, TrainSetInfo
from thawbench.errors import UserError, unknown
from thawbench.tasks import fingerprint, sampling, train_noise
from thawbench.tasks.corpus import Corpus
from thawbench.tasks.documents import NewsgroupDocuments, WikiTextDocuments
from thawbench.tasks.fingerprint import Entry
from thawbench.tasks.ir import Ir
from thawbench.tasks.labelled_set import LabelledSet, text_key
from thawbench.tasks.nli import Nli
from thawbench.tasks.pool import Pool, Source
from thawbench.tasks.set_catalog import find_set, known_sets, named_set
from thawbench.tasks.train_noise import TrainNoise
from thawbench.tasks.world.pools import WorldDocuments, WorldTexts

_SOURCES: dict[str, Source] = {
    made.name: made for made in (Nli(), NewsgroupDocuments(), WikiTextDocuments(), WorldTexts(), WorldDocuments())
}
_CORPUS = "corpus/"


def known_trainsets() -> tuple[str, ...]:
    """The names worth listing; `corpus/` takes every retrieval task, and `@n` may follow a set that has labels."""
    sets = (name for name in known_sets() if named_set(name).trains)
    return (*sorted({*_SOURCES, *sets}), *(f"{_CORPUS}{body.lower()}" for body in Ir.known()))


def trainset_info(name: str) -> TrainSetInfo:
    """What planning needs, out of the manifest if the set was seen before; otherwise its rows are loaded.

    Raises:
        UserError: no such set (the nearest names are given), n is more than its rows or too few for its classes, or
            noise that it cannot have.
        DataUnavailableError: never seen, and not to be had now.
    """
    source, taken, noise = _parse(name)
    entry = _seen(source) or _loaded(source)[1]
    target = _target(entry.facts["target"])
    noise.check(source.name, target, _count(source.name, taken, cast("int", entry.facts["rows"]), target))
    return TrainSetInfo(
        name=sampling.spelled(source.name, taken) + noise.suffix,
        version=source.version,
        fingerprint=noise.fingerprint(entry.fingerprint),
        signals=frozenset(Signal(signal) for signal in cast("list[str]", entry.facts["signals"])),
        target=target,
    )


def load_trainset(name: str, sample_seed: int) -> TrainSet:
    """The rows: those that the sample seed takes, a fifth of them as dev, and the whole unlabelled pool.

    Raises:
        UserError: no such set (the nearest names are given), n is more than its rows or too few for its classes, or
            noise that it cannot have.
        DataUnavailableError: not to be had, or not the rows of the manifest.
    """
    source, taken, noise = _parse(name)
    pool, entry = _loaded(source)
    count = _count(source.name, taken, len(pool), pool.target)
    noise.check(source.name, pool.target, count)
    sample = _order(source.name, sample_seed, pool)[:count]
    dev: frozenset[int] = frozenset()
    if sample:
        strata = pool.strata()
        dev = sampling.dev_rows([strata[row] for row in sample])
    if noise.texts:
        pool = _spoilt(source, noise.texts)
    if noise.labels:
        pool = train_noise.spoil_labels(pool, noise.labels, sample, source.name, sample_seed)
    train_rows = _rows(pool, (row for position, row in enumerate(sample) if position not in dev))
    return TrainSet(
        name=sampling.spelled(source.name, taken) + noise.suffix,
        version=source.version,
        fingerprint=noise.fingerprint(entry.fingerprint),
        target=pool.target,
        labelled=train_rows.labelled,
        pairs=train_rows.pairs,
        texts=pool.texts,
        documents=pool.documents,
        dev=_rows(pool, (row for position, row in enumerate(sample) if position in dev)),
    )


def is_own(name: str) -> bool:
    """Whether the train set is a user's.

    Raises:
        UserError: no such set (the nearest names are given).
    """
    return _is_own(_parse(name)[0])


def taught(name: str) -> frozenset[frozenset[str]]:
    """Every labelled text or pair that the set teaches at any n, as `text_key` has it.

    Raises:
        UserError: no such set (the nearest names are given).
        DataUnavailableError: not to be had, or not the rows of the manifest.
    """
    return _taught(_parse(name)[0])


@lru_cache(maxsize=4)  # all cells of a run ask for the same
def _taught(source: Source) -> frozenset[frozenset[str]]:
    pool = _loaded(source)[0]
    pairs = ((pair.a, pair.b) for pair in pool.pairs)
    return frozenset(text_key(item) for item in chain((row.input for row in pool.labelled), pairs))


def _parse(name: str) -> tuple[Source, int | None, TrainNoise]:
    clean, noise = train_noise.parse(name)
    base, taken = sampling.parse(clean)
    if base.lower().startswith(_CORPUS):
        return Corpus(base[len(_CORPUS) :]), taken, noise
    source = _SOURCES.get(base) or find_set(base)
    if source is None:
        raise unknown("train set", base, known_trainsets())
    return source, taken, noise


def _count(name: str, taken: int | None, rows: int, target: Target | None) -> int:
    """How many rows to take."""
    classes = target.classes if isinstance(target, ClassTarget) else ()
    least = sampling.least(len(classes))
    if taken is None:
        if classes and rows < least:
            raise UserError(f"{name} has {rows} rows for {len(classes)} classes; it takes at least {least}")
        return rows
    if rows == 0:
        raise UserError(f"{name} has no labelled rows to take {taken} of; leave out the @{taken}")
    if taken > rows:
        raise UserError(f"{name}@{taken} asks for more rows than the {rows} that there are")
    if taken < least and len(classes) > 1:
        listed = ", ".join(classes[:4]) + (", …" if len(classes) > 4 else "")
        raise UserError(
            f"{name}@{taken} cannot hold a train row of each of its {len(classes)} classes ({listed}) and a row "
            f"for dev: at least {least - taken} of them would be absent; take at least {name}@{least}"
        )
    if taken < least:
        raise UserError(f"{name}@{taken} leaves no row to train on beside the one for dev; take at least {least}")
    return taken


def _order(name: str, sample_seed: int, pool: Pool) -> list[int]:
    if isinstance(pool.target, ClassTarget) and pool.labelled:
        return sampling.balanced_order(name, sample_seed, [str(row.label) for row in pool.labelled])
    return sampling.order(name, sample_seed, len(pool))


def _rows(pool: Pool, rows: Iterable[int]) -> Rows:
    indices = list(rows)
    return Rows(
        labelled=tuple(pool.labelled[row] for row in indices) if pool.labelled else (),
        pairs=tuple(pool.pairs[row] for row in indices) if pool.pairs else (),
    )


def _seen(source: Source) -> Entry | None:
    return fingerprint.seen_at(source.name, source.revision, _made_by(source))


def _loaded(source: Source) -> tuple[Pool, Entry]:
    """The pool, checked against the manifest or entered into it."""
    pool, found = _pool(source)
    entry = _seen(source)
    if entry is None:
        facts: dict[str, Json] = {
            "version": _made_by(source),
            "rows": len(pool),
            "dropped": pool.dropped,
            "duplicates": pool.duplicates,
            "signals": [signal.value for signal in Signal if signal in pool.signals],
            "target": _described(pool.target),
        }
        entry = Entry(source.name, source.data, source.revision, found, facts)
        fingerprint.remember(entry)
    fingerprint.check(entry, found)
    return pool, entry


@lru_cache(maxsize=4)  # chains of three; the seeds and strategies of a run read the same sets one after another
def _pool(source: Source) -> tuple[Pool, str]:
    """The rows, and their fingerprint: to spell out 400,000 rows takes seconds."""
    pool = source.load()
    rows = pool.rows()
    if _is_own(source):
        rows = chain(rows, [["target", _described(pool.target)]])
    return pool, fingerprint.fingerprint(rows)


def _is_own(source: Source) -> bool:
    """Whether it is a user's, so that its fingerprint covers its target too: range and order of classes may be edited.

    A built-in set's target changes only with its version, and its fingerprint stays that of published records.
    """
    return isinstance(source, LabelledSet) and source.own


def _made_by(source: Source) -> Json:
    """What an entry in the manifest was made by; those of a user's sets once had no target in their fingerprint."""
    return f"{source.version}+target" if _is_own(source) else source.version


@lru_cache(maxsize=4)  # all seeds and strategies meet the same texts
def _spoilt(source: Source, texts: tuple[tuple[str, float], ...]) -> Pool:
    return train_noise.spoil_texts(_loaded(source)[0], texts)


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
