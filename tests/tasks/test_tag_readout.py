"""Read-outs of part of speech and relation: which rows they see, and what they find."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tree_states import all_states, noise, tags, world_trees

from thawbench.tasks.parsed_sentence import parsed
from thawbench.tasks.tag_readout import fit_tags, relation_rows, tagged, upos_rows

TRAIN, TEST = world_trees(60, 20)
THREE = parsed("x", "a b c", ["a", "b", "c"], [3, 3, 0], ["det", "amod", "root"], ["DET", "ADJ", "NOUN"])


def test_a_word_stands_for_its_part_of_speech_and_with_its_head_for_their_relation() -> None:
    states = np.arange(12, dtype=np.float32).reshape(6, 2)
    upos, relation = (rows([THREE, THREE], [0, 3]) for rows in (upos_rows, relation_rows))

    assert upos.labels == ("DET", "ADJ", "NOUN") * 2
    np.testing.assert_array_equal(upos.features(states), states)
    assert relation.labels == ("det", "amod") * 2
    assert relation.features(states)[2:].tolist() == [[6, 7, 10, 11], [8, 9, 10, 11]]
    assert upos_rows([THREE, THREE], [0, 3], 4).labels == ("DET", "ADJ", "NOUN", "DET")


@pytest.mark.parametrize("name", ["upos", "relation"])
def test_what_is_in_the_states_is_read_out(name: str) -> None:
    train, dev = all_states(TRAIN, tags), all_states(TEST, tags)
    readout = fit_tags(train.states[0], tagged(name, train), dev.states[0], tagged(name, dev))

    assert readout is not None
    assert readout.dev_accuracy == 1


def test_it_is_a_logistic_regression_on_standardised_states() -> None:
    train, dev = all_states(TRAIN, noise), all_states(TEST, noise, seed=1)
    here, there = tagged("upos", train), tagged("upos", dev)
    readout = fit_tags(train.states[0], here, dev.states[0], there)
    scaler = StandardScaler().fit(train.states[0])
    model = LogisticRegression(C=0.1, tol=1e-3, max_iter=5000)
    model.fit(scaler.transform(train.states[0]), here.labels)

    assert readout is not None
    assert readout.dev_accuracy == model.score(scaler.transform(dev.states[0]), there.labels)
    assert readout.right(dev.states[0], there) == round(readout.dev_accuracy * len(there.labels))


def test_one_class_is_predicted_and_no_rows_give_no_readout() -> None:
    one = parsed("x", "Yes", ["Yes"], [0], ["root"], ["INTJ"])
    given = all_states([one], noise)
    upos, relation = (tagged(name, given) for name in ("upos", "relation"))
    readout = fit_tags(given.states[0], upos, given.states[0], upos)

    assert readout is not None
    assert readout.dev_accuracy == 1
    assert readout.right(given.states[0], relation) == 0
    assert fit_tags(given.states[0], relation, given.states[0], relation) is None
