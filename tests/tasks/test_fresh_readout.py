"""A task's own read-out is the standard one: the same classes, whatever the rows and the vectors."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thawbench.contracts import ClassTarget, Input, Labelled, Rows, TrainSet
from thawbench.errors import DegenerateError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.readout import learn_readout
from thawbench.tasks.fresh_readout import fresh_predictions

CLASSES = ClassTarget(("zebra", "ant", "mole"))  # not in alphabetical order, on purpose


class Numbers:
    """A text of three numbers is its own vector, and the texts of each call are kept."""

    key, dim, total_parameters = "numbers", 3, 0

    def __init__(self, *, as_sparse: bool = False) -> None:
        self._sparse = as_sparse
        self.asked: list[list[str]] = []

    def encode(self, texts: Any, role: Any = None) -> Any:
        self.asked.append(list(texts))
        vectors = np.array([[float(number) for number in text.split()] for text in texts], np.float32)
        return sparse.csr_array(vectors) if self._sparse else vectors

    def hidden_states(self, texts: Any) -> Any:
        raise NotImplementedError


def texts(count: int, seed: int) -> list[str]:
    return [" ".join(f"{x:.3f}" for x in row) for row in np.random.default_rng(seed).standard_normal((count, 3))]


def rows_of(inputs: list[Input]) -> tuple[Labelled, ...]:
    """Classes that a line cannot quite tell apart: by the first text's greatest number, every fifth one wrong."""
    found = []
    for place, item in enumerate(inputs):
        numbers = [float(number) for number in (item if isinstance(item, str) else item[0]).split()]
        found.append(Labelled(item, label=CLASSES.classes[(int(np.argmax(numbers)) + (place % 5 == 0)) % 3]))
    return tuple(found)


def inputs_of(count: int, seed: int, *, pairs: bool) -> list[Input]:
    singles = texts(count, seed)
    return list(zip(singles, texts(count, seed + 50), strict=True)) if pairs else list(singles)


def animals(*, pairs: bool = False) -> TrainSet:
    train, dev = (rows_of(inputs_of(count, seed, pairs=pairs)) for count, seed in ((60, 0), (20, 1)))
    return TrainSet("animals", 1, "f", CLASSES, labelled=train, dev=Rows(labelled=dev))


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
def test_it_says_what_the_standard_read_out_says(pairs: bool, as_sparse: bool) -> None:
    adapted = AdaptedEncoder(Numbers(as_sparse=as_sparse))
    data, test = animals(pairs=pairs), inputs_of(300, 2, pairs=pairs)

    standard = learn_readout(adapted, data).predict(adapted, test).argmax(axis=1)
    found = fresh_predictions(adapted, data, test)

    assert set(found) == set(CLASSES.classes)
    assert found == [CLASSES.classes[column] for column in standard]


def test_a_text_that_stands_twice_is_encoded_once() -> None:
    source = Numbers()
    found = fresh_predictions(AdaptedEncoder(source), animals(), ["0 2 1", "1 0 2", "0 2 1"])

    assert source.asked[-1] == ["0 2 1", "1 0 2"]
    assert found == ["ant", "mole", "ant"]


def test_vectors_that_are_not_finite_are_degenerate() -> None:
    with pytest.raises(DegenerateError, match="not all finite"):
        fresh_predictions(AdaptedEncoder(Numbers()), animals(), ["nan 0 1"])
