"""Which rows are kept, which come back at a step and how they count, and that the first set is learnt again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_fits import MOODS, TEXTS, fit, inputs_of, moods, pairs, scores
from torch.nn import functional

from thawbench.contracts import Budget, Labelled, Seeds, Strategy, TrainSet
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.replay import KeptRows, Replay, ReplayConfig
from thawbench.strategies.together import heads_of_others
from thawbench.strategies.trainable import Body

CATS = TrainSet(
    "cats", 1, "c", MOODS, tuple(Labelled(text, "good" if "cat" in text or "is" in text else "bad") for text in TEXTS)
)
SEEDS = Seeds(0, 1, 2)


def kept(adapted: AdaptedEncoder) -> dict[str, tuple[Labelled, ...]]:
    return {each.train_set: each.rows for each in adapted.memory if isinstance(each, KeptRows)}


def test_the_first_train_rows_of_each_set_are_kept_and_no_dev_row(tiny: AdaptedEncoder) -> None:
    first = fit("replay", tiny, moods(dev=True), rows=2)
    second = fit("replay", first, pairs(), rows=4)
    third = fit("replay", second, CATS, rows=100)

    assert kept(first) == {"moods": moods(dev=True).labelled[:2]}
    assert kept(third) == {"moods": moods().labelled[:2], "pairs": pairs().labelled[:4], "cats": CATS.labelled}


@pytest.mark.parametrize("data", [moods(), pairs(), scores()], ids=lambda data: data.name)
def test_kept_rows_come_back_from_the_disk_as_they_were(tiny: AdaptedEncoder, data: TrainSet, tmp_path: Path) -> None:
    data = replace(data, labelled=tuple(replace(row, path=("all", "some")) for row in data.labelled))
    fit("replay", tiny, data, rows=3).save(tmp_path)
    loaded = Replay(ReplayConfig(rows=3)).restore(tiny, load_state(tmp_path))

    assert kept(loaded) == {data.name: data.labelled[:3]}


def objective(tiny: AdaptedEncoder, **config: Any) -> tuple[Any, AdaptedEncoder]:
    """What a third set is trained by, without dropout: six rows of `cats`, beside 2 of `moods` and 4 of `pairs`."""
    first = fit("replay", tiny, moods(), rows=2, dropout=0.0)
    second = fit("replay", first, pairs(), rows=4, dropout=0.0)
    strategy = Replay(ReplayConfig(dropout=0.0, **config))
    seen = []

    class Stop(Exception):
        pass

    def caught(lesson: Any, body: Any, start: Any, data: Any, seeds: Any) -> Any:
        seen.append(Replay.objective(strategy, lesson, body, start, data, seeds))
        raise Stop

    strategy.objective = caught  # type: ignore[method-assign]
    few = replace(CATS, labelled=CATS.labelled[:6])
    with pytest.raises(Stop):
        strategy.fit(second, few, seeds=SEEDS, budget=Budget(), adapt=_no_adapt)
    return seen[0], second


def _no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def test_as_many_kept_rows_as_new_ones_are_drawn_for_each_step_none_twice(tiny: AdaptedEncoder) -> None:
    made, _ = objective(tiny)
    steps = [made._drawn(5, step) for step in range(60)]
    places = [[*rows[0], *(rows[1] + 2)] for rows in steps]

    assert all(len(set(rows)) == len(rows) == 5 for rows in places)
    assert all(set(rows[0]) <= {0, 1} and set(rows[1]) <= {0, 1, 2, 3} for rows in steps)
    counts = np.bincount(np.concatenate(places), minlength=6)
    assert counts.min() > 0.8 * 60 * 5 / 6  # each row has its share
    assert [len(rows) for rows in made._drawn(16, 0)] == [2, 4]  # all of them, where a batch has more
    assert all(np.array_equal(a, b) for a, b in zip(made._drawn(5, 7), steps[7], strict=True))


def test_the_loss_of_a_step_is_the_mean_over_its_rows_whichever_set_they_are_of(tiny: AdaptedEncoder) -> None:
    """Against each set's own head, asked from outside."""
    made, start = objective(tiny)
    batch = np.array([0, 3, 4])
    first, second = made._drawn(3, 11)
    each = []
    for name, rows in (("moods", moods().labelled), ("pairs", pairs().labelled)):
        chosen = [rows[row] for row in (first if name == "moods" else second)]
        logits = start.predict([row.input for row in chosen], name)
        each += [_surprise(logits[place], row) for place, row in enumerate(chosen)]
    lesson: Classification = made.lesson
    new = functional.cross_entropy(lesson.answers(batch).logits, lesson.answers(batch).gold).item()

    assert len(each) == 3
    assert made.loss(batch, 11).item() == pytest.approx((3 * new + sum(each)) / 6, rel=1e-4)


def _surprise(logits: Any, row: Labelled) -> float:
    shares = np.exp(logits.astype(np.float64))
    return float(-np.log(shares[MOODS.classes.index(row.label or "")] / shares.sum()))


def test_what_was_learnt_first_is_known_better_in_the_end(tiny: AdaptedEncoder) -> None:
    """`cats` turns some of what `moods` says; with its rows in each batch its loss ends lower."""
    losses = {}
    for rows in (0, 6):
        first = fit("replay", tiny, moods(), budget=Budget(epochs=40), lr=1e-3, rows=rows)
        second = fit("replay", first, CATS, budget=Budget(epochs=40), lr=1e-3, rows=rows)
        logits = second.predict(inputs_of(moods()), "moods")
        losses[rows] = np.mean([_surprise(logits[place], row) for place, row in enumerate(moods().labelled)])

    assert losses[6] < 0.7 * losses[0]


def test_a_kept_set_without_a_head_is_left_out(tiny: AdaptedEncoder) -> None:
    first = fit("replay", tiny, moods(), rows=2)
    headless = replace(first, head_models={})
    assert not heads_of_others(headless, "cats")
    plain, again = (fit(name, headless, CATS) for name in ("finetune", "replay"))

    assert plain.trace == again.trace
    assert set(again.heads) == {"cats"}


def test_heads_are_copies_with_the_dropout_of_the_fit(tiny: AdaptedEncoder) -> None:
    first = fit("replay", tiny, moods())
    mine = heads_of_others(first, "cats", 0.25)["moods"]
    its = first.head_models["moods"]

    assert isinstance(its, ClassifierHead)
    assert mine.module is not its.module
    assert {layer.p for layer in mine.module.layers if hasattr(layer, "p")} == {0.25}
    assert heads_of_others(first, "moods") == {}
    assert mine.module.dim == Body.of(first.source).dim
