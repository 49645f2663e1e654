"""Classification sets in a row, which a strategy learns one after another, each with a head of its own."""

from collections.abc import Sequence
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Provides, Scores
from thawbench.errors import NotApplicableError, UserError
from thawbench.names import parse_chain
from thawbench.tasks.classification_scores import SCORE_METRICS
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.labelled_set import Splits
from thawbench.tasks.leaks import Asked

EXAMPLE = "sst2@100+ag_news@100"


class SetChain:
    """What tasks on such a row share: its names, its data, and what a set's own head says of the set.

    A set's score is its main metric (accuracy, macro-F1 or MCC), just as `fewshot/<set>` takes it.
    """

    family: ClassVar[str]
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
        example = f"{cls.family}/{EXAMPLE}"
        if len(parts) < 2:
            raise UserError(f"{name} has one set, after which nothing can be forgotten; name two, as in {example}")
        sets = [part.labelled.name for part in parts]
        if twice := [each for each in sets if sets.count(each) > 1]:
            raise UserError(f"{name} has {twice[0]} twice; each set has one head, and may stand there once")
        for part in parts:
            if part.labelled.metrics[0] in SCORE_METRICS:
                raise UserError(
                    f"{name}: {part.labelled.name} is measured by {part.labelled.metrics[0]}; "
                    f"take sets that are measured by their classes, as in {example}"
                )
        return cls(parts)

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

    def fingerprint(self) -> str:
        """SHA-256 over those of the sets, in order.

        Raises:
            DataUnavailableError: a set was never seen, and is not to be had now.
        """
        return fingerprint(part.fingerprint() for part in self.parts)

    def asked_of(self, splits: Sequence[Splits]) -> tuple[Asked, ...]:
        """The test rows of each set.

        Args:
            splits: the sets' rows, in order.
        """
        return tuple(Asked.of(part.labelled, its.test) for part, its in zip(self.parts, splits, strict=True))

    def own_scores(self, part: FewShot, adapted: Adapted, splits: Splits) -> Scores:
        """What the head that was fitted on a set scores there.

        Raises:
            NotApplicableError: the set has no head of its own, or one for other classes.
            DegenerateError: predictions that are not finite.
        """
        head = part.train[0]
        if head not in adapted.heads:  # few-shot would take the last one, which is another set's
            listed = ", ".join(adapted.heads) or "none"
            raise NotApplicableError(f"{self.name} needs a head fitted on {head}; there are {listed}")
        return part.evaluate([adapted], splits)
