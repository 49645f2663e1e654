"""`forgetting/<set>@n+<set>@n+…`: adapt to one labelled set after another, and see what is left of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Curve, Metric, Provides, ScoredRow, Scores, TrainSet
from thawbench.errors import NotApplicableError, UserError
from thawbench.names import parse_chain
from thawbench.registry import families
from thawbench.tasks.classification_scores import SCORE_METRICS, class_scores
from thawbench.tasks.drift import layer_drift, spread
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.fresh_readout import fresh_predictions
from thawbench.tasks.labelled_set import Splits
from thawbench.tasks.trainsets import load_trainset

Columns = Sequence[Sequence[float]]
"""A matrix by column: one for each of the T sets of a chain."""

_AXIS = "sets trained"
_EXAMPLE = "forgetting/sst2@100+ag_news@100"
_FRESH_SAMPLE = 0
"""The sample seed of the rows that fresh read-outs are fitted on: the same in every cell, whatever its own sample."""

_DRIFT_ROWS = 32
"""Test rows of each set on whose texts the drift of layers is taken."""


@dataclass(frozen=True)
class SetRows:
    """One set of a chain: the rows to measure on, and those to fit a fresh read-out on."""

    splits: Splits
    train: TrainSet


@families.register("forgetting")
class Forgetting:
    """Classification sets in a row, each with a head of its own; every set is measured after each of them.

    A set's score is its main metric (accuracy, macro-F1 or MCC), just as `fewshot/<set>` takes it. There are two
    matrices, whose columns are the curves. R, by own heads, has no number for a set before its turn. P, by a fresh
    read-out on the vectors of each state, begins at the backbone; it is not there for what makes no vectors. Rows are
    those of the own heads after the last set. Where there are layers, more curves say how far each has moved: see
    `layer_drift`.
    """

    family: ClassVar[str] = "forgetting"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.CLASSES
    corpus: ClassVar[None] = None

    def __init__(self, parts: tuple[FewShot, ...]) -> None:
        self.parts = parts

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The chain of these sets, in this order.

        Raises:
            UserError: no such set, fewer than two, one of them twice, or one that is not measured by its classes.
        """
        name = f"{cls.family}/{body}"
        parts = tuple(FewShot.resolve(part) for part in parse_chain(body))
        if len(parts) < 2:
            raise UserError(f"{name} has one set, after which nothing can be forgotten; name two, as in {_EXAMPLE}")
        sets = [part.labelled.name for part in parts]
        if twice := [each for each in sets if sets.count(each) > 1]:
            raise UserError(f"{name} has {twice[0]} twice; each set has one head, and may stand there once")
        for part in parts:
            if part.labelled.metrics[0] in SCORE_METRICS:
                raise UserError(
                    f"{name}: {part.labelled.name} is measured by {part.labelled.metrics[0]}; "
                    f"take sets that are measured by their classes, as in {_EXAMPLE}"
                )
        return cls(parts)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """One chain of the embedded world and one of real sets; any other order of any sets will do."""
        return ("world/meals@100+world/topics@100", "sst2@100+ag_news@100")

    @property
    def name(self) -> str:
        """The family and the sets in their order."""
        return f"{self.family}/{'+'.join(self.train)}"

    @property
    def train(self) -> tuple[str, ...]:
        """The sets' own train rows, one set after another."""
        return tuple(part.train[0] for part in self.parts)

    @property
    def revision(self) -> str:
        """Those of the sets."""
        return "+".join(part.revision for part in self.parts)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What `measures` and `fresh_measures` define; chance is the mean of the best constant answers.

        Raises:
            DataUnavailableError: a set was never seen, and is not to be had now.
        """
        mains = [part.metrics[0] for part in self.parts]
        lows = [main.lower or 0.0 for main in mains]
        span = 1.0 - min(lows)
        chance = fmean(main.chance or 0.0 for main in mains)
        return (
            Metric("average_accuracy", lower=fmean(lows), chance=chance, main=True),
            Metric("bwt", lower=-span, upper=span),
            Metric("forgetting_chaudhry", "down", lower=-span, upper=span),
            Metric("forgetting_first", "down", lower=-span, upper=span),
            Metric("drop_on_first", "down", lower=-span, upper=span),
            Metric("fresh_accuracy", lower=fmean(lows), chance=chance),
            Metric("forward_transfer", lower=-span, upper=span),
            Metric("fresh_drop", "down", lower=-span, upper=span),
        )

    def fingerprint(self) -> str:
        """SHA-256 over those of the sets, in order.

        Raises:
            DataUnavailableError: a set was never seen, and is not to be had now.
        """
        return fingerprint(part.fingerprint() for part in self.parts)

    def load(self) -> tuple[SetRows, ...]:
        """Each set's rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        return tuple(SetRows(part.load(), load_trainset(part.train[0], _FRESH_SAMPLE)) for part in self.parts)

    def evaluate(self, trail: Sequence[Adapted], data: tuple[SetRows, ...]) -> Scores:
        """Fill R and P, and say what is left.

        Args:
            trail: the backbone, then what there was after each set.

        Raises:
            NotApplicableError: a set has no head of its own, or one for other classes.
            DegenerateError: predictions or vectors that are not finite.
        """
        owned: list[list[float]] = []
        curves: list[Curve] = []
        rows: list[ScoredRow] = []
        steps = [float(step) for step in range(len(trail))]
        for turn, (part, its) in enumerate(zip(self.parts, data, strict=True), start=1):
            found = [self._scores(part, adapted, its) for adapted in trail[turn:]]
            owned.append([scores.scalars[part.labelled.metrics[0]] for scores in found])
            curves.append(Curve(part.train[0], _AXIS, tuple(steps[turn:]), tuple(owned[-1])))
            rows += [ScoredRow(f"{part.labelled.name}:{row.row}", row.gold, row.prediction) for row in found[-1].rows]
        scalars = measures(owned)
        try:
            fresh = [self._fresh(part, trail, its) for part, its in zip(self.parts, data, strict=True)]
        except NotApplicableError:
            pass  # heads without vectors, as those of `majority`
        else:
            scalars |= fresh_measures(fresh)
            columns = zip(self.train, fresh, strict=True)
            curves += [Curve(f"fresh {name}", _AXIS, tuple(steps), tuple(column)) for name, column in columns]
        return Scores(scalars, (*curves, *self._drift(trail, data)), tuple(rows))

    def _scores(self, part: FewShot, adapted: Adapted, its: SetRows) -> Scores:
        head = part.train[0]
        if head not in adapted.heads:  # few-shot would take the last one, which is another set's
            listed = ", ".join(adapted.heads) or "none"
            raise NotApplicableError(f"{self.name} needs a head fitted on {head}; there are {listed}")
        return part.evaluate([adapted], its.splits)

    def _drift(self, trail: Sequence[Adapted], data: tuple[SetRows, ...]) -> list[Curve]:
        """One curve for the state after each set; none where something has no layers."""
        if not all(Provides.LAYERS in adapted.provides for adapted in trail):
            return []
        texts = [text for its in data for text in spread([row.input for row in its.splits.test.rows], _DRIFT_ROWS)]
        return [
            Curve(f"drift after {name}", "layer", tuple(map(float, range(len(cosines)))), tuple(map(float, cosines)))
            for name, cosines in zip(self.train, layer_drift(trail, texts), strict=True)
        ]

    def _fresh(self, part: FewShot, trail: Sequence[Adapted], its: SetRows) -> list[float]:
        """One set's column of P."""
        test = its.splits.test.rows
        gold, inputs, metric = [str(row.label) for row in test], [row.input for row in test], part.labelled.metrics[0]
        # from the end, where vectors are missing if they are missing at all
        said = [fresh_predictions(adapted, its.train, inputs) for adapted in reversed(trail)]
        return [class_scores([metric], gold, predicted)[metric] for predicted in reversed(said)]


