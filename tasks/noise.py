"""`noise/<set>@n:typos=0.1`: what is left of a few-shot score as the test texts, or the train rows, get noisier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar, Self

from thawbench.contracts import Adapted, Curve, Json, Metric, Provides, ScoredRow, Scores
from thawbench.errors import DegenerateError, UserError
from thawbench.registry import families, noisers
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.labelled_set import Splits
from thawbench.tasks.leaks import Asked
from thawbench.tasks.text_noise import shown, spoilt, strength_of, version
from thawbench.tasks.train_noise import LABELS, TrainNoise, train_noise
from thawbench.tasks.word_noise import FELT_BY_ALL

_DEFAULT = 0.2
_STEPS = (0.25, 0.5, 1.0)
"""Where the axis has points above 0, as parts of the strength that was named."""
_TRAIN = "train_"


@dataclass(frozen=True)
class NoisyTest:
    """The test rows under one kind of noise at one strength."""

    kind: str
    strength: float
    splits: Splits


@dataclass(frozen=True)
class NoiseRows:
    """The test rows as they are, and under each kind at each strength above 0."""

    clean: Splits
    noisy: tuple[NoisyTest, ...]


@families.register("noise")
class Noise:
    """The head of `fewshot/<set>@n` on test rows whose texts are spoilt, along an axis of strengths for each kind.

    An option names a kind and the strength at which its axis ends, as `typos=0.1` does; before that it has 0, a quarter
    and a half of it. Without a test option the kinds that every encoder feels, `word_noise.FELT_BY_ALL`, end at 0.2.
    What stands at strength 0 is the score of `fewshot` to the bit. Noise is drawn from the kind and the row alone: all
    strategies read the same texts.

    The main metric, `noisy`, is the set's own (accuracy, macro-F1, …) at the end of the axis, and the mean over kinds
    if there are several: the score under just the noise that the name of the task says, which can be read without the
    axis, as a mean over strengths could not. `drop` is `clean` less `noisy`; both together tell a robust encoder
    from one that had little to lose. Each kind has a curve, and where there are several, a score of its own at its end.

    `train_<kind>=` and `train_labels=` spoil the train rows instead (see `train_noise`). With these alone the test rows
    stay clean: `clean` is the main metric, and the only one.

    Rows are those of the clean test, `test:<place>`, and of each kind at its end, `<kind>=<strength>:test:<place>`.
    """

    family: ClassVar[str] = "noise"
    version: ClassVar[int] = 2
    needs: ClassVar[Provides] = Provides.CLASSES
    corpus: ClassVar[None] = None

    def __init__(self, clean: FewShot, given: Mapping[str, float], train: TrainNoise) -> None:
        """A task.

        Args:
            clean: the task whose rows are spoilt.
            given: the test noise that was named, by kind with the strength at the end of its axis.
            train: the noise of the train rows.
        """
        self.clean = clean
        self._given = dict(sorted(given.items()))
        self._train_noise = train
        self.ends = self._given if given or train else dict.fromkeys(FELT_BY_ALL, _DEFAULT)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Every kind of noise for the test texts, and for the train texts and labels."""
        kinds = noisers.names()
        return (*kinds, *(f"{_TRAIN}{kind}" for kind in (*kinds, LABELS)))

    @classmethod
    def resolve(cls, body: str, options: Mapping[str, str] | None = None) -> Self:
        """The task on that set, with n or without.

        Raises:
            UserError: no such set (the nearest names are given), or a strength that is not between 0 and 1.
        """
        clean = FewShot.resolve(body)
        name = f"{cls.family}/{body}"
        strengths = {key: strength_of(text, f"{name}: {key}") for key, text in (options or {}).items()}
        test = {key: strength for key, strength in strengths.items() if not key.startswith(_TRAIN)}
        train = {key.removeprefix(_TRAIN): value for key, value in strengths.items() if key not in test}
        for key in train:
            if not train[key]:
                raise UserError(f"{name}: {_TRAIN}{key}=0 spoils nothing; ask for {clean.name}")
        return cls(clean, test, train_noise(train))

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """A set of the embedded world and a real one; any other will do."""
        return ("world/meals@100", "sst2@100", "sst2@100:typos=0.1", "sst2@100:train_labels=0.2")

    @property
    def name(self) -> str:
        """The family, the set, n, and the noise that was named."""
        given = {**self._given, **{f"{_TRAIN}{kind}": strength for kind, strength in self._train_noise.parts}}
        listed = ",".join(f"{kind}={shown(strength)}" for kind, strength in given.items())
        return f"{self.family}/{self.clean.train[0]}" + (f":{listed}" if listed else "")

    @property
    def train(self) -> tuple[str, ...]:
        """The set's own train rows, noisy if that was asked for."""
        return (self.clean.train[0] + self._train_noise.suffix,)

    @property
    def revision(self) -> str:
        """That of the set."""
        return self.clean.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The set's main metric under noise and without, and their difference; a constant answer loses nothing.

        Raises:
            DataUnavailableError: the set was never seen, and is not to be had now.
        """
        own = self.clean.metrics[0]
        clean = replace(own, name="clean")
        if not self.ends:
            return (clean,)
        span = (own.upper or 0.0) - (own.lower or 0.0)
        kinds = tuple(self.ends) if len(self.ends) > 1 else ()
        return (
            replace(own, name="noisy"),
            replace(clean, main=False),
            Metric("drop", "down", lower=-span, upper=span),
            *(replace(own, name=kind, main=False) for kind in kinds),
        )

    def fingerprint(self) -> str:
        """SHA-256 over the set's and over what spoils it.

        Raises:
            DataUnavailableError: the set was never seen, and is not to be had now.
        """
        ends: list[list[Json]] = [[kind, version(kind), end] for kind, end in self.ends.items()]
        return fingerprint([self.clean.fingerprint(), *ends])

    def load(self) -> NoiseRows:
        """The test rows, clean and noisy: spoilt here, once for all strategies.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
            UserError: a noiser that does not give a text for each.
        """
        splits = self.clean.load()
        noisy = []
        for kind, end in self.ends.items():
            for strength in _axis(end)[1:]:
                rows = spoilt(splits.test.rows, kind, strength, "test")
                noisy.append(NoisyTest(kind, strength, replace(splits, test=replace(splits.test, rows=rows))))
        return NoiseRows(splits, tuple(noisy))

    def asked(self, data: NoiseRows) -> tuple[Asked, ...]:
        """The test rows as they were."""
        return self.clean.asked(data.clean)

    def evaluate(self, trail: Sequence[Adapted], data: NoiseRows) -> Scores:
        """Predict every test row at every strength.

        Raises:
            NotApplicableError: no head for this set's classes or scores.
            DegenerateError: predictions that are not finite, or the set's metric is not defined for them.
        """
        clean = self.clean.evaluate(trail, data.clean)
        curves = {kind: ([0.0], [self._score(clean)]) for kind in self.ends}
        rows = list(clean.rows)
        for test in data.noisy:
            found = self.clean.evaluate(trail, test.splits)
            x, y = curves[test.kind]
            x.append(test.strength)
            y.append(self._score(found))
            if test.strength == self.ends[test.kind]:
                label = f"{test.kind}={shown(test.strength)}"
                rows += [ScoredRow(f"{label}:{row.row}", row.gold, row.prediction) for row in found.rows]
        scalars = {"clean": self._score(clean)}
        if curves:
            scalars |= {kind: y[-1] for kind, (_, y) in curves.items()} if len(curves) > 1 else {}
            scalars["noisy"] = fmean(y[-1] for _, y in curves.values())
            scalars["drop"] = fmean(scalars["clean"] - y[-1] for _, y in curves.values())  # of equals exactly 0
        listed = tuple(Curve(kind, "strength", tuple(x), tuple(y)) for kind, (x, y) in curves.items())
        return Scores(scalars, listed, tuple(rows))

    def _score(self, scores: Scores) -> float:
        metric = self.clean.labelled.metrics[0]
        if metric not in scores.scalars:
            raise DegenerateError(f"{self.name}: {metric} is not defined for these predictions")
        return scores.scalars[metric]


def _axis(end: float) -> tuple[float, ...]:
    """The strengths from 0 to `end`; 0 alone if that is the end."""
    return (0.0, *(end * step for step in _STEPS)) if end else (0.0,)
