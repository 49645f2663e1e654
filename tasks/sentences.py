"""Sentences to look at an encoder with: the test rows of a labelled set, or documents."""

from collections.abc import Iterator
from dataclasses import dataclass

from thawbench.contracts import Labelled, ScoreTarget
from thawbench.errors import UserError, unknown
from thawbench.tasks import sampling
from thawbench.tasks.corpus import Corpus
from thawbench.tasks.documents import NewsgroupDocuments, WikiTextDocuments, sentences_of
from thawbench.tasks.ir import Ir
from thawbench.tasks.labelled_set import LabelledSet
from thawbench.tasks.pool import Source
from thawbench.tasks.set_catalog import find_set, known_sets
from thawbench.tasks.word_pieces import words_of

LEAST = 20
MOST = 1000
"""How many are taken where no number is asked for: as many as Ethayarajh (EMNLP 2019) samples."""
_CLOSE = 0.8
"""A pair whose score lies above this share of the range is positive: above 4 of 5, as in SimCSE (EMNLP 2021)."""
_CORPUS = "corpus/"
_DOCUMENTS: dict[str, Source] = {made.name: made for made in (NewsgroupDocuments(), WikiTextDocuments())}


@dataclass(frozen=True)
class Sentences:
    """Different texts of a word or more each.

    Attributes:
        positives: places of two that mean the same.
    """

    texts: tuple[str, ...]
    positives: tuple[tuple[int, int], ...]


def find_source(name: str) -> Source:
    """A labelled set, `docs/…`, or `corpus/` and a retrieval task.

    Raises:
        UserError: there is none of that name; the nearest are given.
    """
    if name.lower().startswith(_CORPUS):
        body = name[len(_CORPUS) :]
        Ir.resolve(body)  # a corpus by itself would tell only later that there is none
        return Corpus(body)
    source = find_set(name) or _DOCUMENTS.get(name)
    if source is None:
        corpora = (_CORPUS + body.lower() for body in Ir.known())
        raise unknown("source of sentences", name, (*known_sets(), *_DOCUMENTS, *corpora))
    return source


def load_sentences(source: Source, taken: int | None) -> Sentences:
    """The first so many of an order that is drawn once for a source.

    Args:
        taken: how many; None for 1,000, or for all where there are fewer.

    Raises:
        DataUnavailableError: not to be had.
        UserError: there are too few.
    """
    rows = list(_rows(source))
    places: dict[str, int] = {}
    positives: list[tuple[int, int]] = []
    for number in sampling.order(f"sentences/{source.name}", 0, len(rows)):
        row = rows[number]
        for text in row.texts:
            if len(places) < (taken or MOST) and words_of(text):
                places.setdefault(text, len(places))
        kept = [places[text] for text in row.texts if text in places]
        if row.positive and len(set(kept)) == 2:
            positives.append((kept[0], kept[1]))
    if len(places) < (taken or LEAST):
        raise UserError(f"{source.name} has {len(places)} different sentences, where {taken or LEAST} are wanted")
    return Sentences(tuple(places), tuple(positives))


@dataclass(frozen=True)
class _Row:
    texts: tuple[str, ...]
    positive: bool = False


def _rows(source: Source) -> Iterator[_Row]:
    """The first sentence of every text; of a pair both texts as they are."""
    if not isinstance(source, LabelledSet):
        yield from (_Row(sentences_of(text)[:1]) for text in source.load().texts)
        return
    splits = source.splits()
    close = float("inf")
    if isinstance(splits.target, ScoreTarget):
        close = splits.target.low + _CLOSE * (splits.target.high - splits.target.low)
    for row in splits.test.rows:
        yield _Row(_texts(row), row.score is not None and row.score > close)


def _texts(row: Labelled) -> tuple[str, ...]:
    return sentences_of(row.input)[:1] if isinstance(row.input, str) else row.input
