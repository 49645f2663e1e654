"""`geometry/<texts>@n`: the shape of every layer's space, and how far it has moved from the backbone's."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np

from thawbench.contracts import Adapted, Curve, FloatArray, Json, Metric, Provides, Scores
from thawbench.errors import UserError
from thawbench.registry import families
from thawbench.tasks import fingerprint, likeness, sampling
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.isotropy import (
    alignment,
    chance_variance,
    defined_mean,
    explainable_variance,
    isoscore,
    mean_cosine,
    self_similarity,
    uniformity,
)
from thawbench.tasks.pool import Source
from thawbench.tasks.sentences import LEAST, Sentences, find_source, load_sentences
from thawbench.tasks.word_spaces import DrawnSpaces, WordSpaces, choose_words, read_drawn, read_spaces

_AXIS = "layer"
_MOST = 5000
"""Texts at most: `rsa` and `cka` compare all with all, and take 25 bytes a pair. As many tokens as Merchant et al."""
_METRICS = tuple(
    Metric(name, "none", lower=lower, upper=upper, main=name == "anisotropy")
    for name, lower, upper in (
        ("anisotropy", -1.0, 1.0),
        ("self_similarity", -1.0, 1.0),
        ("self_similarity_adjusted", -2.0, 2.0),
        ("intra_similarity", -1.0, 1.0),
        ("intra_similarity_adjusted", -2.0, 2.0),
        ("explainable_variance", 0.0, 1.0),
        ("explainable_variance_adjusted", -1.0, 1.0),
        ("isoscore", 0.0, 1.0),
        ("uniformity", -8.0, 0.0),
        ("alignment", 0.0, 4.0),
        ("rsa", -1.0, 1.0),
        ("token_cosine", -1.0, 1.0),
        ("cka", -1.0, 1.0),
    )
)


@families.register("geometry")
class Geometry(Fingerprinted):
    """What the layers look like from inside; shown, and never ranked: no value of these is better than another.

    `<texts>` is a labelled set, whose test rows are read, or `docs/…`, or `corpus/` and a retrieval task. Every measure
    is a curve over the layers, layer 0 being what goes into the first block; its scalar is that of the last layer. A
    layer or a measure for which nothing is defined is left out.

    Words are runs of letters and digits, and single signs; a word's vector is the mean of its tokens, so that the same
    words are compared whatever the tokenizer (Ethayarajh takes each token for itself). `anisotropy` is the mean cosine
    of words drawn one from each text, and the baseline of `self_similarity` (the same word in different texts) and
    `intra_similarity` (a text's words and their mean); `_adjusted` is what is left above the baseline, which
    `explainable_variance` has in a curve of its own. `isoscore` reads all words, `uniformity` and `alignment` the mean
    of each text's tokens, as mean pooling would have it, `alignment` where the set has scores of pairs. `rsa`,
    `token_cosine` and `cka` compare the drawn words in a layer with those in the same layer of the backbone.
    """

    family: ClassVar[str] = "geometry"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.LAYERS
    corpus: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = _METRICS

    def __init__(self, source: Source, taken: int | None) -> None:
        self.source = source
        self._taken = taken

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task on these texts, on n of them or on as many as are usual.

        Raises:
            UserError: no such texts (the nearest names are given), no number behind the @, or one out of range.
        """
        name, taken = sampling.parse(body)
        if taken is not None and taken < LEAST:
            raise UserError(f"{cls.family}/{body} is too few texts to tell anything; take at least {name}@{LEAST}")
        if taken is not None and taken > _MOST:
            raise UserError(f"{cls.family}/{body} is more texts than are compared with each other; take {name}@{_MOST}")
        return cls(find_source(name), taken)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Some to begin with; every labelled set and every retrieval task will do."""
        return ("world/sts@100", "stsb", "sst2", "ag_news", "docs/wikitext2", "corpus/cranfield")

    @property
    def name(self) -> str:
        """The family, the texts and n."""
        return f"{self.family}/{sampling.spelled(self.source.name, self._taken)}"

    @property
    def train(self) -> tuple[str, ...]:
        """The train rows of the same source, for which the texts are in domain; another by `:train=`."""
        return (self.source.name,)

    @property
    def revision(self) -> str:
        """That of the source."""
        return self.source.revision

    def load(self) -> Sentences:
        """The texts.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
            UserError: there are too few.
        """
        sentences = load_sentences(self.source, self._taken)
        pairs: list[Json] = [list(pair) for pair in sentences.positives]
        found = fingerprint.fingerprint([list(sentences.texts), pairs])

        def entry() -> Entry:
            facts: dict[str, Json] = {"version": self._version, "rows": len(sentences.texts)}
            return Entry(self.name, self.source.data, self.revision, found, facts)

        self._enter(found, entry)
        return sentences

    def evaluate(self, trail: Sequence[Adapted], data: Sentences) -> Scores:
        """All measures in every layer of `trail[-1]`, some of them against `trail[0]`.

        Raises:
            NotApplicableError: the words' vectors of so many texts would take too much memory.
            DegenerateError: states that are not finite, or words that have no tokens.
        """
        words = choose_words(data.texts)
        spaces = read_spaces(trail[-1], data.texts, words, self.name)
        measured = _shape(spaces, data.positives)
        measured |= _distance(read_drawn(trail[0], data.texts, words), spaces.drawn)
        curves = tuple(curve for name, values in measured.items() if (curve := _curve(name, values)).x)
        top, reported = len(spaces.means) - 1, {metric.name for metric in _METRICS}
        return Scores({each.name: each.y[-1] for each in curves if each.name in reported and each.x[-1] == top}, curves)

    @property
    def _version(self) -> str:
        return f"{self.version}.{self.source.version}"

    def _seen(self) -> Entry | None:
        return fingerprint.seen_at(self.name, self.revision, self._version)


def _shape(spaces: WordSpaces, positives: Sequence[tuple[int, int]]) -> dict[str, list[float]]:
    """The measures of each layer by itself."""
    drawn = spaces.drawn.vectors[:, spaces.drawn.seen]
    layers = range(len(drawn))
    sizes = [found.shape[1] for found in spaces.repeated]
    left, right = ([pair[side] for pair in positives] for side in (0, 1))
    found = {
        "anisotropy": [mean_cosine(layer) for layer in drawn],
        "self_similarity": [self_similarity(word[layer] for word in spaces.repeated) for layer in layers],
        "intra_similarity": [float(value) for value in spaces.intra],
        "explainable_variance": [
            defined_mean(explainable_variance(word[layer]) for word in spaces.repeated) for layer in layers
        ],
        "explainable_variance_baseline": [chance_variance(layer, sizes) for layer in drawn],
        "isoscore": [isoscore(layer) for layer in spaces.covariance],
        "uniformity": [uniformity(layer) for layer in spaces.means],
        "alignment": [alignment(layer[left], layer[right]) for layer in spaces.means],
    }
    for name, baseline in (
        ("self_similarity", "anisotropy"),
        ("intra_similarity", "anisotropy"),
        ("explainable_variance", "explainable_variance_baseline"),
    ):
        found[f"{name}_adjusted"] = [a - b for a, b in zip(found[name], found[baseline], strict=True)]
    return found


def _distance(backbone: DrawnSpaces, adapted: DrawnSpaces) -> dict[str, list[float]]:
    """The measures that compare a layer with the same layer of the backbone, as far as both have it."""
    both = backbone.seen & adapted.seen
    measures: dict[str, Callable[[FloatArray, FloatArray], float]] = {
        "rsa": likeness.rsa,
        "token_cosine": likeness.token_cosine,
        "cka": likeness.cka,
    }
    pairs = list(zip(backbone.vectors[:, both], adapted.vectors[:, both], strict=False))
    return {name: [measure(*pair) for pair in pairs] for name, measure in measures.items()}


def _curve(name: str, values: Sequence[float]) -> Curve:
    points = [(float(layer), value) for layer, value in enumerate(values) if np.isfinite(value)]
    return Curve(name, _AXIS, tuple(layer for layer, _ in points), tuple(value for _, value in points))
