"""`probe/<treebank>@n`: how much of a sentence's dependency tree can be read out of each layer."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from thawbench.contracts import Adapted, Curve, Json, Metric, Provides, Scores
from thawbench.errors import NotApplicableError, UserError, unknown
from thawbench.registry import families
from thawbench.tasks import fingerprint, sampling
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.layer_probes import RANK, LayerProbes, Measured, fit_layers, fit_ranks, measure
from thawbench.tasks.parsed_sentence import ParsedSentence
from thawbench.tasks.tag_readout import ROWS
from thawbench.tasks.tree_scores import chance_levels, linear_uuas
from thawbench.tasks.treebank import TREEBANKS, Treebank, TreebankSource
from thawbench.tasks.word_states import collect

_SAMPLE = 0
"""The seed of the order of which n is a prefix: the same in every cell, whatever its own sample."""
_TRAIN_PER_DEV = 4
_CORRELATIONS = ("dspr", "nspr")
_MEASURES = ("uuas", *_CORRELATIONS, "root", *ROWS)


@families.register("probe")
class Probing(Fingerprinted):
    """Structural probes and read-outs of part of speech and relation, one of each for every layer.

    They are fitted on n train sentences (all without @n), with n/4 dev sentences to stop and choose by, and measured on
    the whole test split and on that of other domains (`pud_uuas`, …). Layer 0 is the embeddings, layer i what block i
    puts out. A curve has a score at every layer; a scalar has it at the layer that dev likes best: `uuas` and `dspr` at
    `distance_layer`, `root` and `nspr` at `depth_layer`, each read-out at its own. `linear_uuas` is what joining each
    word with the next gives. Scores describe the layers; they are no merit of a strategy, and no board ranks by them.
    """

    family: ClassVar[str] = "probe"
    version: ClassVar[int] = 2
    needs: ClassVar[Provides] = Provides.LAYERS
    corpus: ClassVar[None] = None

    def __init__(self, source: TreebankSource, taken: int | None) -> None:
        self.source = source
        self._taken = taken

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The probes of that treebank, fitted on n sentences or on all.

        Raises:
            UserError: no such treebank (the nearest names are given), or no number behind the @.
        """
        name, taken = sampling.parse(body)
        if name not in TREEBANKS:
            raise unknown("treebank", name, TREEBANKS)
        return cls(TREEBANKS[name], taken)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """English-EWT by a sample that takes minutes, and the trees of the embedded world."""
        return ("ewt@2000", "world")

    @property
    def name(self) -> str:
        """The family, the treebank and n."""
        return f"{self.family}/{sampling.spelled(self.source.name, self._taken)}"

    @property
    def train(self) -> tuple[str, ...]:
        """What strategies adapt to before they are probed; no tree is in it."""
        return (self.source.train,)

    @property
    def revision(self) -> str:
        """That of the treebank."""
        return self.source.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every measure on the test split, then on each other domain, with what guessing gives.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        chance = cast("dict[str, float]", self.entry().facts["chance"])
        scores = [
            Metric(
                name,
                "none",
                lower=-1.0 if name.endswith(_CORRELATIONS) else 0.0,
                chance=0.0 if name.endswith(_CORRELATIONS) else chance.get(name),
                main=name == "uuas",
            )
            for part in ("", *self.source.shifted)
            for name in (_prefixed(part, each) for each in _MEASURES)
        ]
        numbers = [Metric(name, "none", upper=None) for name in ("distance_layer", "depth_layer", "left_out")]
        return (*scores, Metric("linear_uuas", "none"), *numbers)

    def load(self) -> Treebank:
        """The sentences that are read, in the order in which they are taken.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
            UserError: there are not so many train sentences.
        """
        whole = self.source.load()
        found = fingerprint.fingerprint(whole.rows())

        def entry() -> Entry:
            facts: dict[str, Json] = {"version": self.version, "chance": dict(_chance(whole))}
            return Entry(self._stem, self.source.data, self.revision, found, facts)

        self._enter(found, entry)
        available = len(whole.train)
        taken = self._taken or available
        if taken > available:
            raise UserError(f"{self.name}: {self.source.name} has {available} train sentences; take so many at most")
        train = self._ordered("train", whole.train)[:taken]
        return dataclasses.replace(
            whole, train=train, dev=self._ordered("dev", whole.dev)[: max(1, taken // _TRAIN_PER_DEV)]
        )

    def evaluate(self, trail: Sequence[Adapted], data: Treebank) -> Scores:
        """Probe every layer of `trail[-1]`.

        Raises:
            NotApplicableError: no train or dev sentence fits in the encoder's window, or their states take too much
                memory.
            DegenerateError: states that are not finite.
        """
        adapted = trail[-1]
        train, dev = (collect(adapted, part, self.name) for part in (data.train, data.dev))
        if not train.sentences or not dev.sentences:
            raise NotApplicableError(f"{self.name}: in no train or no dev sentence has each word a state")
        layers = fit_layers(train, dev)
        best = _best_layers(layers)
        by_rank = fit_ranks(train, dev, best["distance"])
        left_out = train.left_out + dev.left_out
        del train, dev  # the larger part of what is held
        test = measure(adapted, data.test, layers, self.name, by_rank, best["distance"])
        others = {part: measure(adapted, sentences, layers, self.name) for part, sentences in data.shifted.items()}
        left_out += sum(each.left_out for each in (test, *others.values()))
        scalars = {
            "distance_layer": float(best["distance"]),
            "depth_layer": float(best["depth"]),
            "left_out": float(left_out),
        }
        if (linear := linear_uuas(data.test)) is not None:
            scalars["linear_uuas"] = linear
        curves: list[Curve] = []
        for part, measured in {"": test, **others}.items():
            scalars.update(_scalars(part, measured, best))
            curves.extend(_curves(part, measured))
        return Scores(scalars, (*curves, *_rank_curves(test, best["distance"])))

    def _ordered(self, part: str, sentences: Sequence[ParsedSentence]) -> tuple[ParsedSentence, ...]:
        order = sampling.order(f"{self._stem}/{part}", _SAMPLE, len(sentences))
        return tuple(sentences[place] for place in order)

    @property
    def _stem(self) -> str:
        return f"{self.family}/{self.source.name}"

    def _seen(self) -> Entry | None:
        return fingerprint.seen_at(self._stem, self.revision, self.version)


def _prefixed(part: str, name: str) -> str:
    """A measure's name; those of the test split go without the part's."""
    return f"{part}_{name}" if part else name


def _chance(whole: Treebank) -> dict[str, float]:
    """What guessing gives on each test part: trees and roots at random, the most frequent class."""
    levels: dict[str, float] = {}
    for part, sentences in {"": whole.test, **whole.shifted}.items():
        found = chance_levels(sentences)
        for name, rows in ROWS.items():
            if labels := rows(sentences, [0] * len(sentences)).labels:
                found[name] = max(Counter(labels).values()) / len(labels)
        levels.update({_prefixed(part, name): level for name, level in found.items()})
    return levels


def _best_layers(layers: Sequence[LayerProbes]) -> dict[str, int]:
    """The layer that dev likes best, the first of equals, for `distance`, `depth` and each read-out."""
    numbers = range(len(layers))
    best = {
        "distance": min(numbers, key=lambda layer: layers[layer].distance.dev_loss),
        "depth": min(numbers, key=lambda layer: layers[layer].depth.dev_loss),
    }
    for name in layers[0].readouts:
        best[name] = max(numbers, key=lambda layer: layers[layer].readouts[name].dev_accuracy)
    return best


_CHOSEN_BY: Mapping[str, str] = {"uuas": "distance", "dspr": "distance", "root": "depth", "nspr": "depth"}


def _scalars(part: str, measured: Measured, best: Mapping[str, int]) -> dict[str, float]:
    return {
        _prefixed(part, name): measured.by_layer[best[_CHOSEN_BY.get(name, name)]][name]
        for name in _MEASURES
        if name in measured.by_layer[0]
    }


def _curves(part: str, measured: Measured) -> list[Curve]:
    layers = tuple(float(layer) for layer in range(len(measured.by_layer)))
    return [
        Curve(_prefixed(part, name), "layer", layers, tuple(scores[name] for scores in measured.by_layer))
        for name in _MEASURES
        if name in measured.by_layer[0]
    ]


def _rank_curves(test: Measured, layer: int) -> list[Curve]:
    """UUAS and DSpr of the distance probe at its best layer, by its rank."""
    by_rank = {**test.by_rank, RANK: test.by_layer[layer]}
    ranks = tuple(float(rank) for rank in by_rank)
    return [
        Curve(f"{name} by rank", "rank", ranks, tuple(scores[name] for scores in by_rank.values()))
        for name in ("uuas", "dspr")
        if name in test.by_layer[layer]
    ]
