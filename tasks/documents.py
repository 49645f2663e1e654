"""Train sets of running text, `docs/…`: documents as lists of consecutive sentences."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from thawbench.tasks.hub import load_split
from thawbench.tasks.pool import Pool, unique

# a full stop, what may close after it, and then what may open a sentence: a capital or a digit, quoted or not
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])(?:\s*[\"'”’)]+)?\s+(?=[\"'“‘(]*\s*[A-Z0-9])")
_HEADING = re.compile(r"= (?!=).* =")
"""Of an article in WikiText; those of its sections have more signs at either end."""


class NewsgroupDocuments:
    """The posts of 20 Newsgroups' train split, without their labels and without what is in the test split too."""

    name = "docs/newsgroups"
    version = 1
    data = "local/20_newsgroups_19997"
    revision = "main"

    def load(self) -> Pool:
        """Each different post of two sentences or more.

        Raises:
            DataUnavailableError: not to be had.
        """
        splits = (load_split(self.data, None, split, self.revision, self.name)["text"] for split in ("train", "test"))
        train, test = ([sentences_of(post) for post in posts] for posts in splits)
        hidden = set(test)
        return _pool(len(train), dict.fromkeys(post for post in train if post not in hidden))


class WikiTextDocuments:
    """The articles of WikiText-2's train split, tokenized as the set has them."""

    name = "docs/wikitext2"
    version = 1
    data = "Salesforce/wikitext"
    revision = "b08601e04326c79dfdd32d625aee71d232d685c3"

    def load(self) -> Pool:
        """Each article of two sentences or more.

        Raises:
            DataUnavailableError: not to be had.
        """
        lines = load_split(self.data, "wikitext-2-v1", "train", self.revision, self.name)["text"]
        articles = list(articles_of(lines))
        return _pool(len(articles), (sentences_of("\n\n".join(article)) for article in articles))


def sentences_of(text: str) -> tuple[str, ...]:
    """A text's sentences in order, by a plain rule: they end at . ! or ? before a capital, and at empty lines.

    Line breaks within a sentence become spaces. What has no letter in it is left out.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))
    pieces = (piece for paragraph in paragraphs for piece in _pieces(paragraph))
    return tuple(piece for piece in pieces if any(character.isalpha() for character in piece))


def articles_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """WikiText's lines by article, headings left out."""
    article: list[str] = []
    for line in lines:
        text = line.strip()
        if _HEADING.fullmatch(text):
            if article:
                yield article
            article = []
        elif text and not text.startswith("= "):
            article.append(text)
    if article:
        yield article


def _pieces(paragraph: str) -> Iterator[str]:
    """Cut behind what closes a sentence."""
    start = 0
    for match in _BETWEEN_SENTENCES.finditer(paragraph):
        cut = match.start() + len(match.group().rstrip())
        yield paragraph[start:cut].strip()
        start = cut
    yield paragraph[start:].strip()


def _pool(seen: int, documents: Iterable[tuple[str, ...]]) -> Pool:
    kept = tuple(document for document in documents if len(document) > 1)
    return Pool(documents=kept, texts=unique(chain.from_iterable(kept)), dropped=seen - len(kept))