def measures(columns: Columns) -> dict[str, float]:
    """What R says of a chain of T sets, two at least.

    R[i][j] is the score on set j by the head fitted on set j, after sets 0 to i; it is there for i >= j. With
    last = R[T-1]:

    - `average_accuracy`: the mean over all j of last[j] (ACC; Lopez-Paz and Ranzato 2017, Gradient Episodic Memory,
      eq. 2). The headline, as whoever learns nothing forgets nothing.
    - `bwt`, backward transfer: the mean over j < T-1 of last[j] - R[j][j] (there, eq. 3). The denominator is T-1, as in
      the paper; its published code divides by T.
    - `forgetting_chaudhry`: the mean over j < T-1 of max R[l][j] over l from j to T-2, less last[j] (Chaudhry et al.
      2018, Riemannian Walk, eq. 3). There l begins at the first set; here set j has no head before its turn.
    - `forgetting_first`: the mean over j < T-1 of R[j][j] - last[j] (Avalanche's forgetting), which is minus `bwt`.
    - `drop_on_first`: R[0][0] - last[0].

    With two sets the last four are one number, but for the sign.

    Args:
        columns: R[j][j], R[j+1][j], …, R[T-1][j] for each set j.
    """
    earlier = columns[:-1]
    return {
        "average_accuracy": fmean(column[-1] for column in columns),
        "bwt": fmean(column[-1] - column[0] for column in earlier),
        "forgetting_chaudhry": fmean(max(column[:-1]) - column[-1] for column in earlier),
        "forgetting_first": fmean(column[0] - column[-1] for column in earlier),
        "drop_on_first": columns[0][0] - columns[0][-1],
    }


def fresh_measures(columns: Columns) -> dict[str, float]:
    """What P says of a chain of T sets: what is in the vectors, whether or not a head still reads it.

    P[i][j] is the score on set j by a read-out fitted on set j on the vectors after i sets; P[0] is the backbone.

    - `fresh_accuracy`: the mean over all j of P[T][j].
    - `forward_transfer`: the mean over j > 0 of P[j][j] - P[0][j], the sets before j done and j itself not yet
      (Lopez-Paz and Ranzato 2017, eq. 4, where b is a network drawn at random and heads are not fitted afresh).
    - `fresh_drop`: the mean over j < T-1 of P[j+1][j] - P[T][j], from just after set j to the end.

    Args:
        columns: P[0][j], P[1][j], …, P[T][j] for each set j.
    """
    return {
        "fresh_accuracy": fmean(column[-1] for column in columns),
        "forward_transfer": fmean(column[j] - column[0] for j, column in enumerate(columns) if j),
        "fresh_drop": fmean(column[j + 1] - column[-1] for j, column in enumerate(columns[:-1])),
    }
