"""All of the embedded world at once, by seed.

It is what the `mini` profile measures and what the `tiny` backbone learns to read. Nothing is downloaded or read from a
file, and one seed gives the same bytes everywhere. Within each part, test rows carry their signal in words that no
train row has, so that counting words fails and knowing English helps; negation and word order carry some of it, so that
a mean of word vectors falls short.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import MappingProxyType

from thawbench.tasks.world.pairs import make_inference, make_similarity, unlabelled_events
from thawbench.tasks.world.retrieval import make_retrieval
from thawbench.tasks.world.rows import InferencePair, LabelledText, Retrieval, ScoredPair, Split, TopicText, Tree
from thawbench.tasks.world.sentiment import DOMAINS, make_sentiment, unlabelled_sentiment
from thawbench.tasks.world.stories import make_documents
from thawbench.tasks.world.topics import make_topics, unlabelled_topics
from thawbench.tasks.world.trees import make_trees, unlabelled_trees

REVISION = "aac9e241036d3135a3359225ac623272486e93ce"
"""The first 40 digits of the SHA-256 of the world of seed 0, which is the one that train sets and tasks read."""
_UNLABELLED = 2000
"""Extra sentences for pretraining, of each of four kinds."""


@dataclass(frozen=True)
class World:
    """All rows of one seed.

    Attributes:
        sentiment: domain (`meals`, `films`, `journeys`) to its opinions.
        documents: stories as lists of consecutive sentences.
    """

    seed: int
    sentiment: Mapping[str, Split[LabelledText]]
    topics: Split[TopicText]
    inference: Split[InferencePair]
    similarity: Split[ScoredPair]
    retrieval: Retrieval
    documents: tuple[tuple[str, ...], ...]
    trees: Split[Tree]


@lru_cache(maxsize=4)
def make_world(seed: int = 0) -> World:
    """The world of that seed; a second call gives the same object."""
    return World(
        seed=seed,
        sentiment=MappingProxyType({domain: make_sentiment(seed, domain, 1200, 400) for domain in DOMAINS}),
        topics=make_topics(seed, 1500, 504),
        inference=make_inference(seed, 2001, 501),
        similarity=make_similarity(seed, 1500, 500),
        retrieval=make_retrieval(seed, 50, 100),
        documents=make_documents(seed, 400),
        trees=make_trees(seed, 800, 200),
    )


def texts(world: World) -> tuple[str, ...]:
    """All different train texts and some 8,000 more sentences of the grammar, in which also the words of test occur.

    This is what a pretrained encoder is supposed to have read: no test text is among them.
    """
    tested = frozenset(held_out_texts(world))
    extra = (
        sentence
        for source in (unlabelled_sentiment, unlabelled_topics, unlabelled_events, unlabelled_trees)
        for sentence in _different(source(world.seed), _UNLABELLED)
    )
    return tuple(text for text in dict.fromkeys(chain(_train_texts(world), extra)) if text not in tested)


def held_out_texts(world: World) -> tuple[str, ...]:
    """Every text of every test row, questions included; the corpus is not among them."""
    return tuple(
        chain(
            (row.text for split in world.sentiment.values() for row in split.test),
            (row.text for row in world.topics.test),
            (text for pair in world.inference.test for text in (pair.premise, pair.hypothesis)),
            (text for pair in world.similarity.test for text in (pair.a, pair.b)),
            (question for _, question in world.retrieval.queries.test),
            (tree.text for tree in world.trees.test),
        )
    )


def _train_texts(world: World) -> Iterator[str]:
    return chain(
        (row.text for split in world.sentiment.values() for row in split.train),
        (row.text for row in world.topics.train),
        (text for pair in world.inference.train for text in (pair.premise, pair.hypothesis)),
        (text for pair in world.similarity.train for text in (pair.a, pair.b)),
        (question for _, question in world.retrieval.queries.train),
        (sentence for document in world.documents for sentence in document),
        (tree.text for tree in world.trees.train),
    )


def _different(sentences: Iterator[str], count: int) -> tuple[str, ...]:
    """The first so many different ones."""
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault(next(sentences))
    return tuple(found)
