"""The family `probe/`: every layer by what it is made of, what is refused, and a run from plan to record."""

import dataclasses
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tree_states import LayeredEncoder, noise, shuffled, tags, tree

from thawbench.contracts import Adapted, Curve, Provides
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.runner import Runner
from thawbench.tasks import layer_probes
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.parsed_sentence import ParsedSentence, parsed
from thawbench.tasks.probe import Probing
from thawbench.tasks.treebank import Treebank

ONE = parsed("one", "Yes", ["Yes"], [0], ["root"], ["INTJ"])
FIVE = parsed(
    "five",
    "a b c d e",
    list("abcde"),
    [2, 0, 2, 3, 3],
    ["det", "root", "obj", "amod", "nmod"],
    ["X", "V", "N", "A", "N"],
)


@pytest.fixture
def few_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_probes, "RANKS", (1, 8))


def encoder(bank: Treebank, *layers: Any, window: int = 1000) -> list[Adapted]:
    sentences = [sentence for part in bank.parts().values() for sentence in part]
    return [cast("Adapted", LayeredEncoder(sentences, layers, window))]


def test_each_layer_shows_what_it_is_made_of(few_ranks: None) -> None:
    task = Probing.resolve("world@100")
    bank = task.load()
    bank = dataclasses.replace(bank, test=bank.test[:40], shifted={"other": bank.test[40:60]})
    assert (len(bank.train), len(bank.dev)) == (100, 25)

    found = task.evaluate(encoder(bank, shuffled, tree, tags), bank)

    curves = {curve.name: curve for curve in found.curves}
    assert curves["uuas"].x == (0, 1, 2)
    chance = {metric.name: metric.chance or 0.0 for metric in task.metrics}
    for part in ("", "other_"):
        assert curves[f"{part}uuas"].y[1] > 0.95
        assert curves[f"{part}root"].y[1] > 0.95
        assert min(curves[f"{part}dspr"].y[1], curves[f"{part}nspr"].y[1]) > 0.85
        assert curves[f"{part}upos"].y[2] == curves[f"{part}relation"].y[2] == 1
        assert curves[f"{part}uuas"].y[0] < chance["uuas"] + 0.15
    scalars = found.scalars
    assert (scalars["distance_layer"], scalars["depth_layer"], scalars["left_out"]) == (1, 1, 0)
    assert (scalars["uuas"], scalars["nspr"]) == (curves["uuas"].y[1], curves["nspr"].y[1])
    assert (scalars["upos"], scalars["other_relation"]) == (1, 1)
    by_rank = curves["uuas by rank"]
    assert (by_rank.x, by_rank.y[-1]) == ((1, 8, 64), scalars["uuas"])
    assert by_rank.y[0] < by_rank.y[1]


@pytest.mark.parametrize("sentence", [FIVE, ONE])
def test_a_treebank_of_one_sentence_is_measured_as_far_as_it_goes(sentence: ParsedSentence, few_ranks: None) -> None:
    bank = Treebank((sentence,), (sentence,), (sentence,))

    found = Probing.resolve("world").evaluate(encoder(bank, noise, noise), bank)

    expected = {"root", "upos", "distance_layer", "depth_layer", "left_out"}
    if sentence is FIVE:
        expected |= {"uuas", "dspr", "nspr", "relation", "linear_uuas"}
    assert set(found.scalars) == expected
    assert all(math.isfinite(value) for value in found.scalars.values())
    assert {len(curve.y) for curve in found.curves if curve.axis == "layer"} == {2}


def test_sentences_beyond_the_window_are_counted_and_left_out(few_ranks: None) -> None:
    bank = Treebank((FIVE, ONE), (FIVE, ONE), (FIVE, ONE))

    found = Probing.resolve("world").evaluate(encoder(bank, noise, window=4), bank)

    assert found.scalars["left_out"] == 3
    with pytest.raises(NotApplicableError, match="in no train or no dev sentence has each word a state"):
        Probing.resolve("world").evaluate(encoder(bank, noise, window=0), bank)


def test_states_that_are_not_finite_are_degenerate() -> None:
    bank = Treebank((FIVE,), (FIVE,), (FIVE,))

    with pytest.raises(DegenerateError, match="not all finite"):
        Probing.resolve("world").evaluate(encoder(bank, lambda sentence, _: np.full((len(sentence), 2), np.nan)), bank)


def test_constant_states_say_nothing_and_stop_nothing(few_ranks: None) -> None:
    bank = Treebank((FIVE,), (FIVE,), (FIVE,))

    found = Probing.resolve("world").evaluate(encoder(bank, lambda sentence, _: np.ones((len(sentence), 2))), bank)

    assert found.scalars["dspr"] == found.scalars["nspr"] == 0


def test_names_samples_and_what_boards_are_told() -> None:
    task = resolve_task("probe/world@20")

    assert (task.name, task.train, task.needs) == ("probe/world@20", ("world/nli",), Provides.LAYERS)
    assert [len(part) for part in (task.load().train, task.load().dev, task.load().test)] == [20, 5, 200]
    assert resolve_task("probe/world").load().train[:20] == task.load().train
    assert resolve_task("probe/world").fingerprint() == task.fingerprint()
    assert {metric.direction for metric in task.metrics} == {"none"}
    assert [metric.name for metric in task.metrics if metric.main] == ["uuas"]
    assert "pud_nspr" not in [metric.name for metric in task.metrics]
    assert {"probe/ewt@2000", "probe/world"} <= set(known_tasks())
    assert resolve_task("probe/ewt@2000").train == ("nli",)


def test_what_does_not_exist_is_told() -> None:
    with pytest.raises(UserError, match="did you mean ewt"):
        resolve_task("probe/etw")
    with pytest.raises(UserError, match="world has 640 train sentences; take so many at most"):
        resolve_task("probe/world@641").load()


def test_an_encoder_is_probed_from_plan_to_record(tmp_path: Path, tiny_folder: Path, few_ranks: None) -> None:
    request = Request(("frozen", "tfidf"), ("probe/world@20",), backbone=str(tiny_folder), device="cpu")
    plan = make_plan(request)
    frozen, tfidf = (Runner(tmp_path, plan.cells).run(cell).record for cell in plan.cells)

    assert (frozen.status, tfidf.status) == ("ok", "not_applicable")
    assert "probe/world@20 measures layers" in tfidf.reason
    layers: list[Curve] = [curve for curve in frozen.curves if curve.axis == "layer"]
    assert {curve.name for curve in layers} == {"uuas", "dspr", "root", "nspr", "upos", "relation"}
    assert {curve.x for curve in layers} == {(0, 1, 2)}
    assert frozen.main is not None
    assert frozen.main.chance is not None
