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
_EPOCHS = 100
_PATIENCE = 6
_LEARNING_RATE = 1e-3
_LEAST_GAIN = 1e-4
_INITIAL = 0.005


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
    """Some sentences, padded to the longest.

    Attributes:
        words: (sentences, longest) places among all states; 0 where a sentence has ended.
        gold: (sentences, longest, longest) distances or (sentences, longest) depths.
        weight: as gold: what an error there counts; 0 where a sentence has ended.
    """

    words: torch.Tensor
    gold: torch.Tensor
    weight: torch.Tensor


def make_batches(kind: Kind, given: WordStates) -> tuple[Batch, ...]:
    """The sentences in an order drawn from one fixed seed, so many to a batch; the same for every layer.

    By length they would pad less, and fit worse: a batch then speaks of one length alone.
    """
    order = np.random.default_rng(_SEED).permutation(len(given.sentences)).tolist()
    return tuple(_batch(kind, given, order[at : at + _BATCH]) for at in range(0, len(order), _BATCH))


def fit_probe(
    kind: Kind, train: FloatArray, batches: Sequence[Batch], dev: FloatArray, dev_batches: Sequence[Batch], rank: int
) -> Probe:
    """The map of that rank, at most the states' width, that fits the train sentences.

    Adam at the paper's rate, in an order of batches drawn anew for each of at most 100 epochs. Where an epoch brings
    dev less than 1e-4, the rate is halved, and after six of them in a row the fit ends (the paper: 40 epochs, a tenth,
    five). The map that dev liked best is kept, be it the one at the start, which says next to nothing. All is drawn
    from one fixed seed. The paper begins within .05 of 0, in states of another scale; ours have unit scale (one factor
    for all, as a rate suits one scale only), where so large a map says distances of 40, and a fit that begins there
    ends above one that begins within .005.

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
    kept, best, waited = projection.detach().clone(), _mean_loss(kind, projection, dev_states, dev_batches), 0
    for _ in range(_EPOCHS):
        for place in generator.permutation(len(batches)):
            optimizer.zero_grad()
            _loss(kind, projection, train_states, batches[place]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        loss = _mean_loss(kind, projection, dev_states, dev_batches)
        if loss < best - _LEAST_GAIN:
            kept, best, waited = projection.detach().clone(), loss, 0
            continue
        waited += 1
        if waited == _PATIENCE:
            break
        optimizer.param_groups[0]["lr"] /= 2
    return Probe(kept.numpy() * factor, best)


def _mean_loss(kind: Kind, projection: torch.Tensor, states: torch.Tensor, batches: Sequence[Batch]) -> float:
    """The mean over all sentences."""
    losses = [(float(_loss(kind, projection.detach(), states, batch)), len(batch.words)) for batch in batches]
    return sum(loss * size for loss, size in losses) / sum(size for _, size in losses)


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
