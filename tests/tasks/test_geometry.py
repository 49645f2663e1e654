"""The shape of layers: what a turn of the space leaves as it is, what is left out, and whole cells."""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.spatial.distance import cosine, pdist, squareform
from scipy.stats import ortho_group, pearsonr
from sklearn.decomposition import PCA

from thawbench.contracts import Adapted, Budget, Curve, HiddenStates, Scores
from thawbench.errors import DegenerateError, UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.geometry import Geometry
from thawbench.tasks.isotropy import alignment, mean_cosine, uniformity
from thawbench.tasks.sentences import Sentences
from thawbench.tasks.word_pieces import words_of
from thawbench.tasks.word_spaces import choose_words

TASK = Geometry.resolve("world/sts@60")
OWN = ("anisotropy", "self_similarity", "intra_similarity", "explainable_variance", "isoscore", "uniformity")
DIM = 6


def sentences(count: int, *, words: int = 4) -> Sentences:
    """That many texts, each of them another, in which `a` to `e` occur again and again; the first two are a pair."""
    texts = [" ".join(["abcde"[(k + n) % 5] for n in range(words - 1)] + [f"w{k}"]) for k in range(count)]
    return Sentences(tuple(texts), ((0, 1),))


class Words:
    """An encoder of a token a word and one at either end; a word's state is drawn by its spelling, text and layer.

    Args:
        turn: what every layer is multiplied by.
        spoilt: a layer that has a state that is no number.
    """

    def __init__(self, layers: int = 3, turn: np.ndarray | None = None, spoilt: int | None = None) -> None:
        self._layers, self._turn, self._spoilt = layers, np.eye(DIM) if turn is None else turn, spoilt

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for text in texts:
            spans = [(0, 0), *words_of(text), (0, 0)]
            states = np.array(
                [[self._state(text, text[start:end], layer) for start, end in spans] for layer in range(self._layers)]
            )
            states = (states @ self._turn).astype(np.float32)
            if self._spoilt is not None:
                states[self._spoilt, 1, 0] = np.inf
            yield HiddenStates(states, np.array(spans))

    def _state(self, text: str, word: str, layer: int) -> Any:
        own, context = (_drawn(name) for name in (word, f"{word} {text} {layer}"))
        return own + layer * context


@functools.cache
def _drawn(name: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIM) + 0.4


def evaluate(data: Sentences, *trail: Words) -> Scores:
    return TASK.evaluate(cast("list[Adapted]", list(trail)), data)


def by_name(scores: Scores) -> Mapping[str, Curve]:
    return {curve.name: curve for curve in scores.curves}


def test_every_measure_is_a_curve_over_all_layers_and_its_scalar_the_last_of_them() -> None:
    scores = evaluate(sentences(60), Words(), Words())
    curves = by_name(scores)

    assert set(curves) == {metric.name for metric in TASK.metrics} | {"explainable_variance_baseline"}
    for curve in scores.curves:
        # in layer 0 a word is the same everywhere: there is no variance to explain
        layers = (1.0, 2.0) if curve.name.startswith("explainable_variance") else (0.0, 1.0, 2.0)
        assert (curve.axis, curve.x[-len(layers) :]) == ("layer", layers), curve.name
        assert len(curve.x) == len(layers) or curve.name == "explainable_variance_baseline"
    assert scores.scalars == {name: curves[name].y[-1] for name in scores.scalars}
    assert set(scores.scalars) == {metric.name for metric in TASK.metrics}
    for metric in TASK.metrics:
        assert metric.direction == "none"
        assert metric.lower is not None
        assert metric.upper is not None
        assert metric.lower <= scores.scalars[metric.name] <= metric.upper + 1e-9


def test_a_backbone_is_itself_and_a_space_turned_whole_differs_by_its_mean_token_cosine_alone() -> None:
    turn = ortho_group(DIM, seed=3).rvs()
    same = by_name(evaluate(sentences(60), Words(), Words()))
    turned = by_name(evaluate(sentences(60), Words(), Words(turn=turn)))

    for name in ("rsa", "cka", "token_cosine"):
        assert same[name].y == pytest.approx((1, 1, 1), abs=1e-6)
    for name in ("rsa", "cka", *OWN):
        assert turned[name].y == pytest.approx(same[name].y, abs=1e-5), name
    assert max(turned["token_cosine"].y) < 0.9


