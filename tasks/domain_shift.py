"""`shift/<set>@n~<set>`: a head fitted on one labelled set, tested on that set and on another with the same classes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from thawbench.contracts import Adapted, ClassTarget, Input, Json, Metric, Provides, ScoredRow, Scores, Target
from thawbench.errors import NotApplicableError, UserError
from thawbench.tasks import fingerprint
from thawbench.tasks.classification_scores import SCORE_METRICS, chance_levels, has_levels, metrics
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.head_scores import head_scores
from thawbench.tasks.labelled_set import LabelledSet, Split
from thawbench.tasks.leaks import MOST_SHARED, Asked
from thawbench.tasks.pool import texts_of
from thawbench.tasks.set_catalog import known_sets, named_set
from thawbench.tasks.shift_measures import loss_metrics, losses
from thawbench.tasks.train_noise import CLEAN, TrainNoise

_MEASURES = ("accuracy", "macro_f1", "mcc")
"""What can be compared between two sets; classes as numbers or in groups are a set's own affair."""

_SIDES = ("in_domain", "shifted")


@dataclass(frozen=True)
class BothTests:
    """The test rows of the set that was trained on, and those of the other."""

    target: Target
    in_domain: Split
    shifted: Split


class DomainShift(Fingerprinted):
    """How much of what a head learnt on one set holds on another.

    Classes are matched by name. Test rows of either set that are train rows of the first, whether or not n reaches
    them, are left out, and of those with the same text all but the first: so the test rows are the same for every n
    and every sample. Texts are the same if their letters and digits are; sets that were tokenised in two ways would not
    be known for one otherwise. The manifest says how many rows went. Both sets are measured by the first one's main
    metric, of which `losses` takes the differences; a set against itself drops 0.

    Args:
        first: the set to train on, with its n.
        second: the set to test on as well.
        noise: what spoils the train rows. All test rows stay clean, and are those that are asked without it.

    Raises:
        UserError: sets without classes, or with different ones.
    """

    family: ClassVar[str] = "shift"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.CLASSES
    corpus: ClassVar[None] = None

    def __init__(self, first: FewShot, second: LabelledSet, noise: TrainNoise = CLEAN) -> None:
        self.first = first
        self.second = second
        self.noise = noise
        for each in (first.labelled, second):
            if each.metrics[0] in SCORE_METRICS:
                raise UserError(f"{self.name}: {each.name} is measured by {each.metrics[0]}; take sets of classes")
        self._check(first.labelled.classes, second.classes)

    @property
    def name(self) -> str:
        """The family, the first set with its n, and the second."""
        return f"{self.family}/{self.train[0]}~{self.second.name}"

    @property
    def train(self) -> tuple[str, ...]:
        """The first set's own train rows, noisy if that was asked for."""
        return (self.first.train[0] + self.noise.suffix,)

    @property
    def revision(self) -> str:
        """Those of the two sets."""
        return f"{self.first.revision}+{self.second.revision}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Chance levels are those of the best constant answer, for each of the two sets by itself.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        home, away = (metrics(self._names, self._chance(side)) for side in _SIDES)
        others = (replace(metric, name=f"shifted_{metric.name}") for metric in away[1:])
        return (
            replace(away[0], name="shifted"),
            replace(home[0], name="in_domain", main=False),
            *loss_metrics(1.0 - (home[0].lower or 0.0)),
            *others,
        )

    def load(self) -> BothTests:
        """Both sets' test rows, less those that would not be fair to ask.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
            UserError: rows that cannot be used, different classes, or two sets that are one domain.
        """
        home, away = self.first.labelled.splits(), self.second.splits()
        self._check(*(each.target.classes for each in (home, away) if isinstance(each.target, ClassTarget)))
        trained = {_letters(row.input) for row in self.first.labelled.load().labelled}
        shared = sum(_letters(row.input) in trained for row in away.test.rows)
        if shared > MOST_SHARED * len(away.test.rows):
            raise UserError(
                f"{self.name} is no shift: {shared} of the {len(away.test.rows)} test rows of {self.second.name} are "
                f"train rows of {self.first.labelled.name}; take sets of different origin"
            )
        tests = BothTests(home.target, *(_fair(split.test, trained) for split in (home, away)))
        for part, kept in ((self.first.labelled, tests.in_domain), (self.second, tests.shifted)):
            if not kept.rows:
                raise UserError(
                    f"{self.name} has no test row of {part.name} to ask: each is a train row of "
                    f"{self.first.labelled.name} but for order, case and signs; take other rows"
                )
        sides = {"in_domain": (home.test, tests.in_domain), "shifted": (away.test, tests.shifted)}
        found = fingerprint.fingerprint(line for side, (_, kept) in sides.items() for line in kept.lines(side))

        def entry() -> Entry:
            facts: dict[str, Json] = {"version": self._version}
            for side, (whole, kept) in sides.items():
                learnt = sum(_letters(row.input) in trained for row in whole.rows)
                facts[side] = {
                    "rows": len(kept.rows),
                    "left_out": whole.left_out,
                    "trained_on": learnt,
                    "repeated": len(whole.rows) - learnt - len(kept.rows),
                    "chance": dict(chance_levels(self._names, [str(row.label) for row in kept.rows])),
                }
            data = f"{self.first.labelled.data}+{self.second.data}"
            return Entry(self._stem, data, self.revision, found, facts)

        self._enter(found, entry)
        return tests

    def asked(self, data: BothTests) -> tuple[Asked, ...]:
        """The test rows of both sets."""
        return Asked.of(self.first.labelled, data.in_domain), Asked.of(self.second, data.shifted)

    def evaluate(self, trail: Sequence[Adapted], data: BothTests) -> Scores:
        """Let the head fitted on the first set predict both; a row is its side, `test` and its place in the split.

        Raises:
            NotApplicableError: no such head.
            DegenerateError: predictions that are not finite.
        """
        adapted, head = trail[-1], self.train[0]
        if head not in adapted.heads:
            raise NotApplicableError(
                f"{self.name} needs a head fitted on {head}; there are {', '.join(adapted.heads) or 'none'}"
            )
        home, away = (
            head_scores(self.name, adapted, head, data.target, test, self._names)
            for test in (data.in_domain, data.shifted)
        )
        main, *others = self._names
        here, there = home.scalars[main], away.scalars[main]
        return Scores(
            {
                "shifted": there,
                "in_domain": here,
                **losses(here, there, self._chance("in_domain")[main], self._chance("shifted")[main]),
                **{f"shifted_{name}": away.scalars[name] for name in others},
            },
            rows=tuple(
                ScoredRow(f"{side}:{row.row}", row.gold, row.prediction)
                for side, scores in (("in_domain", home), ("shifted", away))
                for row in scores.rows
            ),
        )

    @property
    def _names(self) -> list[str]:
        return [name for name in self.first.labelled.metrics if name in _MEASURES]

    def _chance(self, side: str) -> dict[str, float]:
        return cast("dict[str, dict[str, float]]", self.entry().facts[side])["chance"]

    def _check(self, *classes: tuple[str, ...]) -> None:
        """Refuse different classes, as far as they are known."""
        if not all(classes) or len({frozenset(each) for each in classes}) == 1:
            return
        mine = frozenset(classes[0])
        alike = [name for name in known_sets() if frozenset(named_set(name).classes) == mine]
        first, second = (", ".join(sorted(each)) for each in classes)
        raise UserError(
            f"{self.name}: {self.first.labelled.name} has the classes {first}, and {self.second.name} has {second}; "
            f"sets with those of the first are {', '.join(alike)}"
        )

    @property
    def _stem(self) -> str:
        return f"{self.family}/{self.first.labelled.name}~{self.second.name}"

    @property
    def _version(self) -> str:
        return f"{self.version}.{self.first.labelled.version}.{self.second.version}"

    def _seen(self) -> Entry | None:
        entry = fingerprint.seen_at(self._stem, self.revision, self._version)
        sides = [cast("dict[str, Json]", entry.facts[side])["chance"] for side in _SIDES] if entry else []
        return entry if all(has_levels(chance, self._names) for chance in sides) else None


def _letters(item: Input) -> frozenset[str]:
    """An item's text, or a pair's two in whatever order, as letters and digits in one case; the text if it has none."""
    return frozenset("".join(filter(str.isalnum, text.casefold())) or text for text in texts_of(item))


def _fair(test: Split, trained: Collection[frozenset[str]]) -> Split:
    """The rows that were not trained on, each text once."""
    seen = set(trained)
    kept = []
    for row in test.rows:
        key = _letters(row.input)
        kept.append(key not in seen)
        seen.add(key)
    return test.only(kept)
