"""`forgetting/<set>@n+<set>@n+…`: adapt to one labelled set after another, and see what is left of each."""

from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Curve, Metric, Provides, ScoredRow, Scores
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.names import parse_chain
from thawbench.registry import families
from thawbench.tasks.classification_scores import SCORE_METRICS
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.labelled_set import Splits

Columns = Sequence[Sequence[float]]
"""The matrix R of a chain of T sets, by column: `columns[j]` is R[j][j], R[j+1][j], …, R[T-1][j], where R[i][j] is the
score on the test rows of set j, by the head fitted on set j, after the steps on sets 0 to i. Before set j there is no
such head, and no number stands for it."""

_EXAMPLE = "forgetting/sst2@100+ag_news@100"


@families.register("forgetting")
class Forgetting:
    """Classification sets in a row, each with a head of its own; every set is measured after each from its own on.

    A set's score is its main metric (accuracy, macro-F1 or MCC), just as `fewshot/<set>` takes it. One curve a set
    holds its column of R. Rows are those after the last step.
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
        """What `measures` defines; the chance level is the mean of the best constant answers.

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
        )

    def fingerprint(self) -> str:
        """SHA-256 over those of the sets, in order.

        Raises:
            DataUnavailableError: a set was never seen, and is not to be had now.
        """
        return fingerprint(part.fingerprint() for part in self.parts)

    def load(self) -> tuple[Splits, ...]:
        """Each set's rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        return tuple(part.load() for part in self.parts)

    def evaluate(self, trail: Sequence[Adapted], data: tuple[Splits, ...]) -> Scores:
        """Fill R, and say what is left.

        Args:
            trail: the backbone, then what there was after each set.

        Raises:
            NotApplicableError: a set has no head of its own, or one for other classes.
            DegenerateError: predictions that are not finite, or a score that cannot be taken.
        """
        columns: list[list[float]] = []
        rows: list[ScoredRow] = []
        for place, (part, splits) in enumerate(zip(self.parts, data, strict=True)):
            found = [self._scores(part, adapted, splits) for adapted in trail[1 + place :]]
            columns.append([self._main(part, scores) for scores in found])
            rows += [ScoredRow(f"{part.labelled.name}:{row.row}", row.gold, row.prediction) for row in found[-1].rows]
        steps = [float(step) for step in range(1, len(trail))]
        curves = tuple(
            Curve(part.train[0], "sets trained", tuple(steps[place:]), tuple(columns[place]))
            for place, part in enumerate(self.parts)
        )
        return Scores(measures(columns), curves, tuple(rows))

    def _scores(self, part: FewShot, adapted: Adapted, splits: Splits) -> Scores:
        head = part.train[0]
        if head not in adapted.heads:  # few-shot would take the last one, which is another set's
            listed = ", ".join(adapted.heads) or "none"
            raise NotApplicableError(f"{self.name} needs a head fitted on {head}; there are {listed}")
        return part.evaluate([adapted], splits)

    def _main(self, part: FewShot, scores: Scores) -> float:
        name = part.labelled.metrics[0]
        if name not in scores.scalars:
            raise DegenerateError(f"{self.name}: {name} of {part.labelled.name} cannot be taken")
        return scores.scalars[name]


def measures(columns: Columns) -> dict[str, float]:
    """What R says of a chain of T sets, two at least. With 0-based i and j, and `last` = R[T-1]:

    - `average_accuracy`: the mean over all j of last[j] (ACC; Lopez-Paz and Ranzato 2017, Gradient Episodic Memory,
      eq. 2). The headline, as whoever learns nothing forgets nothing.
    - `bwt`, backward transfer: the mean over j < T-1 of last[j] - R[j][j] (there, eq. 3). The denominator is T-1, as in
      the paper; its published code divides by T.
    - `forgetting_chaudhry`: the mean over j < T-1 of max R[l][j] over l from j to T-2, less last[j] (Chaudhry et al.
      2018, Riemannian Walk, eq. 3). There l begins at the first set; here a head is n/a before it is fitted.
    - `forgetting_first`: the mean over j < T-1 of R[j][j] - last[j] (Avalanche's forgetting), which is minus `bwt`.
    - `drop_on_first`: R[0][0] - last[0].

    With two sets the last four are one number, but for the sign.
    """
    earlier = columns[:-1]
    return {
        "average_accuracy": fmean(column[-1] for column in columns),
        "bwt": fmean(column[-1] - column[0] for column in earlier),
        "forgetting_chaudhry": fmean(max(column[:-1]) - column[-1] for column in earlier),
        "forgetting_first": fmean(column[0] - column[-1] for column in earlier),
        "drop_on_first": columns[0][0] - columns[0][-1],
    }