def test_context_takes_self_similarity_away_and_nothing_of_it_is_there_in_a_layer_without_context() -> None:
    curves = by_name(evaluate(sentences(60), Words(), Words()))

    assert curves["self_similarity"].y[0] == pytest.approx(1)
    assert curves["self_similarity"].y[0] > curves["self_similarity"].y[1] > curves["self_similarity"].y[2]
    for name, baseline in (
        ("self_similarity", "anisotropy"),
        ("intra_similarity", "anisotropy"),
        ("explainable_variance", "explainable_variance_baseline"),
    ):
        difference = curves[name].y[-1] - curves[baseline].y[-1]
        assert curves[f"{name}_adjusted"].y[-1] == pytest.approx(difference)


def test_every_measure_of_a_layer_is_that_of_loops_over_its_words() -> None:
    data, turn = sentences(30), ortho_group(DIM, seed=4).rvs() + 0.3
    scores = by_name(evaluate(data, Words(), Words(turn=turn)))
    layer = 2
    states = [inside.states[layer, 1:-1].astype(float) for inside in Words(turn=turn).hidden_states(data.texts)]
    before = [inside.states[layer, 1:-1].astype(float) for inside in Words().hidden_states(data.texts)]
    drawn = list(enumerate(choose_words(data.texts).drawn))
    own, other = (np.array([texts[number][place] for number, place in drawn]) for texts in (states, before))
    found: dict[str, list[Any]] = {}
    for text, vectors in zip(data.texts, states, strict=True):
        for word, vector in zip(text.split(), vectors, strict=True):
            found.setdefault(word, []).append(vector)
    words = [np.array(vectors[:10]) for vectors in found.values() if len(vectors) >= 5]
    assert len(words) == 5  # `a` to `e`

    above = np.triu_indices(30, k=1)
    cosines = [1 - squareform(pdist(vectors, "cosine"))[above] for vectors in (own, other)]
    variances = PCA().fit(np.concatenate(states)).explained_variance_
    expected = {
        "anisotropy": cosines[0].mean(),
        "self_similarity": np.mean([(1 - pdist(word, "cosine")).mean() for word in words]),
        "intra_similarity": np.mean([[1 - cosine(word, text.mean(axis=0)) for word in text] for text in states]),
        "explainable_variance": np.mean([PCA().fit(word).explained_variance_ratio_[0] for word in words]),
        "explainable_variance_baseline": np.mean(
            [PCA().fit(own[start : start + 10]).explained_variance_ratio_[0] for start in (0, 10, 20)]
        ),
        "isoscore": (variances.sum() ** 2 / (variances**2).sum() - 1) / (DIM - 1),
        "rsa": pearsonr(*cosines).statistic,
        "token_cosine": np.mean([1 - cosine(*pair) for pair in zip(own, other, strict=True)]),
    }
    for name, value in expected.items():
        assert scores[name].y[-1] == pytest.approx(value, abs=1e-5), name


def test_texts_are_compared_by_the_mean_of_all_their_tokens() -> None:
    data = sentences(30)
    means = np.array([inside.states[2].mean(axis=0) for inside in Words().hidden_states(data.texts)])
    scalars = evaluate(data, Words(), Words()).scalars

    assert scalars["uniformity"] == pytest.approx(uniformity(means), abs=1e-5)
    assert scalars["alignment"] == pytest.approx(alignment(means[:1], means[1:2]), abs=1e-5)


def test_layers_that_only_one_of_the_two_has_are_not_compared() -> None:
    fewer = by_name(evaluate(sentences(60), Words(4), Words(2)))
    more = evaluate(sentences(60), Words(2), Words(4))

    assert (fewer["anisotropy"].x, fewer["rsa"].x) == ((0.0, 1.0), (0.0, 1.0))
    assert (by_name(more)["anisotropy"].x, by_name(more)["rsa"].x) == ((0.0, 1.0, 2.0, 3.0), (0.0, 1.0))
    assert "anisotropy" in more.scalars
    assert "rsa" not in more.scalars


