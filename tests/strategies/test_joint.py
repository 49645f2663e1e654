"""All sets at once: whose batches, whose heads, whose dev rows; and where it begins on a chain."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_fits import MOODS, TEXTS, fit, inputs_of, moods, pairs, weights

from thawbench.contracts import Adapted, Budget, Labelled, Rows, Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.classification import Classification
from thawbench.strategies.joint import Joint, _AllAtOnce
from thawbench.strategies.trainable import Body
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.store import AdaptationStore
from thawbench.tasks.trainsets import load_trainset

CATS = TrainSet(
    "cats",
    1,
    "c",
    MOODS,
    tuple(Labelled(text, "good" if "cat" in text or "is" in text else "bad") for text in TEXTS[::2]),
    dev=Rows(tuple(Labelled(text, "good" if "cat" in text or "is" in text else "bad") for text in TEXTS[1::2])),
)
ALL = replace(pairs(), earlier=(moods(dev=True), CATS))


def accuracy(adapted: AdaptedEncoder, data: TrainSet) -> float:
    said = adapted.predict(inputs_of(data), data.name).argmax(axis=1)
    return float(np.mean([MOODS.classes[place] == row.label for place, row in zip(said, data.labelled, strict=True)]))


def test_it_learns_every_set_under_a_head_of_its_own(tiny: AdaptedEncoder) -> None:
    made = fit("joint", tiny, ALL, budget=Budget(epochs=60), lr=3e-3)

    assert list(made.heads) == ["moods", "cats", "pairs"]
    assert [accuracy(made, data) for data in ALL.earlier] == [1.0, 1.0]
    assert accuracy(made, ALL) > 0.7  # half of its pairs are of each class


def _by_name() -> dict[str, TrainSet]:
    return {data.name: data for data in (*ALL.earlier, ALL)}


def test_its_epochs_are_as_long_as_all_sets_together(tiny: AdaptedEncoder) -> None:
    made = fit("joint", tiny, ALL, budget=Budget(epochs=2), batch_size=4)
    rows = sum(len(data.labelled) for data in _by_name().values())

    assert rows == 6 + 6 + 16
    assert len(made.trace) == 2 * (2 + 2 + 4)  # no batch is of two sets
    assert {name for name in made.trace[0].gradient_norm if name.startswith("head")} <= {
        "head",
        "head.moods",
        "head.cats",
    }


def test_small_sets_are_run_through_as_often_as_each_would_be_alone() -> None:
    assert [Joint().schedule(16, Budget(), [16] * earlier).steps for earlier in (0, 1, 2)] == [60, 120, 180]
    assert [Joint().schedule(160, Budget(), [160] * earlier).steps for earlier in (0, 1)] == [100, 200]
    assert Joint().schedule(17, Budget(epochs=1), [17]).steps == 4


def lessons(tiny: AdaptedEncoder) -> _AllAtOnce:
    strategy, body = Joint(), Body.of(tiny.source).copy(0.0)
    made = {
        name: Classification(body, strategy.new_head(data, body, Seeds()).module, data, MOODS, batch_size=4, seed=place)
        for place, (name, data) in enumerate(_by_name().items())
    }
    heads: dict[str, Any] = {name: strategy.new_head(_by_name()[name], body, Seeds()) for name in ("moods", "cats")}
    return _AllAtOnce(made["pairs"], heads, [made["moods"], made["cats"]], seed=5)


def test_a_batch_is_of_one_set_and_an_epoch_has_every_row_of_all_once(tiny: AdaptedEncoder) -> None:
    made = lessons(tiny)
    one, again, other = made.batches(0), made.batches(0), made.batches(1)

    for epoch in (one, other):
        rows = sorted((place, int(row)) for place, batch in epoch for row in batch)
        assert rows == [(place, row) for place, count in enumerate((6, 6, 16)) for row in range(count)]
    places = [place for place, _ in one]
    assert places != sorted(places)
    assert places == [place for place, _ in again]
    assert places != [place for place, _ in other]


def test_dev_is_the_mean_over_the_sets_that_have_dev_rows(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lessons(tiny)
    assert made.lesson.dev_score() is None  # `pairs` has none
    found = {id(lesson): score for lesson, score in zip(made._lessons, (0.5, 1.0, None), strict=True)}
    monkeypatch.setattr(Classification, "dev_score", lambda lesson: found[id(lesson)])

    assert made.dev_score() == 0.75


def test_saved_and_restored_all_heads_answer_to_the_last_bit(tiny: AdaptedEncoder, tmp_path: Path) -> None:
    made = fit("joint", tiny, ALL)
    made.save(tmp_path)
    loaded = Joint().restore(tiny, load_state(tmp_path))

    assert list(loaded.heads) == list(made.heads)
    for name, data in _by_name().items():
        assert np.array_equal(loaded.predict(inputs_of(data), name), made.predict(inputs_of(data), name))


def test_heads_of_equal_shape_begin_in_different_places(tiny: AdaptedEncoder) -> None:
    made = fit("joint", tiny, ALL, budget=Budget(steps=0))

    assert not np.array_equal(made.predict(TEXTS, "moods"), made.predict(TEXTS, "cats"))


def test_and_in_other_places_than_the_heads_that_the_start_has(tiny: AdaptedEncoder) -> None:
    none = Budget(steps=0)
    made = fit("joint", fit("finetune", tiny, replace(moods(), name="before"), budget=none), ALL, budget=none)
    said = [made.predict(TEXTS, name) for name in ("before", "moods", "cats")]

    assert not any(np.array_equal(one, other) for one, other in combinations(said, 2))


def test_an_earlier_set_without_labels_is_not_applicable(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="bare has no labelled rows to tune on"):
        fit("joint", tiny, replace(moods(), earlier=(TrainSet("bare", 1, "f", texts=("a",)),)))


# ---- on a chain, through the suite ----------------------------------------------------------------------------------

CHAIN = ("world/meals@20", "world/topics@40", "world/nli@20")


def trail(folder: Path, results: Path, row: str = "joint", chain: tuple[str, ...] = CHAIN) -> tuple[Adapted, ...]:
    request = Request(
        strategies=(row,),
        tasks=(f"forgetting/{'+'.join(chain)}",),
        backbone=str(folder),
        precision="float32",
        budget=Budget(steps=4),
    )
    (cell,) = make_plan(request).cells
    assert not cell.reason
    return AdaptationStore(results).trail(cell.adaptation)


def test_each_step_begins_at_the_backbone_and_reads_all_sets_so_far(
    tiny: AdaptedEncoder, tiny_folder: Path, tmp_path: Path
) -> None:
    _, *made = trail(tiny_folder, tmp_path)
    sets = [load_trainset(name, 0) for name in CHAIN]
    for place, adapted in enumerate(made):
        alone = fit("joint", tiny, replace(sets[place], earlier=tuple(sets[:place])), Seeds(), Budget(steps=4))
        assert list(adapted.heads) == list(CHAIN[: place + 1])
        assert isinstance(adapted, AdaptedEncoder)
        now, expected = weights(adapted), weights(alone)
        assert all(np.array_equal(now[name].detach(), expected[name].detach()) for name in now)


def test_it_goes_on_from_checkpoints_as_it_was(tiny_folder: Path, tmp_path: Path) -> None:
    first, again = trail(tiny_folder, tmp_path), trail(tiny_folder, tmp_path)

    for name in CHAIN:
        texts = inputs_of(load_trainset(name, 0))
        assert np.array_equal(first[-1].predict(texts, name), again[-1].predict(texts, name))


def test_after_a_strategy_with_a_set_of_its_own_it_begins_there_each_time(tiny_folder: Path, tmp_path: Path) -> None:
    row = f"finetune:train={CHAIN[0]}+joint:lr=0"  # at a rate of nothing it leaves the encoder where it began
    _, tuned, *joint = trail(tiny_folder, tmp_path, row, CHAIN[1:])
    texts = list(TEXTS)

    assert len(joint) == 2
    for adapted in joint:
        assert np.array_equal(adapted.encode(texts), tuned.encode(texts))
