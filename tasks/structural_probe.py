"""Structural probes: linear maps under which squared lengths are depths in a tree, and squared distances its paths.

Hewitt and Manning, "A Structural Probe for Finding Syntax in Word Representations", NAACL 2019. With d the number of
edges between two words and s a sentence, the distance probe B minimises the mean over sentences of
sum_ij |d(i, j) - |B(h_i - h_j)|^2| / |s|^2, the depth probe that of sum_i |depth(i) - |B h_i|^2| / |s|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import FloatArray
from thawbench.tasks.word_states import WordStates

if TYPE_CHECKING:
    import torch

Kind = Literal["distance", "depth"]
_SEED = 0
_BATCH = 20
_EPOCHS = 40
_PATIENCE = 3
_LEARNING_RATE = 1e-2
_LEAST_GAIN = 1e-4
_INITIAL = 0.05


@dataclass(frozen=True)
class Probe:
    """A fitted map.

    Attributes:
        projection: (dim, rank), for states as they come.
        dev_loss: the least loss on dev sentences.
    """

    projection: FloatArray
    dev_loss: float

    def depths(self, states: FloatArray) -> NDArray[np.float64]:
        """Squared lengths (words,) of states (words, dim)."""
        mapped = (states @ self.projection).astype(np.float64)
        return np.asarray((mapped * mapped).sum(axis=1))

    def distances(self, states: FloatArray) -> NDArray[np.float64]:
        """Squared distances (words, words) of states (words, dim)."""
        mapped = (states @ self.projection).astype(np.float64)
        lengths = (mapped * mapped).sum(axis=1)
        squared = np.maximum(lengths[:, None] + lengths[None, :] - 2 * mapped @ mapped.T, 0.0)
        np.fill_diagonal(squared, 0.0)
        return np.asarray(squared)


@dataclass(frozen=True)
class Batch:
    """Some sentences of like length, padded to the longest.

    Attributes:
        words: (sentences, longest) places among all states; 0 where a sentence has ended.
        gold: (sentences, longest, longest) distances or (sentences, longest) depths.
        weight: as gold: what an error there counts; 0 where a sentence has ended.
    """

    words: torch.Tensor
    gold: torch.Tensor
    weight: torch.Tensor


def make_batches(kind: Kind, given: WordStates) -> tuple[Batch, ...]:
    """The sentences by length, so many to a batch; the same for every layer."""
    order = sorted(range(len(given.sentences)), key=lambda place: len(given.sentences[place]))
    return tuple(_batch(kind, given, order[at : at + _BATCH]) for at in range(0, len(order), _BATCH))


def fit_probe(
    kind: Kind, train: FloatArray, batches: Sequence[Batch], dev: FloatArray, dev_batches: Sequence[Batch], rank: int
) -> Probe:
    """The map of that rank, at most the states' width, that fits the train sentences.

    Adam, in an order of batches drawn anew for each of at most 40 epochs. Where an epoch brings dev less than 1e-4, the
    learning rate falls to a tenth, and after three of them in a row the fit ends. The map that dev liked best is kept.
    All is drawn from one fixed seed. The paper's recipe is the same but for three things: it begins at a rate of 1e-3,
    with which 40 epochs of the few sentences here do not come near the end, it waits for five epochs, and its batches
    are of mixed length. States are fitted at unit scale (one factor for all), as a rate suits one scale only.

    Args:
        train, dev: (words, dim), one layer's states.
    """
    import torch

    generator = np.random.default_rng(_SEED)
    factor = _unit_scale(train)
    train_states, dev_states = (torch.from_numpy(states * factor) for states in (train, dev))
    drawn = generator.uniform(-_INITIAL, _INITIAL, (train.shape[1], min(rank, train.shape[1]))).astype(np.float32)
    projection = torch.from_numpy(drawn).requires_grad_()
    optimizer = torch.optim.Adam([projection], lr=_LEARNING_RATE)
    kept, best, waited = projection.detach().clone(), float("inf"), 0
    for _ in range(_EPOCHS):
        for place in generator.permutation(len(batches)):
            optimizer.zero_grad()
            _loss(kind, projection, train_states, batches[place]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            losses = [(_loss(kind, projection, dev_states, batch), len(batch.words)) for batch in dev_batches]
        loss = sum(float(each) * size for each, size in losses) / sum(size for _, size in losses)
        if loss < best - _LEAST_GAIN:
            kept, best, waited = projection.detach().clone(), loss, 0
            continue
        waited += 1
        if waited == _PATIENCE:
            break
        optimizer.param_groups[0]["lr"] /= 10
    return Probe(kept.numpy() * factor, best)


def _loss(kind: Kind, projection: torch.Tensor, states: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The mean over the batch's sentences."""
    mapped = states[batch.words] @ projection
    found = (mapped * mapped).sum(dim=-1)
    if kind == "distance":
        found = found[:, :, None] + found[:, None, :] - 2 * mapped @ mapped.transpose(1, 2)
    return ((batch.gold - found).abs() * batch.weight).sum() / len(batch.words)


def _batch(kind: Kind, given: WordStates, places: Sequence[int]) -> Batch:
    import torch

    longest = max(len(given.sentences[place]) for place in places)
    words = np.zeros((len(places), longest), dtype=np.int64)
    shape: Any = (len(places), longest, longest) if kind == "distance" else (len(places), longest)
    gold, weight = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for row, place in enumerate(places):
        sentence = given.sentences[place]
        length = len(sentence)
        words[row, :length] = given.starts[place] + np.arange(length)
        here = np.ix_(*[range(length)] * (gold.ndim - 1))
        gold[row][here] = sentence.distances if kind == "distance" else sentence.depths
        weight[row][here] = 1 / length ** (gold.ndim - 1)
    return Batch(torch.from_numpy(words), torch.from_numpy(gold), torch.from_numpy(weight))


def _unit_scale(states: FloatArray) -> np.float32:
    """What brings the states' mean squared deviation from their mean to 1 for each component; 1 if they are all one."""
    variance = float(states.var(axis=0).mean())
    return np.float32(1 / np.sqrt(variance)) if variance > 0 else np.float32(1)
