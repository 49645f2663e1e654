"""All probes of all layers of an encoder: fitted on words of train sentences, measured on those of others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thawbench.contracts import Adapted
from thawbench.tasks.parsed_sentence import ParsedSentence
from thawbench.tasks.structural_probe import Probe, fit_probe, make_batches
from thawbench.tasks.tag_readout import ROWS, TagReadout, fit_tags, tagged
from thawbench.tasks.tree_scores import DepthTally, DistanceTally, GoldTree
from thawbench.tasks.word_states import WordStates, collect

RANK = 64
"""Of the probes of every layer: in Hewitt and Manning's curve for BERT-base more than 64 to 128 brings nothing."""
RANKS = (1, 2, 4, 8, 16, 32)
"""The lesser ranks at which the distance probe is fitted once more, at one layer."""
_MEASURED_AT_ONCE = 128


@dataclass(frozen=True)
class LayerProbes:
    """One layer's probes; a read-out is missing where there was nothing to fit it on."""

    distance: Probe
    depth: Probe
    readouts: Mapping[str, TagReadout]


@dataclass(frozen=True)
class Measured:
    """Scores on one set of sentences.

    Attributes:
        by_layer: each layer's scores by name: `uuas`, `dspr`, `root`, `nspr`, `upos` and `relation`, less those for
            which there was nothing to measure.
        by_rank: the scores of further distance probes, by their rank.
        left_out: how many sentences have a word without a state.
    """

    by_layer: tuple[Mapping[str, float], ...]
    by_rank: Mapping[int, Mapping[str, float]]
    left_out: int


def fit_layers(train: WordStates, dev: WordStates) -> tuple[LayerProbes, ...]:
    """Every layer's probes."""
    distance, depth = ((make_batches(kind, train), make_batches(kind, dev)) for kind in ("distance", "depth"))
    rows = {name: (tagged(name, train), tagged(name, dev)) for name in ROWS}
    found = []
    for here, there in zip(train.states, dev.states, strict=True):
        readouts = {name: fit_tags(here, fitted, there, chosen) for name, (fitted, chosen) in rows.items()}
        found.append(
            LayerProbes(
                fit_probe("distance", here, distance[0], there, distance[1], RANK),
                fit_probe("depth", here, depth[0], there, depth[1], RANK),
                {name: readout for name, readout in readouts.items() if readout is not None},
            )
        )
    return tuple(found)


def fit_ranks(train: WordStates, dev: WordStates, layer: int) -> dict[int, Probe]:
    """One layer's distance probes of lesser ranks."""
    batches, dev_batches = make_batches("distance", train), make_batches("distance", dev)
    here, there = train.states[layer], dev.states[layer]
    ranks = [rank for rank in RANKS if rank < here.shape[1]]
    return {rank: fit_probe("distance", here, batches, there, dev_batches, rank) for rank in ranks}


class _LayerTally:
    """What one layer's probes get right."""

    def __init__(self, probes: LayerProbes) -> None:
        self._probes = probes
        self._distance, self._depth = DistanceTally(), DepthTally()
        self._right = dict.fromkeys(probes.readouts, 0)
        self._seen = dict.fromkeys(probes.readouts, 0)

    def add(self, given: WordStates, gold: Sequence[GoldTree], layer: int) -> None:
        states = given.states[layer]
        for name, readout in self._probes.readouts.items():
            rows = ROWS[name](given.sentences, given.starts)
            self._right[name] += readout.right(states, rows)
            self._seen[name] += len(rows.labels)
        for tree, start in zip(gold, given.starts, strict=True):
            words = states[start : start + len(tree.sentence)]
            self._distance.add(tree, self._probes.distance.distances(words))
            self._depth.add(tree, self._probes.depth.depths(words))

    def scores(self) -> dict[str, float]:
        tags = {name: self._right[name] / seen for name, seen in self._seen.items() if seen}
        return {**self._distance.scores(), **self._depth.scores(), **tags}


def measure(
    adapted: Adapted,
    sentences: Sequence[ParsedSentence],
    layers: Sequence[LayerProbes],
    where: str,
    ranked: Mapping[int, Probe] | None = None,
    ranked_layer: int = 0,
) -> Measured:
    """How good the probes are on these sentences. The states of a few sentences are held at a time.

    Args:
        where: the task's name, for messages.
        ranked: further distance probes, by their rank.
        ranked_layer: the layer of these.

    Raises:
        DegenerateError: states that are not finite.
    """
    by_layer = [_LayerTally(probes) for probes in layers]
    by_rank = {rank: DistanceTally() for rank in ranked or {}}
    left_out = 0
    for at in range(0, len(sentences), _MEASURED_AT_ONCE):
        given = collect(adapted, sentences[at : at + _MEASURED_AT_ONCE], where)
        left_out += given.left_out
        if not given.sentences:
            continue
        gold = [GoldTree(sentence) for sentence in given.sentences]
        for layer, tally in enumerate(by_layer):
            tally.add(given, gold, layer)
        for rank, probe in (ranked or {}).items():
            for tree, start in zip(gold, given.starts, strict=True):
                words = given.states[ranked_layer, start : start + len(tree.sentence)]
                by_rank[rank].add(tree, probe.distances(words))
    ranks = {rank: each.scores() for rank, each in by_rank.items()}
    return Measured(tuple(tally.scores() for tally in by_layer), ranks, left_out)
