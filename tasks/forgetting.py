"""`forgetting/<set>@n+<set>@n+…`: adapt to one labelled set after another, and see what is left of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from thawbench.contracts import Adapted, Curve, Metric, Provides, ScoredRow, Scores, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import families
from thawbench.tasks.classification_scores import class_scores
from thawbench.tasks.drift import layer_drift, spread
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fresh_readout import fresh_predictions
from thawbench.tasks.labelled_set import Splits
from thawbench.tasks.leaks import Asked
from thawbench.tasks.set_chain import EXAMPLE, SetChain
from thawbench.tasks.trainsets import load_trainset

Columns = Sequence[Sequence[float]]
"""A matrix by column: one for each of the T sets of a chain."""

_AXIS = "sets trained"
_FRESH_SAMPLE = 2**31 - 1
"""The sample seed of the rows that fresh read-outs are fitted on: the same in every cell, and no cell's own, so that
what was tuned has read as few of them in one cell as in another. What is not tuned has no spread over samples here."""

_DRIFT_ROWS = 32
"""Test rows of each set on whose texts the drift of layers is taken."""

_MLM_ROWS = 100
"""Test rows of each set in whose texts words are hidden, and so many of its train texts for a backbone without a head
that guesses them."""


@dataclass(frozen=True)
class SetRows:
    """One set of a chain: the rows to measure on, and those to fit a fresh read-out on."""

    splits: Splits
    train: TrainSet


@families.register("forgetting")
class Forgetting(SetChain):
    """Classification sets in a row, each with a head of its own; every set is measured after each of them.

    There are two matrices, whose columns are the curves. R, by own heads, has no number for a set before its turn. P,
    by a fresh read-out on the vectors of each state, begins at the backbone; it is not there for what makes no vectors.
    Rows are those of the own heads after the last set. The curve `alone` has what the same strategy scores on each set
    when it learns no other. Where there are layers, more curves say how far each has moved (see `layer_drift`), and how
    well the words are still guessed that are hidden in test texts (see `_word_loss`).
    """

    version: ClassVar[int] = 4

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """One chain of the embedded world and one of real sets; any other order of any sets will do."""
        return ("world/meals@100+world/topics@100", EXAMPLE)

    @property
    def beside(self) -> tuple[tuple[str, ...], ...]:
        """Every set alone but the first, which the chain begins with."""
        return tuple((name,) for name in self.train[1:])

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What `measures`, `intransigence` and `fresh_measures` define; chance is the mean of best constant answers.

        `mlm_loss` is that after the last set, in nats, and `mlm_drift` how much of it was not there before the first.

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
            Metric("intransigence", "down", lower=-span, upper=span),
            Metric("fresh_accuracy", lower=fmean(lows), chance=chance),
            Metric("forward_transfer", lower=-span, upper=span),
            Metric("fresh_drop", "down", lower=-span, upper=span),
            Metric("mlm_loss", "down", upper=None),
            Metric("mlm_drift", "down", lower=None, upper=None),
        )

    def load(self) -> tuple[SetRows, ...]:
        """Each set's rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        return tuple(SetRows(part.load(), load_trainset(part.train[0], _FRESH_SAMPLE)) for part in self.parts)

    def asked(self, data: tuple[SetRows, ...]) -> tuple[Asked, ...]:
        """The test rows of each set."""
        return self.asked_of([its.splits for its in data])

    def evaluate(self, trail: Sequence[Adapted], data: tuple[SetRows, ...]) -> Scores:
        """Fill R and P, and say what is left.

        Args:
            trail: the backbone, then what there was after each set, then what there is after each of `beside`; without
                these there is no intransigence.

        Raises:
            NotApplicableError: a set has no head of its own, or one for other classes.
            DegenerateError: predictions or vectors that are not finite.
        """
        trail, beside = trail[: len(self.parts) + 1], trail[len(self.parts) + 1 :]
        owned: list[list[float]] = []
        curves: list[Curve] = []
        rows: list[ScoredRow] = []
        steps = [float(step) for step in range(len(trail))]
        for turn, (part, its) in enumerate(zip(self.parts, data, strict=True), start=1):
            found = [self.own_scores(part, adapted, its.splits) for adapted in trail[turn:]]
            owned.append([scores.scalars[part.labelled.metrics[0]] for scores in found])
            curves.append(Curve(part.train[0], _AXIS, tuple(steps[turn:]), tuple(owned[-1])))
            rows += [ScoredRow(f"{part.labelled.name}:{row.row}", row.gold, row.prediction) for row in found[-1].rows]
        scalars = measures(owned)
        if beside:
            others = zip(self.parts[1:], beside, data[1:], strict=True)
            found = [self.own_scores(part, adapted, its.splits) for part, adapted, its in others]
            mains = (part.labelled.metrics[0] for part in self.parts[1:])
            alone = [owned[0][0], *(scores.scalars[main] for scores, main in zip(found, mains, strict=True))]
            scalars["intransigence"] = intransigence(owned, alone)
            curves.append(Curve("alone", "set", tuple(steps[1:]), tuple(alone)))
        try:
            fresh = [self._fresh(part, trail, its) for part, its in zip(self.parts, data, strict=True)]
        except NotApplicableError:
            pass  # heads without vectors, as those of `majority`
        else:
            scalars |= fresh_measures(fresh)
            columns = zip(self.train, fresh, strict=True)
            curves += [Curve(f"fresh {name}", _AXIS, tuple(steps), tuple(column)) for name, column in columns]
        if all(Provides.LAYERS in adapted.provides for adapted in trail):
            curves += self._layer_drift(trail, data)
            words = _word_loss(trail, data)
            curves += words
            for curve in words:
                scalars |= {"mlm_loss": curve.y[-1], "mlm_drift": curve.y[-1] - curve.y[0]}
        return Scores(scalars, tuple(curves), tuple(rows))

    def _layer_drift(self, trail: Sequence[Adapted], data: tuple[SetRows, ...]) -> list[Curve]:
        """One curve for the state after each set."""
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


def _word_loss(trail: Sequence[Adapted], data: tuple[SetRows, ...]) -> list[Curve]:
    """What each state loses on words hidden in test texts, by the head that goes with the backbone; none if none can.

    Where the backbone has no such head, one is fitted on train texts to the backbone as it is, and kept; where that one
    guesses no better than by the frequency of words, there is nothing to lose and none.
    """
    held = [text for its in data for text in spread([row.input for row in its.splits.test.rows], _MLM_ROWS)]
    read = [text for its in data for text in spread(its.train.texts, _MLM_ROWS)]
    try:
        guesser = trail[0].word_guesser(read)
        losses = [guesser.loss(adapted, held) for adapted in trail]
    except NotApplicableError:  # a tokenizer without a mask, or vectors that come from no encoder
        return []
    return [Curve("hidden words", _AXIS, tuple(map(float, range(len(trail)))), tuple(losses))]


def intransigence(columns: Columns, alone: Sequence[float]) -> float:
    """How much worse a set is learnt after others than alone: the mean over j > 0 of alone[j] - R[j][j].

    Below 0, it is learnt better. The measure is Chaudhry et al.'s (2018, Riemannian Walk) with another reference:
    theirs has learnt all sets up to j at once, and gains from rows that are not j's; here the strategy learns j alone.

    Args:
        columns: R, as in `measures`.
        alone: the score on each set of what has learnt nothing else; that on the first is R[0][0].
    """
    return fmean(single - column[0] for single, column in zip(alone[1:], columns[1:], strict=True))


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
