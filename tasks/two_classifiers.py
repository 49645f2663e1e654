"""`two_classifiers/<set>@n+<set>@n`: train a classifier, then another on the same encoder, and ask the first again."""

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Metric, ScoredRow, Scores
from thawbench.errors import UserError
from thawbench.registry import families
from thawbench.tasks.labelled_set import Splits
from thawbench.tasks.leaks import Asked
from thawbench.tasks.set_chain import EXAMPLE, SetChain
from thawbench.tasks.shift_measures import loss_metrics, losses


@families.register("two_classifiers")
class TwoClassifiers(SetChain):
    """The test that the research diary behind this project sketches for a forgetting "nobody defines".

    It is to train two classifiers in succession and to note a marked decrease. Here: encoder and head are fitted on A;
    then the encoder, as it is left, and a new head are fitted on B. The head of A, which no step on B has seen but
    those that train old heads along, is asked all test rows of A before and after:

    - `before`, `after`: A's own metric (accuracy, macro-F1 or MCC) by that head. `after` is the main metric and not
      the drop, as whoever learns nothing drops nothing.
    - `drop`, `relative_drop`: what `losses` makes of the two.
    - `lost`, `gained`: the share of A's test rows that were right before and are wrong after, and the other way round.
    - `p_value` says whether the decrease is marked: how probable so many lost rows, or more, are among the lost and
      gained ones if each of these is as likely to be either (McNemar's test, exact and one-sided; 1 if nothing
      changed). It knows of the luck of these test rows alone; that of samples and seeds is for several cells to show.
    - `second`: B's own metric by B's head. What does not learn B has no reason to forget A.

    With n and seeds alike it measures the very adaptations of `forgetting/<A>+<B>`, whose `drop_on_first` is this drop.
    """

    version: ClassVar[int] = 2

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The test with these two sets, in this order.

        Raises:
            UserError: no such set, more or fewer than two, or one that is not measured by its classes.
        """
        found = super().resolve(body)
        if len(found.parts) > 2:
            raise UserError(f"{found.name} has {len(found.parts)} sets; two make this test, more go into forgetting/")
        return found

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Two sets of the embedded world and two real ones; any others will do."""
        return ("world/meals@100+world/topics@100", EXAMPLE)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Chance levels are those of the best constant answer to each set.

        Raises:
            DataUnavailableError: a set was never seen, and is not to be had now.
        """
        first, second = (part.metrics[0] for part in self.parts)
        return (
            replace(first, name="after"),
            replace(first, name="before", main=False),
            *loss_metrics(1.0 - (first.lower or 0.0)),
            Metric("lost", "down"),
            Metric("gained"),
            Metric("p_value", "none"),
            replace(second, name="second", main=False),
        )

    def load(self) -> tuple[Splits, ...]:
        """Each set's rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        return tuple(part.load() for part in self.parts)

    def asked(self, data: tuple[Splits, ...]) -> tuple[Asked, ...]:
        """The test rows of each set."""
        return self.asked_of(data)

    def evaluate(self, trail: Sequence[Adapted], data: tuple[Splits, ...]) -> Scores:
        """Ask the first head twice and the second once; a row is `before` or `after`, and `test:` with its place.

        Args:
            trail: the backbone, what there was after A, and after B.

        Raises:
            NotApplicableError: a set has no head of its own, or one for other classes.
            DegenerateError: predictions that are not finite.
        """
        first, second = self.parts
        before, after = (self.own_scores(first, adapted, data[0]) for adapted in trail[1:])
        main = first.labelled.metrics[0]
        chance = first.metrics[0].chance or 0.0
        was, is_now = before.scalars[main], after.scalars[main]
        right = [
            (old.gold == old.prediction, new.gold == new.prediction)
            for old, new in zip(before.rows, after.rows, strict=True)
        ]
        lost, gained = right.count((True, False)), right.count((False, True))
        return Scores(
            {
                "after": is_now,
                "before": was,
                **losses(was, is_now, chance, chance),
                "lost": lost / len(right),
                "gained": gained / len(right),
                "p_value": chance_of(lost, gained),
                "second": self.own_scores(second, trail[2], data[1]).scalars[second.labelled.metrics[0]],
            },
            rows=tuple(
                ScoredRow(f"{when}:{row.row}", row.gold, row.prediction)
                for when, scores in (("before", before), ("after", after))
                for row in scores.rows
            ),
        )


def chance_of(lost: int, gained: int) -> float:
    """How probable `lost` heads or more are in `lost + gained` throws of a coin."""
    throws = lost + gained
    return sum(comb(throws, heads) for heads in range(lost, throws + 1)) / (1 << throws)
