"""`shift/snli@n`, `shift/snli_biased@n`, `shift/snli_thinned@n`: what it costs never to have read some words."""

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from thawbench.contracts import Adapted, Json, Metric, Provides, Scores
from thawbench.errors import UserError
from thawbench.tasks import fingerprint
from thawbench.tasks.biased_set import WORDS, cuts, holds_word
from thawbench.tasks.classification_scores import chance_levels, class_scores
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.labelled_set import Split, Splits
from thawbench.tasks.leaks import Asked
from thawbench.tasks.set_catalog import named_set
from thawbench.tasks.shift_measures import loss_metrics, losses
from thawbench.tasks.train_noise import CLEAN, TrainNoise, parse

_BASE = "snli"
_PARTS = ("accuracy", "with_words", "without_words")


class WordShift(Fingerprinted):
    """Accuracy on all test rows of SNLI, on those that hold one of seven words for women, and on those that do not.

    The experiment is to leave those words out of the train rows (`snli_biased`) and to see whether they are missed. It
    takes three train sets to read it, each at the same n and sample seed. `snli` is the whole, and `snli_thinned` lost
    as many rows by chance, of each class as many. Without @n, `snli` against `snli_thinned` is what fewer rows cost,
    and `snli_thinned` against `snli_biased` what it costs that they are these. With @n all three have n rows, balanced
    by class: `snli` and `snli_thinned` differ by the luck of a sample alone, which shows how much of a difference to
    `snli_biased` means nothing. `drop` and `relative_drop` (see `losses`) go from the rows without the words to those
    with them; rows that hold them are not as hard as others in any case, so what counts is the drop of `snli_biased`
    against that of `snli_thinned`.
    """

    family: ClassVar[str] = "shift"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.CLASSES
    corpus: ClassVar[None] = None

    def __init__(self, few: FewShot, noise: TrainNoise = CLEAN) -> None:
        self.few = few
        self.noise = noise

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """The three sets."""
        return (_BASE, *(each.name for each in cuts(named_set(_BASE))))

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task on one of the three, with n or without, and with noise in the train rows or without.

        Raises:
            UserError: another set.
        """
        clean, noise = parse(body)
        few = FewShot.resolve(clean)
        if few.labelled.name not in cls.known():
            raise UserError(
                f"{cls.family}/{body} names one set; name a second to test on, as in {cls.family}/{body}~imdb "
                f"(alone stand {', '.join(cls.known())}, which are tested by their words)"
            )
        return cls(few, noise)

    @property
    def name(self) -> str:
        """The family, the set and n."""
        return f"{self.family}/{self.train[0]}"

    @property
    def train(self) -> tuple[str, ...]:
        """The set's own train rows, noisy if that was asked for."""
        return (self.few.train[0] + self.noise.suffix,)

    @property
    def revision(self) -> str:
        """That of the set."""
        return self.few.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Chance levels are those of the best constant answer to the same rows.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        chance = self._chance
        return (
            *(Metric(part, chance=chance[part], main=part == "accuracy") for part in _PARTS),
            *loss_metrics(1.0),
        )

    def load(self) -> Splits:
        """The set's rows; only those of the test split are read here.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        splits = self.few.load()
        found = fingerprint.fingerprint([list(WORDS), *splits.test.lines("test")])

        def entry() -> Entry:
            parts = _parts(splits.test)
            facts: dict[str, Json] = {
                "version": self._version,
                "rows": {part: len(rows) for part, rows in parts.items()},
                "chance": {
                    part: chance_levels(["accuracy"], [str(splits.test.rows[row].label) for row in rows])["accuracy"]
                    for part, rows in parts.items()
                },
            }
            return Entry(self._stem, self.few.labelled.data, self.revision, found, facts)

        self._enter(found, entry)
        return splits

    def asked(self, data: Splits) -> tuple[Asked, ...]:
        """The test rows."""
        return self.few.asked(data)

    def evaluate(self, trail: Sequence[Adapted], data: Splits) -> Scores:
        """Predict every test row as `fewshot/` does, and take the accuracy of each part.

        Raises:
            NotApplicableError: there is no head, or it predicts something else.
            DegenerateError: predictions that are not finite.
        """
        rows = self.few.evaluate(trail, data).rows
        chance = self._chance
        found = {
            part: class_scores(
                ["accuracy"], [str(rows[row].gold) for row in kept], [str(rows[row].prediction) for row in kept]
            )["accuracy"]
            for part, kept in _parts(data.test).items()
        }
        home, away = "without_words", "with_words"
        return Scores({**found, **losses(found[home], found[away], chance[home], chance[away])}, rows=rows)

    @property
    def _chance(self) -> dict[str, float]:
        return cast("dict[str, float]", self.entry().facts["chance"])

    @property
    def _stem(self) -> str:
        return f"{self.family}/{self.few.labelled.name}"

    @property
    def _version(self) -> str:
        return f"{self.version}.{self.few.version}.{self.few.labelled.version}"

    def _seen(self) -> Entry | None:
        return fingerprint.seen_at(self._stem, self.revision, self._version)


def _parts(test: Split) -> dict[str, list[int]]:
    """Which rows each of `_PARTS` is taken over."""
    held = [holds_word(row.input) for row in test.rows]
    numbers = range(len(held))
    groups = ([*numbers], [row for row in numbers if held[row]], [row for row in numbers if not held[row]])
    return dict(zip(_PARTS, groups, strict=True))
