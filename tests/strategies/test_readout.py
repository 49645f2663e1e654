"""The standard read-out against scikit-learn itself, and on the train sets that scikit-learn does not take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize

from thawbench.contracts import (
    ClassTarget,
    FloatArray,
    HiddenStates,
    Input,
    Labelled,
    Role,
    Rows,
    ScoreTarget,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state, save_state
from thawbench.strategies.pair_features import encode_once, item_features, pair_features
from thawbench.strategies.readout import (
    ABSENT_LOGIT,
    LinearReadout,
    learn_readout,
    target_from_json,
    target_to_json,
    with_head,
)


@dataclass(frozen=True)
class Numbers:
    """Texts such as `1 -2 0.5` are their own vectors."""

    key: str = "numbers"
    dim: int = 3
    total_parameters: int = 0
    sparse: bool = False

    def encode(self, texts: Sequence[str], role: Role | None = None) -> FloatArray:
        assert len(set(texts)) == len(texts)  # the read-out encodes every distinct text once
        vectors = np.array([text.split() for text in texts], np.float32).reshape(len(texts), 3)
        return sp.csr_matrix(vectors) if self.sparse else vectors

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        raise NotApplicableError("none")


START = AdaptedEncoder(Numbers())
CLASSES = ClassTarget(("zebra", "ant", "mole"))  # not in alphabetical order, on purpose


def read_out(start: AdaptedEncoder, data: TrainSet) -> AdaptedEncoder:
    return with_head(start, data.name, learn_readout(start, data))


def texts(n: int, seed: int = 0) -> list[str]:
    return [" ".join(f"{x:.4f}" for x in row) for row in np.random.default_rng(seed).standard_normal((n, 3))]


def vectors_of(items: Sequence[str]) -> FloatArray:
    unit: FloatArray = normalize(np.array([item.split() for item in items], np.float32))
    return unit


def by_largest(items: Sequence[str], names: Sequence[str]) -> list[str]:
    return [names[place] for place in vectors_of(items)[:, : len(names)].argmax(axis=1)]


def train_set(
    inputs: Sequence[Input], labels: Sequence[str], target: Target = CLASSES, dev: Sequence[Labelled] = ()
) -> TrainSet:
    rows = tuple(Labelled(item, label=label) for item, label in zip(inputs, labels, strict=True))
    return TrainSet("animals", 1, "f", target, labelled=rows, dev=Rows(labelled=tuple(dev)))


def test_logits_are_those_of_scikit_learn_in_the_order_of_the_targets_names() -> None:
    items = texts(60)
    labels = by_largest(items, CLASSES.classes)

    logits = read_out(START, train_set(items, labels)).predict(texts(20, seed=1), "animals")

    reference = LogisticRegression(C=1.0, max_iter=5000).fit(vectors_of(items), labels)
    columns = [list(reference.classes_).index(name) for name in CLASSES.classes]
    assert np.allclose(logits, reference.decision_function(vectors_of(texts(20, seed=1)))[:, columns], atol=1e-2)


def test_two_classes_give_two_columns_whose_softmax_is_the_logistic_function() -> None:
    target = ClassTarget(("yes", "no"))
    items = texts(60)
    labels = by_largest(items, target.classes)

    logits = read_out(START, train_set(items, labels, target)).predict(items, "animals")

    reference = LogisticRegression(C=1.0, max_iter=5000).fit(vectors_of(items), [label == "yes" for label in labels])
    assert logits.shape == (60, 2)
    assert np.allclose(logits[:, 0] - logits[:, 1], reference.decision_function(vectors_of(items)), atol=1e-2)


def test_scores_are_those_of_ridge_regression() -> None:
    items = texts(60)
    gold = vectors_of(items) @ np.array([1.0, -2.0, 0.5]) + 3
    rows = tuple(Labelled(item, score=float(score)) for item, score in zip(items, gold, strict=True))

    predicted = read_out(START, TrainSet("s", 1, "f", ScoreTarget(0, 5), labelled=rows)).predict(items, "s")

    reference = Ridge(alpha=1.0).fit(vectors_of(items).astype(float), gold)
    assert predicted.shape == (60, 1)
    assert np.allclose(predicted[:, 0], reference.predict(vectors_of(items)), atol=1e-4)


@pytest.mark.parametrize("refit", [False, True])
def test_dev_chooses_the_strength_and_joins_the_last_fit_unless_that_is_left_out(refit: bool) -> None:
    items, dev_items = texts(40), texts(200, seed=3)
    labels = by_largest(items, CLASSES.classes)
    dev = [
        Labelled(item, label=label)
        for item, label in zip(dev_items, by_largest(dev_items, CLASSES.classes), strict=True)
    ]

    readout = learn_readout(START, train_set(items, labels, dev=dev), refit=refit)

    fits = {c: LogisticRegression(C=c, max_iter=5000).fit(vectors_of(items), labels) for c in (1.0, 10.0, 100.0)}
    accuracy = {c: fit.score(vectors_of(dev_items), [row.label for row in dev]) for c, fit in fits.items()}
    chosen = max(accuracy, key=lambda c: accuracy[c])
    assert chosen != 1.0  # or the test shows nothing
    assert readout.cost.dev_score == pytest.approx(accuracy[chosen])
    every, names = [*items, *dev_items], [*labels, *(str(row.label) for row in dev)]
    last = LogisticRegression(C=chosen, max_iter=5000).fit(vectors_of(every), names) if refit else fits[chosen]
    columns = [list(last.classes_).index(name) for name in CLASSES.classes]
    assert np.allclose(readout.weight, last.coef_[columns], atol=0.05 * np.abs(last.coef_).max())
    assert not refit or not np.allclose(last.coef_, fits[chosen].coef_, atol=0.2 * np.abs(last.coef_).max())


def test_a_class_without_a_train_row_is_never_predicted_and_stays_finite() -> None:
    items = texts(60)
    labels = by_largest(items, ("zebra", "mole"))

    logits = read_out(START, train_set(items, labels)).predict(items, "animals")

    assert np.isfinite(logits).all()
    assert (logits[:, 1] == ABSENT_LOGIT).all()
    assert np.mean(logits.argmax(axis=1) == [CLASSES.classes.index(label) for label in labels]) > 0.9


def test_a_single_class_is_always_predicted() -> None:
    logits = read_out(START, train_set(["1 0 0", "0 1 0"], ["ant", "ant"])).predict(["0 0 1"], "animals")

    assert logits.tolist() == [[ABSENT_LOGIT, 0.0, ABSENT_LOGIT]]


def test_pairs_are_u_v_their_distance_and_their_product_of_unit_vectors() -> None:
    features = item_features(START, [("3 0 4", "0 2 0"), ("0 2 0", "0 5 0")])

    assert np.allclose(features[0], [0.6, 0, 0.8, 0, 1, 0, 0.6, 1, 0.8, 0, 0, 0])
    assert np.allclose(features[1], [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])


def test_sparse_vectors_give_the_same_features_and_logits_as_dense_ones() -> None:
    items = texts(40)
    pairs: list[Input] = list(zip(items, texts(40, seed=5), strict=True))
    sparse = AdaptedEncoder(Numbers(sparse=True))
    labels = by_largest(items, CLASSES.classes)
    features = item_features(sparse, pairs)

    assert sp.issparse(features)
    assert np.allclose(features.toarray(), item_features(START, pairs), atol=1e-6)
    ours, dense = (read_out(encoder, train_set(pairs, labels)).predict(pairs, "animals") for encoder in (sparse, START))
    assert np.allclose(ours, dense, atol=1e-2)


def test_scores_can_be_read_out_of_sparse_vectors() -> None:
    items = texts(40)
    rows = tuple(Labelled(item, score=float(item.split()[0])) for item in items)
    data = TrainSet("s", 1, "f", ScoreTarget(-4, 4), labelled=rows)

    ours, dense = (read_out(AdaptedEncoder(Numbers(sparse=flag)), data).predict(items, "s") for flag in (True, False))

    assert np.allclose(ours, dense, atol=1e-3)


def test_a_stored_read_out_predicts_the_same_bits(tmp_path: Path) -> None:
    items = texts(30)
    readout = learn_readout(START, train_set(items, by_largest(items, CLASSES.classes)))
    save_state(readout.state, tmp_path)

    restored = LinearReadout.from_state(load_state(tmp_path))

    assert np.array_equal(restored.predict(START, items), readout.predict(START, items))
    assert restored.target == CLASSES
    assert restored.cost == readout.cost


def test_no_inputs_give_no_rows_of_the_right_width() -> None:
    head = LinearReadout(CLASSES, np.zeros((3, 3), np.float32), np.zeros(3, np.float32))

    assert with_head(START, "animals", head).predict([], "animals").shape == (0, 3)


def test_a_head_of_another_width_says_so() -> None:
    head = LinearReadout(CLASSES, np.zeros((3, 3), np.float32), np.zeros(3, np.float32))

    with pytest.raises(NotApplicableError, match="fitted on 3 features and got 12"):
        with_head(START, "animals", head).predict([("1 0 0", "0 1 0")], "animals")


def test_texts_and_pairs_do_not_mix() -> None:
    with pytest.raises(NotApplicableError, match="all the one or the other"):
        item_features(START, ["1 0 0", ("1 0 0", "0 1 0")])


def test_a_set_without_labels_has_no_read_out() -> None:
    with pytest.raises(NotApplicableError, match="no labelled rows"):
        read_out(START, TrainSet("texts", 1, "f", texts=("1 0 0",)))


def test_every_text_is_encoded_once_and_rows_point_back() -> None:
    vectors, (left, right) = encode_once(START, ["1 0 0", "0 1 0", "1 0 0"], ["0 1 0", "0 0 1", "1 0 0"])

    assert vectors.shape == (3, 3)
    assert left.tolist() == [0, 1, 0]
    assert right.tolist() == [1, 2, 0]
    assert pair_features(vectors[left], vectors[right]).shape == (3, 12)


@pytest.mark.parametrize("target", [CLASSES, ScoreTarget(0.0, 5.0)])
def test_a_target_survives_json(target: Target) -> None:
    assert target_from_json(target_to_json(target)) == target


def test_anything_else_is_no_target() -> None:
    with pytest.raises(ValueError, match="no target"):
        target_from_json({"low": 0})
