"""The labelled sets of the embedded world: `world/meals`, `world/topics`, `world/nli`, `world/sts`, …"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, cast, get_args

from thawbench.contracts import ClassTarget, Labelled, Pair, Relation, ScoreTarget, Target
from thawbench.tasks.labelled_set import LabelledSet, Split, Splits
from thawbench.tasks.pool import Pool
from thawbench.tasks.world import rows
from thawbench.tasks.world.sentiment import DOMAINS
from thawbench.tasks.world.topics import COARSE, FINE
from thawbench.tasks.world.whole import REVISION, World, make_world

_RELATIONS: tuple[Relation, ...] = get_args(Relation)


@dataclass(frozen=True)
class _Part:
    """A part of the world as a set.

    Attributes:
        rows: the part out of the world.
        item: one of its rows with class or score.
        version: see `LabelledSet.version`.
        beside: metrics that this part has beside the usual ones.
    """

    target: Target
    rows: Callable[[World], rows.Split[Any]]
    item: Callable[[Any], Labelled]
    version: int = 1
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorldSet(LabelledSet):
    """One set of the world of seed 0; a sample seed draws rows from it as from any other.

    Attributes:
        part: what stands behind `world/`.
    """

    part: str

    @property
    def name(self) -> str:
        return f"world/{self.part}"

    @property
    def version(self) -> int:
        return _PARTS[self.part].version

    @property
    def data(self) -> str:
        return "the embedded world"

    @property
    def revision(self) -> str:
        return REVISION

    @property
    def classes(self) -> tuple[str, ...]:
        target = _PARTS[self.part].target
        return target.classes if isinstance(target, ClassTarget) else ()

    @property
    def metrics(self) -> tuple[str, ...]:
        usual = ("accuracy", "macro_f1", "mcc") if self.classes else ("spearman", "pearson")
        return (*usual, *_PARTS[self.part].beside)

    __hash__ = LabelledSet.__hash__

    def splits(self) -> Splits:
        """Both splits, made in memory."""
        return _splits(self.part)

    def load(self) -> Pool:
        """The train rows; those whose classes are relations are there as pairs, too."""
        pool = super().load()
        if self.classes != _RELATIONS:
            return pool
        pairs = tuple(
            Pair(*cast("tuple[str, str]", row.input), relation=cast("Relation", row.label)) for row in pool.labelled
        )
        return replace(pool, pairs=pairs)


@lru_cache(maxsize=2)  # train sets and tasks read the same ones
def _splits(name: str) -> Splits:
    part = _PARTS[name]
    found = part.rows(make_world())
    return Splits(part.target, *(_split([part.item(row) for row in half]) for half in (found.train, found.test)))


def _split(items: Sequence[Labelled]) -> Split:
    return Split(tuple(items), tuple(range(len(items))))


def _opinion(row: rows.LabelledText) -> Labelled:
    return Labelled(row.text, label=row.label)


def _topic(row: rows.TopicText) -> Labelled:
    return Labelled(row.text, label=row.coarse, path=row.path)


def _fine_topic(row: rows.TopicText) -> Labelled:
    return Labelled(row.text, label=row.fine, path=row.path)


def _inference(row: rows.InferencePair) -> Labelled:
    return Labelled((row.premise, row.hypothesis), label=row.relation)


def _similarity(row: rows.ScoredPair) -> Labelled:
    return Labelled((row.a, row.b), score=row.score)


def _sentiment(domain: str, world: World) -> rows.Split[rows.LabelledText]:
    return world.sentiment[domain]


_POLARITY = ClassTarget(("negative", "positive"))
_PARTS = {
    **{domain: _Part(_POLARITY, partial(_sentiment, domain), _opinion) for domain in DOMAINS},
    "topics": _Part(ClassTarget(COARSE), lambda world: world.topics, _topic),
    "topics_fine": _Part(ClassTarget(FINE), lambda world: world.topics, _fine_topic, 2, ("coarse_accuracy",)),
    "nli": _Part(ClassTarget(_RELATIONS), lambda world: world.inference, _inference),
    "sts": _Part(ScoreTarget(0.0, 5.0), lambda world: world.similarity, _similarity),
}
WORLD_SETS = {made.name: made for made in map(WorldSet, _PARTS)}
"""All of them, by name."""
