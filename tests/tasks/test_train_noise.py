"""Noisy train sets: what is spoilt, how much of it exactly, and that names and fingerprints tell them apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from thawbench.contracts import Labelled, Signal, TrainSet
from thawbench.errors import UserError
from thawbench.tasks import set_catalog, trainsets
from thawbench.tasks.set_catalog import register_set
from thawbench.tasks.trainsets import load_trainset, trainset_info

COLOURS = ("blue", "green", "red")


@pytest.fixture(autouse=True)
def _sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`colours`, 60 texts of three classes, and `scored`, 30 pairs with a score."""
    monkeypatch.setattr(set_catalog, "_own", {})
    texts = [f"the {COLOURS[row % 3]} film number {row} of many others,{COLOURS[row % 3]}" for row in range(90)]
    (tmp_path / "colours.csv").write_text("text,label\n" + "\n".join(texts[:60]))
    (tmp_path / "test.csv").write_text("text,label\n" + "\n".join(texts[60:]))
    (tmp_path / "colours.toml").write_text('file = "colours.csv"\ntest_file = "test.csv"\n')
    pairs = [f"the first film {row},the second film {row},{row % 6}" for row in range(36)]
    (tmp_path / "pairs.csv").write_text("text,other,gold\n" + "\n".join(pairs))
    (tmp_path / "scored.toml").write_text('file = "pairs.csv"\ntext_b = "other"\nscore = "gold"\nrange = [0, 5]\n')
    for name in ("colours", "scored"):
        register_set(tmp_path / f"{name}.toml")
    yield
    trainsets._pool.cache_clear()
    trainsets._spoilt.cache_clear()


def rows(data: TrainSet) -> list[Labelled]:
    return [*data.labelled, *data.dev.labelled]


def flipped(name: str, share: str, seed: int = 0) -> dict[str, str | None]:
    """The classes that label noise gave, by text, where they are not the clean ones."""
    clean, noisy = (rows(load_trainset(each, seed)) for each in (name, f"{name}~labels-{share}"))
    assert [row.input for row in noisy] == [row.input for row in clean]
    return {str(row.input): row.label for row, old in zip(noisy, clean, strict=True) if row.label != old.label}


@pytest.mark.parametrize(
    ("n", "share", "count"), [(20, "0.1", 2), (20, "0.12", 2), (20, "0.13", 3), (50, "0.33", 16), (20, "1", 20)]
)
def test_label_noise_flips_exactly_its_share_of_the_rows(n: int, share: str, count: int) -> None:
    assert len(flipped(f"colours@{n}", share)) == count == round(float(share) * n)


def test_label_noise_goes_to_every_other_class_and_meets_dev_as_well() -> None:
    noisy = load_trainset("colours@50~labels-1", 0)
    moves = {(str(row.input).split()[1], row.label) for row in rows(noisy)}

    assert moves == {(old, new) for old in COLOURS for new in COLOURS if old != new}
    assert all(row.label not in str(row.input).split() for row in noisy.dev.labelled)


def test_flips_are_drawn_from_the_sample_seed_and_nest() -> None:
    few, many = flipped("colours@50", "0.1"), flipped("colours@50", "0.3")

    assert few.items() < many.items()
    assert flipped("colours@50", "0.3", seed=1) != many
    assert flipped("colours@50", "0.3") == many


def test_the_noisy_rows_are_the_clean_ones_dev_included_but_for_their_texts() -> None:
    clean, noisy = load_trainset("colours@50", 2), load_trainset("colours@50~typos-0.3", 2)

    assert [row.label for row in noisy.labelled] == [row.label for row in clean.labelled]
    assert [row.label for row in noisy.dev.labelled] == [row.label for row in clean.dev.labelled]
    same = [old.input == new.input for old, new in zip(rows(clean), rows(noisy), strict=True)]
    assert 0 < sum(same) + 1 < len(same)


