"""`lp_ft` begins exactly where the standard read-out is, and what comes before `finetune` in a row is built upon."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from thawbench.contracts import (
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Labelled,
    Rows,
    ScoreTarget,
    Seeds,
    Strategy,
    Target,
    TrainSet,
)
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.readout import learn_readout, with_head
from thawbench.strategies.sources import MappedSource

SUBJECTS = ("the cat", "a dog", "the film", "the plot")
VERBS = ("sat on the mat", "ran under the rug", "is good", "was bad", "is not bad", "was not good")
TEXTS = [f"{subject} {verb}" for subject in SUBJECTS for verb in VERBS]
CLASSES = ClassTarget(("zebra", "ant", "mole"))
SCORES = ScoreTarget(1.0, 5.0)


def rows_of(target: Target, of_pairs: bool) -> TrainSet:
    rows = []
    for place, text in enumerate(TEXTS):
        item: Input = (text, TEXTS[place * 7 % len(TEXTS)]) if of_pairs else text
        kind = place % len(VERBS) // 2
        if isinstance(target, ClassTarget):
            rows.append(Labelled(item, target.classes[kind]))
        else:
            rows.append(Labelled(item, score=1.0 + kind + 0.1 * (place % 7)))
    return TrainSet("set", 1, "f", target, tuple(rows[6:]), dev=Rows(tuple(rows[:6])))


def no_adapt(strategy: Strategy, seeds: Seeds) -> Any:
    raise AssertionError("not asked for")


def fit(name: str, start: AdaptedEncoder, data: TrainSet, seeds: Seeds | None = None, **config: Any) -> AdaptedEncoder:
    strategy = strategies.get(name)
    made = strategy(strategy.Config(**config)).fit(start, data, seeds=seeds or Seeds(), budget=Budget(), adapt=no_adapt)
    assert isinstance(made, AdaptedEncoder)
    return made


def read_out(start: AdaptedEncoder, data: TrainSet) -> AdaptedEncoder:
    return with_head(start, data.name, learn_readout(start, data, refit=False))


def inputs_of(data: TrainSet) -> list[Input]:
    return [row.input for row in (*data.labelled, *data.dev.labelled)]


@pytest.mark.parametrize("target", [CLASSES, SCORES], ids=["classes", "score"])
@pytest.mark.parametrize("of_pairs", [False, True], ids=["texts", "pairs"])
def test_before_the_first_step_it_predicts_what_the_read_out_predicts(
    tiny: AdaptedEncoder, target: Target, of_pairs: bool
) -> None:
    data = rows_of(target, of_pairs)
    expected = read_out(tiny, data).predict(inputs_of(data), "set")
    found = fit("lp_ft", tiny, data, epochs=0, pairs="siamese")

    assert np.allclose(found.predict(inputs_of(data), "set"), expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(expected, axis=0).min() > 0.1
    assert np.array_equal(found.predict(inputs_of(data), "set").argmax(axis=1), expected.argmax(axis=1))


def test_for_joint_pairs_it_begins_as_a_logistic_regression_on_their_joint_vectors(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=True)
    found = fit("lp_ft", tiny, data, epochs=0)
    assert isinstance(tiny.source, Encoder)
    tokens = tiny.source.tokenize(inputs_of(data))
    read = tiny.source.vectors([text.ids for text in tokens], [text.types for text in tokens])
    vectors = normalize(read).astype(np.float64)
    labels = [CLASSES.classes.index(row.label or "") for row in data.labelled]
    models = [
        LogisticRegression(C=strength, max_iter=5000).fit(vectors[: len(labels)], labels).decision_function(vectors)
        for strength in (1, 10, 100)
    ]

    predicted = found.predict(inputs_of(data), "set")
    assert any(np.allclose(predicted, model, atol=1e-3) for model in models)


def test_without_a_step_only_the_read_out_counts_as_trained(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=False)
    assert fit("lp_ft", tiny, data, epochs=0).state.cost.trainable_parameters == 3 * (32 + 1)
    assert fit("finetune", tiny, data, epochs=0).state.cost.trainable_parameters == 0
    assert fit("lp_ft", tiny, data, epochs=1).state.cost.trainable_parameters > 1000


def test_then_the_whole_network_moves_and_the_read_out_stays_if_dev_likes_it_better(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=False)
    readout = read_out(tiny, data)
    tuned = fit("lp_ft", tiny, data, epochs=5, lr=1e-3)
    ruined = fit("lp_ft", tiny, data, epochs=5, lr=10.0)
    score = readout.head_models["set"].cost.dev_score  # type: ignore[attr-defined]

    assert tuned.state.cost.dev_score is not None
    assert tuned.state.cost.dev_score >= score
    assert len(tuned.trace) == 10
    assert ruined.state.cost.dev_score is not None
    assert ruined.state.cost.dev_score >= score


def test_it_draws_on_the_order_alone(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=False)
    without_dev = TrainSet("set", 1, "f", CLASSES, data.labelled)  # so that the last weights are kept
    one, init, order = (
        fit("lp_ft", tiny, without_dev, seeds, epochs=2) for seeds in (Seeds(), Seeds(init=1), Seeds(order=1))
    )

    assert strategies.get("lp_ft").draws == {"order"}
    assert np.array_equal(one.encode(TEXTS), init.encode(TEXTS))
    assert not np.array_equal(one.encode(TEXTS), order.encode(TEXTS))


def test_finetune_goes_on_from_a_read_out_that_the_start_has_and_that_dev_may_judge(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=False)
    of_dev_too = with_head(tiny, data.name, learn_readout(tiny, data))
    readout = read_out(tiny, data)
    still = fit("finetune", of_dev_too, data, epochs=0)

    assert np.allclose(still.predict(TEXTS, "set"), readout.predict(TEXTS, "set"), rtol=1e-4, atol=1e-4)
    assert not np.allclose(still.predict(TEXTS, "set"), of_dev_too.predict(TEXTS, "set"), rtol=1e-4, atol=1e-4)


def test_a_network_on_the_encoder_is_trained_through_and_restored(tiny: AdaptedEncoder) -> None:
    network = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.Tanh())
    with torch.no_grad():
        for place, weight in enumerate(network.parameters()):
            weight.copy_(torch.linspace(-1, 1, weight.numel()).sin().reshape(weight.shape) + place)

    def project(vectors: FloatArray) -> FloatArray:
        with torch.inference_mode():
            made: FloatArray = network(torch.from_numpy(vectors)).numpy()
        return made

    assert tiny.source is not None
    start = AdaptedEncoder(MappedSource(tiny.source, project, "k", 264, network), "neg_l1", has_layers=True)
    data = rows_of(CLASSES, of_pairs=False)
    tuned = fit("finetune", start, data, epochs=4, lr=1e-2)
    again = strategies.get("finetune")(strategies.get("finetune").Config()).restore(start, tuned.state)

    assert {"map.0.0.weight", "map.0.0.bias"} < set(tuned.state.tensors)
    assert any(name.startswith("encoder.") for name in tuned.state.tensors)
    assert tuned.trace[0].gradient_norm["map.0"] > 0
    assert tuned.similarity == "neg_l1"
    assert tuned.encode(TEXTS).shape == (24, 8)
    assert not np.allclose(tuned.encode(TEXTS), start.encode(TEXTS), atol=1e-3)
    assert np.array_equal(again.encode(TEXTS), tuned.encode(TEXTS))
    assert np.array_equal(again.predict(TEXTS, "set"), tuned.predict(TEXTS, "set"))


def test_an_energy_head_and_then_finetune_trains_encoder_and_head_together(tiny: AdaptedEncoder) -> None:
    data = rows_of(CLASSES, of_pairs=False)
    energy = fit("frozen_ebm", tiny, data, dim=8, epochs=2)
    tuned = fit("finetune", energy, data, epochs=2)

    assert tuned.encode(TEXTS).shape == (24, 8)
    assert {name.split(".")[0] for name in tuned.state.tensors} == {"encoder", "map", "head"}
    assert tuned.head_models["set"] != energy.head_models["set"]
    assert np.isfinite(tuned.predict(TEXTS, "set")).all()


def test_its_head_is_linear() -> None:
    with pytest.raises(ValueError, match="must be linear"):
        strategies.get("lp_ft").Config(head="mlp")
