"""Train sets by name, on pools made by hand and on real data."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from thawbench.contracts import ClassTarget, Labelled, Pair, Relation, ScoreTarget, Signal, TrainSet
from thawbench.errors import DataUnavailableError, UserError
from thawbench.tasks import fingerprint, trainsets
from thawbench.tasks.nli import Nli, pairs_of
from thawbench.tasks.pool import Pool
from thawbench.tasks.set_catalog import named_set
from thawbench.tasks.trainsets import known_trainsets, load_trainset, trainset_info

RELATIONS: tuple[Relation, ...] = ("entailment", "neutral", "contradiction")


@dataclass(eq=False)
class HandSource:
    """A source whose rows can be swapped and whose loads are counted."""

    pool: Pool
    name: str = "hand"
    version: int = 1
    data: str = "hand/hand"
    revision: str = "c" * 40
    loads: int = 0

    def load(self) -> Pool:
        self.loads += 1
        return self.pool


def relation_pool(rows: int = 150) -> Pool:
    pairs = tuple(Pair(f"premise {row}", f"hypothesis {row}", RELATIONS[row % 3]) for row in range(rows))
    return Pool(pairs=pairs, texts=tuple(text for pair in pairs for text in (pair.a, pair.b)))


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[HandSource]:
    source = HandSource(relation_pool())
    monkeypatch.setitem(trainsets._SOURCES, "hand", source)
    trainsets._pool.cache_clear()
    yield source
    trainsets._pool.cache_clear()


def all_pairs(data: TrainSet) -> set[Pair]:
    return {*data.pairs, *data.dev.pairs}


def test_n_counts_dev_which_is_a_fifth_and_shares_no_row_with_train(hand: HandSource) -> None:
    data = load_trainset("hand@100", 0)
    assert (len(data.pairs), len(data.dev.pairs)) == (80, 20)
    assert not set(data.pairs) & set(data.dev.pairs)
    assert len({pair.relation for pair in data.dev.pairs}) == 3


def test_a_small_sample_lies_within_a_large_one_of_the_same_seed(hand: HandSource) -> None:
    assert all_pairs(load_trainset("hand@20", 3)) < all_pairs(load_trainset("hand@100", 3))


def test_another_sample_seed_takes_other_rows_from_the_same_pool(hand: HandSource) -> None:
    first, second = load_trainset("hand@20", 0), load_trainset("hand@20", 1)
    assert all_pairs(first) != all_pairs(second)
    assert first.texts == second.texts == hand.pool.texts
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ("name", "begins"),
    [("world/meals@100", "9a64482f899a"), ("world/nli@200", "29c4215bde5c"), ("world/sts", "ce108fcb0a56")],
)
def test_built_in_sets_keep_the_fingerprints_of_published_records(name: str, begins: str) -> None:
    info = trainset_info(name)
    assert (info.version, info.fingerprint[:12]) == (1, begins)


def test_without_n_every_row_is_taken(hand: HandSource) -> None:
    assert all_pairs(load_trainset("hand", 0)) == set(hand.pool.pairs)


def test_a_set_seen_before_is_planned_without_its_rows(hand: HandSource) -> None:
    first = trainset_info("hand@20")
    trainsets._pool.cache_clear()
    hand.load = None  # type: ignore[assignment, method-assign]
    assert trainset_info("hand@20") == first
    assert first.name == "hand@20"
    assert first.signals == {Signal.PAIRS, Signal.TEXTS}


@pytest.mark.parametrize("target", [None, ScoreTarget(0.0, 5.0), ClassTarget(("no", "yes"))])
def test_the_target_survives_the_manifest(target: Any, hand: HandSource) -> None:
    rows = tuple(Labelled(f"text {row}", label="yes") for row in range(4))
    hand.pool = Pool(target=target, labelled=rows)
    assert trainset_info("hand").target == target
    assert trainset_info("hand").target == load_trainset("hand", 0).target


def test_a_new_version_of_a_set_is_seen_afresh(hand: HandSource) -> None:
    first = trainset_info("hand")
    trainsets._pool.cache_clear()
    hand.pool, hand.version = relation_pool(90), 2
    assert trainset_info("hand").fingerprint != first.fingerprint


def test_rows_that_changed_behind_the_manifest_are_refused(hand: HandSource) -> None:
    trainset_info("hand")
    trainsets._pool.cache_clear()
    hand.pool = relation_pool(149)
    with pytest.raises(DataUnavailableError, match=r"delete .*hand@"):
        load_trainset("hand", 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hand@151", "asks for more rows than the 150"),
        ("hand@1", "at least 2"),
        ("hand@ten", "malformed"),
        ("nil", "did you mean nli"),
    ],
)
def test_a_name_that_cannot_be_served_is_told_in_one_line(name: str, message: str, hand: HandSource) -> None:
    for ask in (lambda: trainset_info(name), lambda: load_trainset(name, 0)):
        with pytest.raises(UserError, match=message) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_texts_alone_cannot_be_sampled(hand: HandSource) -> None:
    hand.pool = Pool(texts=("a", "b"))
    with pytest.raises(UserError, match="no labelled rows"):
        load_trainset("hand@2", 0)
    assert load_trainset("hand", 0).texts == ("a", "b")


class _Rows(dict[str, list[Any]]):
    def __init__(self, names: list[str], labels: list[int]) -> None:
        super().__init__(premise=["p"] * len(labels), hypothesis=["h"] * len(labels), label=labels)
        self.features = {"label": type("ClassLabel", (), {"names": names})}


def test_relations_go_by_the_name_of_a_label_and_unlabelled_rows_are_left_out() -> None:
    found = list(pairs_of(_Rows(["contradiction", "entailment", "neutral"], [1, -1, 0]), "hand/hand"))
    assert [pair.relation for pair in found] == ["entailment", "contradiction"]


def test_labels_of_other_names_are_refused() -> None:
    with pytest.raises(DataUnavailableError, match="called no, yes"):
        list(pairs_of(_Rows(["no", "yes"], [0]), "hand/hand"))


def test_known_sets_hold_a_corpus_for_every_listed_retrieval_task() -> None:
    assert {"nli", "stsb", "corpus/scifact", "corpus/cranfield"} <= set(known_trainsets())


def test_planning_a_seen_set_imports_nothing_heavy(hand: HandSource) -> None:
    hand.name, hand.revision = "nli", Nli.revision
    fingerprint.remember(
        fingerprint.Entry(
            "nli", "x", hand.revision, "f" * 64, {"version": 1, "rows": 9, "signals": ["pairs"], "target": None}
        )
    )
    code = (
        "import sys, json; from thawbench.tasks.trainsets import trainset_info; trainset_info('nli@5');"
        "print(json.dumps([name for name in ('mteb', 'datasets', 'torch') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_nli_holds_pairs_of_all_relations() -> None:
    data = load_trainset("nli@300", 0)
    assert {pair.relation for pair in data.pairs} == set(RELATIONS)
    assert len(data.pairs) + len(data.dev.pairs) == 300


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_no_pair_of_stsb_is_one_of_the_test_split() -> None:
    hidden = {frozenset(row.input) for row in named_set("stsb").splits().test.rows}
    data = load_trainset("stsb", 0)
    assert data.target == ScoreTarget(0.0, 5.0)
    assert len(data.pairs) + len(data.dev.pairs) == 5732  # of 5,749
    assert not {frozenset((pair.a, pair.b)) for pair in (*data.pairs, *data.dev.pairs)} & hidden


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_a_corpus_holds_every_document_of_its_task() -> None:
    data = load_trainset("corpus/Cranfield", 0)
    assert data.name == "corpus/cranfield"
    assert len(data.texts) == 1400
    assert data.signals == {Signal.TEXTS}
