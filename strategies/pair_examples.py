"""Which texts a loss over pairs sees together, out of a train set's pairs, and in which batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Pair, Relation, Rows, Target, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.pair_sampling import GENUINE_ENOUGH, impostor_weights


@dataclass(frozen=True)
class Example:
    """Texts that a loss sees together: a pair, or an anchor, what is near it and perhaps what is not.

    Attributes:
        gold: what the pair is, in whatever terms the loss has.
    """

    texts: tuple[str, ...]
    gold: float = 0.0


def related_pairs(rows: TrainSet | Rows) -> Sequence[Pair]:
    """The pairs; where there are none, the labelled pairs whose class is called as a relation is."""
    if rows.pairs:
        return rows.pairs
    return [
        Pair(*row.input, relation=cast(Relation, row.label))
        for row in rows.labelled
        if not isinstance(row.input, str) and row.label in get_args(Relation)
    ]


def anchored(data: TrainSet) -> tuple[list[Example], list[Example]]:
    """The genuine pairs as `anchors_of` has them, to train on, and those of dev.

    Raises:
        NotApplicableError: fewer than two to train on.
    """
    train, dev = (anchors_of(related_pairs(rows), data.target) for rows in (data, data.dev))
    if len(train) < 2:
        raise NotApplicableError(
            f"{data.name} has {len(train)} genuine pairs (entailments, top scores); it takes two at least"
        )
    return train, dev


def anchors_of(related: Sequence[Pair], target: Target | None) -> list[Example]:
    """Each genuine pair as anchor and positive; third an impostor of the same anchor, if it has one: gold is 1 then.

    Genuine are entailments, scores in the top fifth of their range, and pairs of which nothing is said; impostors are
    contradictions and the lowest score. An anchor's impostors take turns.
    """
    pairs, impostor = impostor_weights(related, target)
    against: dict[str, list[str]] = {}
    for pair, weight in zip(pairs, impostor, strict=True):
        if weight == 1:
            against.setdefault(pair.a, []).append(pair.b)
    examples = []
    for pair, weight in zip(pairs, impostor, strict=True):
        if weight <= GENUINE_ENOUGH:
            negatives = against.get(pair.a)
            if negatives:
                negatives.append(negatives.pop(0))
            texts = (pair.a, pair.b, negatives[-1]) if negatives else (pair.a, pair.b)
            examples.append(Example(texts, float(len(texts) == 3)))
    return examples


def distinct(batches: Sequence[NDArray[np.intp]], examples: Sequence[Example]) -> list[NDArray[np.intp]]:
    """The same examples in batches where no text stands in two of them, upper or lower case.

    An example that shares a text with one before it waits for a later batch, as long as it takes. One that is left
    alone at the end is dropped, as it has no other to be told from.
    """
    size = max(map(len, batches), default=0)
    keys = [frozenset(text.strip().lower() for text in example.texts) for example in examples]
    waiting: list[int] = []
    made = []
    todo = list(batches)
    while todo or waiting:
        batch = todo.pop(0) if todo else np.array([], np.intp)
        room = len(batch) or size
        taken: list[int] = []
        left: list[int] = []
        seen: set[str] = set()
        rows = [*waiting, *batch.tolist()]
        for place, row in enumerate(rows):
            if len(taken) == room:
                left += rows[place:]
                break
            if seen.isdisjoint(keys[row]):
                taken.append(row)
                seen |= keys[row]
            else:
                left.append(row)
        waiting = left
        if len(taken) > 1:
            made.append(np.array(taken, np.intp))
    return made
