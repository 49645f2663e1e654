"""`fewshot/<set>@n`: classification and scoring by the head that a strategy fitted on the first n rows of a set."""

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from thawbench.contracts import Adapted, Json, Metric, Provides, Scores
from thawbench.errors import NotApplicableError
from thawbench.registry import families
from thawbench.tasks import fingerprint, sampling
from thawbench.tasks.classification_scores import chance_levels, has_levels, metrics
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.head_scores import head_scores
from thawbench.tasks.labelled_set import LabelledSet, Splits
from thawbench.tasks.leaks import Asked
from thawbench.tasks.set_catalog import known_sets, named_set

_SIZES = (20, 100, 1000)


@families.register("fewshot")
class FewShot(Fingerprinted):
    """How well a few labelled rows teach a set; without @n, all of them. The test rows are the same for every n.

    Classes are matched by name, so that a head fitted on another set with the same classes can be measured too.
    """

    family: ClassVar[str] = "fewshot"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.CLASSES
    corpus: ClassVar[None] = None

    def __init__(self, labelled: LabelledSet, taken: int | None) -> None:
        self.labelled = labelled
        self._taken = taken

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task on that set, with n or without.

        Raises:
            UserError: no such set (the nearest names are given), or no number behind the @.
        """
        name, taken = sampling.parse(body)
        return cls(named_set(name), taken)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Every set at 20, 100 and 1000 rows, as far as its classes fit in, and whole."""
        found: list[str] = []
        for name in known_sets():
            if not named_set(name).trains:
                continue
            least = sampling.least(len(named_set(name).classes))
            found.extend(f"{name}@{size}" for size in _SIZES if size >= least)
            found.append(name)
        return tuple(found)

    @property
    def name(self) -> str:
        """The family, the set and n."""
        return f"{self.family}/{self.train[0]}"

    @property
    def train(self) -> tuple[str, ...]:
        """The set's own train rows."""
        return (sampling.spelled(self.labelled.name, self._taken),)

    @property
    def revision(self) -> str:
        """The commit of the data, or the SHA-256 of a user's files."""
        return self.labelled.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the set wants, with the scores of the best constant answer as chance levels.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        return metrics(self.labelled.metrics, cast("dict[str, float]", self.entry().facts["chance"]))

    def load(self) -> Splits:
        """The set's rows; only those of the test split are read here.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
            UserError: rows that cannot be used.
        """
        splits = self.labelled.splits()
        found = fingerprint.fingerprint(splits.test.lines("test"))

        def entry() -> Entry:
            gold = [str(row.label) if row.score is None else row.score for row in splits.test.rows]
            facts: dict[str, Json] = {
                "version": self._version,
                "rows": len(gold),
                "left_out": splits.test.left_out,
                "chance": dict(chance_levels(self.labelled.metrics, gold, splits.groups)),
            }
            return Entry(self._stem, self.labelled.data, self.revision, found, facts)

        self._enter(found, entry)
        return splits

    def asked(self, data: Splits) -> tuple[Asked, ...]:
        """The test rows."""
        return (Asked.of(self.labelled, data.test),)

    def evaluate(self, trail: Sequence[Adapted], data: Splits) -> Scores:
        """Predict every test row; a row is `test:` and its place in the split.

        The head is the one fitted on this task's own train set, else the last one.

        Raises:
            NotApplicableError: there is no head, or it predicts something else; the names that differ are given.
            DegenerateError: predictions that are not finite, or constant where a correlation is asked for.
        """
        adapted = trail[-1]
        head = self._head(adapted)
        return head_scores(self.name, adapted, head, data.target, data.test, self.labelled.metrics, data.groups)

    def _head(self, adapted: Adapted) -> str:
        heads = list(adapted.heads)
        if not heads:
            raise NotApplicableError(f"{self.name} needs a head, and none was fitted")
        return self.train[0] if self.train[0] in heads else heads[-1]

    @property
    def _stem(self) -> str:
        return f"{self.family}/{self.labelled.name}"

    @property
    def _version(self) -> str:
        return f"{self.version}.{self.labelled.version}"

    def _seen(self) -> Entry | None:
        entry = fingerprint.seen_at(self._stem, self.revision, self._version)
        return entry if entry and has_levels(entry.facts["chance"], self.labelled.metrics) else None