def test_what_texts_do_not_have_is_left_out() -> None:
    short = evaluate(Sentences(tuple(f"w{number}" for number in range(30)), ()), Words(), Words())

    gone = {"self_similarity", "intra_similarity", "explainable_variance", "alignment"}
    assert {metric.name for metric in TASK.metrics if metric.name not in short.scalars} == {
        *gone,
        *(f"{name}_adjusted" for name in gone - {"alignment"}),
    }
    assert set(short.scalars) == {curve.name for curve in short.curves}


@pytest.mark.parametrize("trail", [(Words(), Words(spoilt=1)), (Words(spoilt=1), Words())], ids=["tuned", "backbone"])
def test_states_that_are_not_finite_are_degenerate_wherever_they_are(trail: tuple[Words, Words]) -> None:
    with pytest.raises(DegenerateError, match="not finite in layer 1"):
        evaluate(sentences(30), *trail)


def test_an_encoder_with_few_layers_gives_what_its_own_states_say(tiny: AdaptedEncoder) -> None:
    texts = tuple(a + b for a in "aeiou" for b in "klmnp")
    scalars = TASK.evaluate([tiny, tiny], Sentences(texts, ())).scalars
    # one word a text: what is drawn is the mean of all tokens but the special ones
    words = np.array([inside.states[-1, 1:-1].mean(axis=0) for inside in tiny.hidden_states(texts)])

    assert scalars["anisotropy"] == pytest.approx(mean_cosine(words), abs=1e-5)
    assert scalars["rsa"] == pytest.approx(1)


# ---- names ----------------------------------------------------------------------------------------------------------


def test_the_name_is_that_of_the_texts_and_their_number_and_the_strategy_learns_from_the_same_source() -> None:
    assert (TASK.name, TASK.train) == ("geometry/world/sts@60", ("world/sts",))
    corpus = Geometry.resolve("corpus/Cranfield")
    assert (corpus.name, corpus.train) == ("geometry/corpus/cranfield", ("corpus/cranfield",))


def test_another_number_of_texts_is_another_fingerprint() -> None:
    fewer, same = Geometry.resolve("world/sts@59"), Geometry.resolve("world/sts@60")

    assert TASK.fingerprint() == same.fingerprint() != fewer.fingerprint()
    assert Geometry.resolve("world/sts@60").load().positives


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("stsbb", "unknown source of sentences 'stsbb'; did you mean stsb"),
        ("stsb@19", "geometry/stsb@19 is too few texts to tell anything; take at least stsb@20"),
        ("stsb@5001", "geometry/stsb@5001 is more texts than are compared with each other; take stsb@5000"),
        ("stsb@x", "after @ stands a number of rows"),
    ],
)
def test_what_makes_no_texts_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        resolve_task(f"geometry/{body}")

    assert "\n" not in str(error.value)


def test_every_name_in_the_listing_can_be_resolved() -> None:
    listed = [name for name in known_tasks() if name.startswith("geometry/")]

    assert len(listed) == 6
    assert [resolve_task(name).name for name in listed] == listed


# ---- whole cells ----------------------------------------------------------------------------------------------------


def run(folder: Path, results: Path, *strategies: str) -> dict[str, Record]:
    task = "geometry/world/sts@30:train=world/meals@20"
    plan = make_plan(
        Request(strategies=strategies, tasks=(task,), backbone=str(folder), budget=Budget(steps=12), seeds="1")
    )
    runner = Runner(results, plan.cells)
    return {record.strategy: record for record in (runner.run(cell).record for cell in plan.cells)}


def test_tuning_moves_layers_freezing_does_not_and_random_weights_are_elsewhere(
    tiny_folder: Path, tmp_path: Path
) -> None:
    records = run(tiny_folder, tmp_path, "frozen", "finetune:lr=1e-3", "untrained", "majority", "tfidf")
    curves = {name: {curve.name: curve.y for curve in record.curves} for name, record in records.items()}

    assert curves["frozen"]["rsa"] == pytest.approx((1, 1, 1))
    tuned = curves["finetune:lr=1e-3"]["rsa"]
    assert 1 > tuned[0] > tuned[2] > curves["untrained"]["rsa"][2]
    for name in ("majority", "tfidf"):
        assert records[name].status == "not_applicable"
        assert "measures layers" in records[name].reason
    files = list(tmp_path.glob("records/*/*.json"))
    assert len(files) == 5
    for file in files:
        json.loads(file.read_text(), parse_constant=pytest.fail)  # called for NaN and Infinity
