"""`layers/<set>@n`: what every layer knows of a set's classes, by a read-out on its mean token."""

import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Curve, FloatArray, Metric, Provides, ScoredRow, Scores
from thawbench.errors import UserError
from thawbench.registry import families
from thawbench.tasks.classification_scores import SCORE_METRICS, class_scores
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.forgetting import SetRows
from thawbench.tasks.fresh_readout import fresh_predictions
from thawbench.tasks.leaks import Asked
from thawbench.tasks.pool import texts_of, unique
from thawbench.tasks.trainsets import load_trainset, trainset_info
from thawbench.tasks.word_spaces import layer_means

_AXIS = "layer"
_SAMPLE = 0
"""The sample seed of the rows that read-outs are fitted on: the same in every cell, whatever its own sample."""


@families.register("layers")
class Layers:
    """A read-out per layer, layer 0 being what goes into the first block; shown, and never ranked.

    A text's vector in a layer is the mean of its tokens there, special ones included, as mean pooling has it; the
    protocol is that of the standard read-out. Every score is a curve, and so are the seconds that a layer's read-out
    took, fits and predictions. Scalars and rows are those of the last layer: to report the best one would be to choose
    it on test rows.

    The read-outs' rows are those of sample 0 in every cell: what differs between seeds is the encoder. One that was
    tuned on the same set has seen them if its own sample is 0, and most of them not if it is another.
    """

    family: ClassVar[str] = "layers"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.LAYERS
    corpus: ClassVar[None] = None

    def __init__(self, part: FewShot) -> None:
        self.part = part

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task on that set, with n or without.

        Raises:
            UserError: no such set (the nearest names are given), or one that is not measured by its classes.
        """
        part = FewShot.resolve(body)
        if part.labelled.metrics[0] in SCORE_METRICS:
            raise UserError(
                f"{cls.family}/{body}: {part.labelled.name} is measured by {part.labelled.metrics[0]}; "
                "take a set that is measured by its classes, as in layers/sst2@100"
            )
        return cls(part)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Some to begin with; every set that is measured by its classes will do."""
        return ("world/meals@100", "sst2@100", "snli@1000", "druglib@1000")

    @property
    def name(self) -> str:
        """The family, the set and n."""
        return f"{self.family}/{self.part.train[0]}"

    @property
    def train(self) -> tuple[str, ...]:
        """The set's own train rows."""
        return self.part.train

    @property
    def revision(self) -> str:
        """That of the set."""
        return self.part.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Those of the set, none of them better up or down.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        return tuple(replace(metric, direction="none") for metric in self.part.metrics)

    def fingerprint(self) -> str:
        """SHA-256 over those of the test rows and of the train rows.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        return fingerprint([self.part.fingerprint(), trainset_info(self.train[0]).fingerprint])

    def load(self) -> SetRows:
        """The set's rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        return SetRows(self.part.load(), load_trainset(self.train[0], _SAMPLE))

    def asked(self, data: SetRows) -> tuple[Asked, ...]:
        """The test rows."""
        return self.part.asked(data.splits)

    def evaluate(self, trail: Sequence[Adapted], data: SetRows) -> Scores:
        """Fit and score a read-out on every layer of `trail[-1]`; a row is `test:` and its place in the split.

        Raises:
            NotApplicableError: the texts' vectors in all layers would take too much memory.
            DegenerateError: states that are not finite.
        """
        test, groups, names = data.splits.test, data.splits.groups, self.part.labelled.metrics
        gold, inputs = [str(row.label) for row in test.rows], [row.input for row in test.rows]
        known = [row.input for row in (*data.train.labelled, *data.train.dev.labelled)]
        read = unique(text for item in (*known, *inputs) for text in texts_of(item))
        places = {text: place for place, text in enumerate(read)}
        found: list[dict[str, float]] = []
        predicted: list[str] = []
        importlib.import_module("sklearn.linear_model")  # or the first layer would pay for it
        # a read-out's features are float64: [u; v; |u-v|; u*v] or a vector, made out of as much again
        beside = 8 * (len(known) + len(inputs)) * (2 if isinstance(inputs[0], str) else 8)
        for vectors in layer_means(trail[-1], list(places), self.name, beside):
            started = time.perf_counter()
            predicted = fresh_predictions(_Layer(vectors, places), data.train, inputs)
            seconds = time.perf_counter() - started
            found.append({**class_scores(names, gold, predicted, groups), "readout_s": seconds})
        curves = []
        for name in (*names, "readout_s"):
            points = [(float(layer), scores[name]) for layer, scores in enumerate(found) if name in scores]
            curves.append(Curve(name, _AXIS, tuple(layer for layer, _ in points), tuple(score for _, score in points)))
        rows = zip((f"test:{place}" for place in test.places), gold, predicted, strict=True)
        last = {name: score for name, score in found[-1].items() if name in names}
        return Scores(last, tuple(curves), tuple(ScoredRow(*row) for row in rows))


@dataclass(frozen=True)
class _Layer:
    """One layer as something that encodes the texts it has seen."""

    vectors: FloatArray
    places: Mapping[str, int]

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """(texts, dim)."""
        return self.vectors[[self.places[text] for text in texts]]