def test_texts_are_spoilt_alike_in_every_sample_and_in_the_unlabelled_pool() -> None:
    small, large = load_trainset("colours@20~typos-0.3", 0), load_trainset("colours@50~typos-0.3", 0)
    other = load_trainset("colours@50~typos-0.3", 1)
    texts = [{row.input for row in rows(data)} for data in (small, large, other)]

    assert texts[0] < texts[1]
    assert texts[1] | texts[2] <= set(large.texts)
    assert large.texts == other.texts != load_trainset("colours@50", 0).texts
    assert len(large.texts) == 60


def test_scored_pairs_are_spoilt_on_both_sides_and_as_rows_and_pairs_alike() -> None:
    data = load_trainset("scored@20~deletions-0.5", 0)

    assert [(pair.a, pair.b) for pair in data.pairs] == [row.input for row in data.labelled]
    assert [pair.score for pair in data.pairs] == [row.score for row in data.labelled]
    first, second = (
        {
            word
            for row in data.labelled
            if not isinstance(row.input, str)
            for word in ("the", "film")
            if word in row.input[side].split()
        }
        for side in (0, 1)
    )
    assert first == second == {"the", "film"}
    assert any(pair.a.split()[1:] != pair.b.split()[1:] for pair in data.pairs)


def test_a_flipped_relation_is_that_of_its_pair_too() -> None:
    data = load_trainset("world/nli@60~labels-0.5", 0)

    assert [pair.relation for pair in data.pairs] == [row.label for row in data.labelled]


def test_a_flipped_row_of_a_hierarchy_has_a_path_of_its_new_class() -> None:
    for row in rows(load_trainset("world/topics@60~labels-0.5", 0)):
        assert row.path[0] == row.label


def test_noise_is_part_of_name_and_fingerprint_and_is_planned_without_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "colours@20",
        "colours@20~typos-0.1",
        "colours@20~typos-0.2",
        "colours@20~labels-0.1",
        "colours@20~case-0.1",
    ]
    loaded = [load_trainset(name, 0) for name in names]
    monkeypatch.setattr(trainsets, "_loaded", None)
    planned = [trainset_info(name) for name in names]

    assert [info.name for info in planned] == names == [data.name for data in loaded]
    assert [info.fingerprint for info in planned] == [data.fingerprint for data in loaded]
    assert len({info.fingerprint for info in planned}) == len(names)
    assert all(info.signals == planned[0].signals >= {Signal.LABELS, Signal.TEXTS} for info in planned)


def test_one_noise_has_one_name_however_it_is_spelled() -> None:
    found = {
        trainset_info(name)
        for name in ("colours@20~typos-0.10~labels-0.2~case-1", "colours@20~labels-0.2~case-1.0~typos-0.1")
    }

    assert [info.name for info in found] == ["colours@20~case-1~typos-0.1~labels-0.2"]
    assert trainset_info("colours@20~labels-0~typos-0.0") == trainset_info("colours@20")


def test_another_version_of_a_noiser_makes_another_train_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = trainset_info("colours@20~typos-0.1").fingerprint
    monkeypatch.setattr("thawbench.tasks.word_noise.Typos.version", 2)

    assert trainset_info("colours@20~typos-0.1").fingerprint != before


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("colours@20~typo-0.1", "unknown noise 'typo'; did you mean typos?"),
        ("colours@20~typos", "after ~ stands a noise and its strength, each once, as in colours@20~labels-0.2"),
        ("colours@20~typos-0.1~typos-0.2", "each once"),
        ("colours@20~typos-1.5", "must be a number from 0 to 1, and is 1.5"),
        ("colours@20~typos-nan", "must be a number from 0 to 1, and is nan"),
        ("colours~labels-0.1@20", "must be a number from 0 to 1, and is 0.1@20"),
        ("scored@20~labels-0.1", "scored has scores and no classes; leave out labels"),
        ("world/texts~typos-0.1", "world/texts has no labels; noise goes on labelled sets"),
    ],
)
def test_noise_that_cannot_be_is_told_in_one_line(name: str, told: str) -> None:
    for ask in (lambda: trainset_info(name), lambda: load_trainset(name, 0)):
        with pytest.raises(UserError, match=told) as error:
            ask()
        assert "\n" not in str(error.value)
