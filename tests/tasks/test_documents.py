"""Running text as documents of sentences, by hand and on real data."""

import pytest

from thawbench.contracts import Signal
from thawbench.tasks import documents
from thawbench.tasks.documents import NewsgroupDocuments, WikiTextDocuments, articles_of, sentences_of
from thawbench.tasks.hub import load_split
from thawbench.tasks.trainsets import load_trainset, trainset_info


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is here. Two came!  Three?", ("One is here.", "Two came!", "Three?")),
        ("It broke over\na line. Then", ("It broke over a line.", "Then")),
        ("A heading\n\n  \nand a paragraph", ("A heading", "and a paragraph")),
        ('He said "Go." She went.', ('He said "Go."', "She went.")),
        ('Is it so? "Yes." (Perhaps.) No.', ("Is it so?", '"Yes."', "(Perhaps.)", "No.")),
        ("a length of 0 @.@ 7 m , e.g. this . The next", ("a length of 0 @.@ 7 m , e.g. this .", "The next")),
        ("---- \n\n 1 2 3", ()),
        ("", ()),
    ],
)
def test_sentences_end_at_a_stop_before_a_capital_and_at_an_empty_line(text: str, sentences: tuple[str, ...]) -> None:
    assert sentences_of(text) == sentences


def test_articles_begin_at_their_heading_and_headings_are_no_text() -> None:
    lines = [
        "",
        " = One = \n",
        "",
        " First line . \n",
        " = = Part = = \n",
        " Second . \n",
        "",
        " = Two = \n",
        " Third . \n",
    ]
    assert list(articles_of(lines)) == [["First line .", "Second ."], ["Third ."]]


def test_posts_of_the_test_split_and_of_one_sentence_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {
        "train": ["One. Two.", "Only one", "", "Also in. Both splits.", "One. Two.", "Three. Four."],
        "test": ["Also in.  Both\nsplits."],
    }
    monkeypatch.setattr(documents, "load_split", lambda data, config, split, *_: {"text": splits[split]})
    pool = NewsgroupDocuments().load()
    assert pool.documents == (("One.", "Two."), ("Three.", "Four."))
    assert pool.texts == ("One.", "Two.", "Three.", "Four.")
    assert pool.dropped == 4


@pytest.mark.hub
def test_newsgroups_has_documents_and_none_of_a_test_row(needs_hub: None) -> None:
    assert trainset_info("docs/newsgroups").signals == {Signal.TEXTS, Signal.DOCUMENTS}
    data = load_trainset("docs/newsgroups", 0)
    assert 9_000 < len(data.documents) < 12_014
    assert all(len(document) > 1 for document in data.documents)
    test = load_split(NewsgroupDocuments.data, None, "test", "main", "a test")["text"]
    assert not {sentences_of(post) for post in test} & set(data.documents)


@pytest.mark.hub
def test_wikitexts_articles_are_those_that_its_card_counts(needs_hub: None) -> None:
    lines = load_split(WikiTextDocuments.data, "wikitext-2-v1", "validation", WikiTextDocuments.revision, "a test")[
        "text"
    ]
    articles = list(articles_of(lines))
    assert len(articles) == 60
    assert all(len(sentences_of("\n\n".join(article))) > 1 for article in articles)
