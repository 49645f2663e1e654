"""Structural probes find trees where trees are, and nothing where there is nothing; the loss is the paper's."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tree_states import DIM, Embed, all_states, noise, shuffled, tree, world_trees

from thawbench.tasks.parsed_sentence import ParsedSentence, parsed
from thawbench.tasks.structural_probe import Kind, Probe, _loss, fit_probe, make_batches
from thawbench.tasks.tree_scores import DepthTally, DistanceTally, GoldTree, chance_levels
from thawbench.tasks.word_states import WordStates

TRAIN, TEST = world_trees(360, 60)


def fitted(kind: Kind, embed: Embed, sentences: int, scale: float = 1.0) -> Probe:
    train, dev = all_states(TRAIN[:sentences], embed), all_states(TRAIN[-60:], embed, seed=1)
    here, there = (given.states[0] * np.float32(scale) for given in (train, dev))
    return fit_probe(kind, here, make_batches(kind, train), there, make_batches(kind, dev), DIM)


def test_vectors_built_from_trees_give_the_trees_back() -> None:
    probe, test = fitted("distance", tree, 300), all_states(TEST, tree, seed=2)
    tally, whole = DistanceTally(), DistanceTally()
    for sentence, start in zip(TEST, test.starts, strict=True):
        found = probe.distances(test.states[0, start : start + len(sentence)])
        tally.add(GoldTree(sentence), found)
        whole.add(GoldTree(sentence), np.rint(found))  # ties of gold distances, which hardly a fit can hit

    assert tally.scores()["uuas"] == 1
    assert tally.scores()["dspr"] > 0.9
    assert whole.scores() == pytest.approx({"uuas": 1, "dspr": 1}, abs=1e-9)


def test_their_lengths_give_the_depths_back() -> None:
    probe, test = fitted("depth", tree, 300), all_states(TEST, tree, seed=2)
    whole = DepthTally()
    for sentence, start in zip(TEST, test.starts, strict=True):
        whole.add(GoldTree(sentence), np.rint(probe.depths(test.states[0, start : start + len(sentence)])))

    assert whole.scores()["root"] == 1
    assert whole.scores()["nspr"] > 0.98


@pytest.mark.parametrize("embed", [shuffled, noise])
def test_shuffled_vectors_and_noise_are_at_chance(embed: Embed) -> None:
    probe, test = fitted("distance", embed, 60), all_states(TEST, embed, seed=2)
    tally = DistanceTally()
    for sentence, start in zip(TEST, test.starts, strict=True):
        tally.add(GoldTree(sentence), probe.distances(test.states[0, start : start + len(sentence)]))

    assert tally.scores()["uuas"] == pytest.approx(chance_levels(TEST)["uuas"], abs=0.07)


@pytest.mark.parametrize("kind", ["distance", "depth"])
def test_of_wide_states_that_say_nothing_a_few_sentences_teach_no_worse_than_nothing(kind: Kind) -> None:
    def wide(sentence: ParsedSentence, generator: np.random.Generator) -> NDArray[Any]:
        return generator.normal(size=(len(sentence), 384)) + 3.0  # a common mean, as layers have

    train, dev = all_states(TRAIN[:40], wide), all_states(TRAIN[-60:], wide, seed=1)
    probe = fit_probe(kind, train.states[0], make_batches(kind, train), dev.states[0], make_batches(kind, dev), 64)

    nothing = np.zeros((384, 64), dtype=np.float32)
    assert probe.dev_loss <= loss_by_hand(kind, nothing, dev) * 1.02


def test_a_probe_does_not_depend_on_the_scale_of_the_states() -> None:
    small, large = (fitted("depth", tree, 40, scale) for scale in (1.0, 1024.0))

    np.testing.assert_allclose(large.projection * 1024, small.projection, rtol=1e-3, atol=1e-4)


def test_the_same_fit_gives_the_same_bytes_and_leaves_global_generators_alone() -> None:
    before = torch.random.get_rng_state()
    one, other = (fitted("depth", noise, 40) for _ in range(2))

    assert one.projection.tobytes() == other.projection.tobytes()
    assert torch.equal(before, torch.random.get_rng_state())


def loss_by_hand(kind: Kind, projection: NDArray[Any], given: WordStates) -> float:
    """The paper's two sums, word by word."""
    total = 0.0
    for sentence, start in zip(given.sentences, given.starts, strict=True):
        words = [projection.T @ given.states[0, start + word] for word in range(len(sentence))]
        if kind == "depth":
            pairs = zip(words, sentence.depths, strict=True)
            total += sum(abs(depth - word @ word) for word, depth in pairs) / len(words)
            continue
        for i, left in enumerate(words):
            for j, right in enumerate(words):
                error = abs(sentence.distances[i, j] - (left - right) @ (left - right))
                total += error / len(words) ** 2
    return total / len(given.sentences)


@pytest.mark.parametrize("kind", ["distance", "depth"])
def test_the_loss_is_the_papers_whatever_the_padding(kind: Kind) -> None:
    one = parsed("x", "Yes", ["Yes"], [0], ["root"], ["INTJ"])
    given = all_states([*TRAIN[:7], one], noise)
    (batch,) = make_batches(kind, given)
    projection = np.random.default_rng(3).normal(size=(DIM, 5)).astype(np.float32) / 10

    found = _loss(kind, torch.from_numpy(projection), torch.from_numpy(given.states[0]), batch)

    assert float(found) == pytest.approx(loss_by_hand(kind, projection, given), rel=1e-5)


def test_distances_and_depths_are_squared_lengths() -> None:
    probe = Probe(np.array([[1, 0], [0, 2]], dtype=np.float32), 0.0)
    states = np.array([[0, 0], [3, 1]], dtype=np.float32)

    assert probe.depths(states).tolist() == [0, 13]
    assert probe.distances(states).tolist() == [[0, 13], [13, 0]]
