"""Treebanks by name: real ones of Universal Dependencies on the Hub, and that of the embedded world."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from thawbench.contracts import Json
from thawbench.errors import DataUnavailableError
from thawbench.tasks.hub import load_split
from thawbench.tasks.parsed_sentence import ParsedSentence, parsed
from thawbench.tasks.world.rows import Tree
from thawbench.tasks.world.whole import REVISION, make_world

_WORLD_DEV = 5
"""One world tree of so many is for dev: the world has train and test only."""


@dataclass(frozen=True)
class Treebank:
    """All sentences of a treebank.

    Attributes:
        shifted: further test sentences, of other domains, by name.
    """

    train: tuple[ParsedSentence, ...]
    dev: tuple[ParsedSentence, ...]
    test: tuple[ParsedSentence, ...]
    shifted: Mapping[str, tuple[ParsedSentence, ...]] = field(default_factory=dict)

    def parts(self) -> dict[str, tuple[ParsedSentence, ...]]:
        """Every part by its name."""
        return {"train": self.train, "dev": self.dev, "test": self.test, **self.shifted}

    def rows(self) -> Iterator[Json]:
        """All that is read, in order, for the fingerprint."""
        for part, sentences in self.parts().items():
            for each in sentences:
                spans: list[Json] = [list(span) for span in each.spans]
                yield [part, each.text, spans, list(each.heads), list(each.relations), list(each.upos)]


class TreebankSource(Protocol):
    """Where a treebank comes from.

    Attributes:
        train: the train set that strategies adapt to by default before they are probed.
        shifted: the names of the test parts of other domains.
    """

    @property
    def name(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def train(self) -> str: ...
    @property
    def shifted(self) -> tuple[str, ...]: ...

    def load(self) -> Treebank:
        """Every sentence.

        Raises:
            DataUnavailableError: not to be had, or no trees.
        """
        ...


@dataclass(frozen=True)
class UniversalDependencies:
    """A treebank on the Hub.

    Attributes:
        config: its configuration there, with the splits train, validation and test.
        others: configurations whose test split is of another domain, by the name of that part.
    """

    name: str
    config: str
    others: Mapping[str, str]
    data: str = "universal-dependencies/universal_dependencies"
    revision: str = "main"  # a commit of the Hub's own copy would pin a loading script, which `datasets` 4 does not run
    train: str = "nli"

    @property
    def shifted(self) -> tuple[str, ...]:
        """The names of the other domains."""
        return tuple(self.others)

    def load(self) -> Treebank:
        """Every sentence.

        Raises:
            DataUnavailableError: not to be had, or no trees.
        """
        train, dev, test = (self._part(self.config, split) for split in ("train", "validation", "test"))
        return Treebank(train, dev, test, {name: self._part(config, "test") for name, config in self.others.items()})

    def _part(self, config: str, split: str) -> tuple[ParsedSentence, ...]:
        read = load_split(self.data, config, split, self.revision, f"probe/{self.name}")
        columns = read.select_columns(["text", "tokens", "upos", "head", "deprel"])
        names = getattr(getattr(read.features["upos"], "feature", None), "names", None)
        try:
            return tuple(
                read_row(f"{config} {split} {place}", row, names) for place, row in enumerate(columns.to_list())
            )
        except ValueError as error:
            raise DataUnavailableError(f"{self.data} cannot be used: {error}; name another revision of it") from None


@dataclass(frozen=True)
class WorldTrees:
    """The trees of the embedded world; the content words of test are not those of train."""

    name: str = "world"
    data: str = "the embedded world"
    revision: str = REVISION
    train: str = "world/nli"
    shifted: tuple[str, ...] = ()

    def load(self) -> Treebank:
        """Every tree; the last fifth of train is dev."""
        trees = make_world().trees
        cut = len(trees.train) - len(trees.train) // _WORLD_DEV
        train, test = ([grown(tree) for tree in part] for part in (trees.train, trees.test))
        return Treebank(tuple(train[:cut]), tuple(train[cut:]), tuple(test))


TREEBANKS: Mapping[str, TreebankSource] = {
    source.name: source for source in (UniversalDependencies("ewt", "en_ewt", {"pud": "en_pud"}), WorldTrees())
}


def read_row(place: str, row: Mapping[str, Any], upos: Sequence[str] | None = None) -> ParsedSentence:
    """One sentence as the Hub's loader gives it.

    Multiword tokens (`don't` before `do` and `n't`) and empty nodes (elided words of the enhanced graph) are rows there
    too, without a head. They are no words of the basic tree and are left out; heads count words only, and stay right.

    Args:
        upos: the names behind the parts of speech, where these are numbers.

    Raises:
        ValueError: the heads make no tree.
    """
    words = [number for number, head in enumerate(row["head"]) if str(head) not in ("None", "_")]
    heads = [int(row["head"][number]) for number in words]
    tags = [row["upos"][number] if upos is None else upos[row["upos"][number]] for number in words]
    tokens, relations = ([row[column][number] for number in words] for column in ("tokens", "deprel"))
    return parsed(place, row["text"], tokens, heads, relations, tags)


def grown(tree: Tree) -> ParsedSentence:
    """A tree of the embedded world."""
    return parsed("world", tree.text, tree.words, tree.heads, tree.relations, tree.upos)
