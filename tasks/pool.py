"""Every train row that a set has, before a sample is drawn, and what makes such pools."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from thawbench.contracts import Input, Json, Labelled, Pair, Signal, Target, offered


@dataclass(frozen=True)
class Pool:
    """A train split. Where `labelled` and `pairs` both have rows, the two have as many, and row i is the same in both.

    Attributes:
        dropped: rows left out: without a gold label, also in the test split, or not taken by the set.
        duplicates: rows whose texts another row has too; they stay.
    """

    target: Target | None = None
    labelled: tuple[Labelled, ...] = ()
    pairs: tuple[Pair, ...] = ()
    texts: tuple[str, ...] = ()
    documents: tuple[tuple[str, ...], ...] = ()
    dropped: int = 0
    duplicates: int = 0

    @property
    def signals(self) -> frozenset[Signal]:
        """What has rows here."""
        return offered(self.labelled, self.pairs, self.texts, self.documents)

    def __len__(self) -> int:
        """The number of labelled rows or pairs."""
        return max(len(self.labelled), len(self.pairs))

    def rows(self) -> Iterator[Json]:
        """All that training reads, in order, for the fingerprint."""
        for item in self.labelled:
            text: Json = item.input if isinstance(item.input, str) else list(item.input)
            yield ["labelled", text, item.label, item.score, list(item.path)]
        for pair in self.pairs:
            yield ["pair", pair.a, pair.b, pair.relation, pair.score]
        for text in self.texts:
            yield ["text", text]
        for document in self.documents:
            yield ["document", list(document)]

    def strata(self) -> tuple[str | float | None, ...]:
        """What a sample's dev rows are balanced by: each row's class or relation, or its score."""
        if self.labelled:
            return tuple(item.label if item.score is None else item.score for item in self.labelled)
        return tuple(pair.relation if pair.score is None else pair.score for pair in self.pairs)


class Source(Protocol):
    """Where the pool of one train set comes from; `data` and `revision` name what is on the Hub."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def data(self) -> str: ...
    @property
    def revision(self) -> str: ...

    def __hash__(self) -> int: ...  # a pool is kept by its source

    def load(self) -> Pool:
        """Every train row.

        Raises:
            DataUnavailableError: not to be had.
        """
        ...


def texts_of(item: Input) -> tuple[str, ...]:
    """A text by itself, or a pair's two."""
    return (item,) if isinstance(item, str) else item


def unique(texts: Iterator[str]) -> tuple[str, ...]:
    """Each text once, in order of first sight."""
    return tuple(dict.fromkeys(texts))
