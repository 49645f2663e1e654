"""The train set `stsb`: pairs scored from 0 to 5, the train split of the STS benchmark."""

from collections.abc import Iterator
from typing import Any

from thawbench.contracts import Labelled, Pair, ScoreTarget
from thawbench.tasks.hub import load_split
from thawbench.tasks.pool import Pool, unique


class Stsb:
    """Scored pairs, as pairs and as labelled items. No pair of the test split is among them, in either order."""

    name = "stsb"
    version = 1
    data = "mteb/stsbenchmark-sts"
    revision = "b0fddb56ed78048fa8b90373c8a3cfc37b684831"

    def load(self) -> Pool:
        """The train split, less the pairs that the test split has too.

        Raises:
            DataUnavailableError: not to be had.
        """
        train, test = (load_split(self.data, None, split, self.revision, self.name) for split in ("train", "test"))
        return without_test_pairs(
            [Pair(a, b, score=float(score)) for a, b, score in _rows(train)], [(a, b) for a, b, _ in _rows(test)]
        )


def without_test_pairs(train: list[Pair], test: list[tuple[str, str]]) -> Pool:
    """The pool of scored pairs; two pairs are the same if their texts are, but for order, case and white space."""
    hidden = {_key(a, b) for a, b in test}
    pairs = tuple(pair for pair in train if _key(pair.a, pair.b) not in hidden)
    return Pool(
        target=ScoreTarget(0.0, 5.0),
        labelled=tuple(Labelled((pair.a, pair.b), score=pair.score) for pair in pairs),
        pairs=pairs,
        texts=unique(text for pair in pairs for text in (pair.a, pair.b)),
        dropped=len(train) - len(pairs),
    )


def _rows(split: Any) -> Iterator[tuple[str, str, float]]:
    return zip(split["sentence1"], split["sentence2"], split["score"], strict=True)


def _key(a: str, b: str) -> frozenset[str]:
    return frozenset(" ".join(text.lower().split()) for text in (a, b))
