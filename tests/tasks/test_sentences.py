"""Where sentences come from, how many there are, and which of them mean the same."""

from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.tasks import set_catalog
from thawbench.tasks.pool import Pool
from thawbench.tasks.sentences import find_source, load_sentences
from thawbench.tasks.set_catalog import register_set


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets of one's own: `posts`, 30 test texts of several sentences, and `pairs`, 30 with a score from 0 to 5."""
    monkeypatch.setattr(set_catalog, "_own", {})
    for part in ("train", "test"):
        posts = "".join(f"Post {number} of {part}. It goes on.,{'yn'[number % 2]}\n" for number in range(30))
        pairs = "".join(f"a {number} {part},b {number}. B.,{number % 6}\n" for number in range(30))
        (tmp_path / f"posts_{part}.csv").write_text("text,label\n" + posts + "Post 1 of test. Twice.,y\n?!,n\n")
        (tmp_path / f"pairs_{part}.csv").write_text("text,text_b,gold\n" + pairs)
    (tmp_path / "posts.toml").write_text('file = "posts_train.csv"\ntest_file = "posts_test.csv"\n')
    described = 'text_b = "text_b"\nscore = "gold"\nrange = [0, 5]\n'
    (tmp_path / "pairs.toml").write_text(f'file = "pairs_train.csv"\ntest_file = "pairs_test.csv"\n{described}')
    register_set(tmp_path / "posts.toml")
    register_set(tmp_path / "pairs.toml")
    return tmp_path


@pytest.mark.usefixtures("own")
def test_of_a_text_the_first_sentence_is_taken_once_and_only_of_test_rows() -> None:
    found = load_sentences(find_source("posts"), None)

    assert sorted(found.texts) == sorted(f"Post {number} of test." for number in range(30))
    assert found.positives == ()


@pytest.mark.usefixtures("own")
def test_pairs_come_as_they_are_and_those_above_four_of_five_are_positive() -> None:
    found = load_sentences(find_source("pairs"), None)

    assert len(found.texts) == 60
    positives = {(found.texts[a], found.texts[b]) for a, b in found.positives}
    assert positives == {(f"a {number} test", f"b {number}. B.") for number in range(5, 30, 6)}


@pytest.mark.usefixtures("own")
def test_fewer_texts_are_the_first_of_more_in_an_order_that_is_not_that_of_the_data() -> None:
    source = find_source("pairs")
    some, more = load_sentences(source, 21), load_sentences(source, 40)

    assert len(some.texts) == 21
    assert more.texts[:21] == some.texts
    assert set(some.positives) <= set(more.positives)
    assert some.texts[0] != "a 0 test"
    assert all(place < 21 for pair in some.positives for place in pair)


@pytest.mark.usefixtures("own")
def test_more_than_there_are_is_told() -> None:
    with pytest.raises(UserError, match="posts has 30 different sentences, where 31 are wanted"):
        load_sentences(find_source("posts"), 31)


def test_a_source_of_very_few_texts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = find_source("docs/wikitext2")
    monkeypatch.setattr(type(source), "load", lambda _: Pool(texts=("One. Two.", "Three.", "One.", "…")))

    with pytest.raises(UserError, match="docs/wikitext2 has 2 different sentences, where 20 are wanted"):
        load_sentences(source, None)


def test_documents_and_corpora_are_found_whatever_their_case() -> None:
    assert find_source("docs/newsgroups").name == "docs/newsgroups"
    assert find_source("corpus/Cranfield").name == "corpus/cranfield"


def test_an_unknown_source_is_told_with_its_neighbours() -> None:
    with pytest.raises(UserError, match="unknown source of sentences 'docs/wikitext'; did you mean docs/wikitext2"):
        find_source("docs/wikitext")
