"""`senteval/<name>`: what a logistic regression on vectors, by SentEval's protocol, can tell apart."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Adapted, Curve, Json, Metric, Provides, ScoredRow, Scores
from thawbench.errors import unknown
from thawbench.registry import families
from thawbench.tasks import fingerprint
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.input_vectors import product, side_vectors, stacked
from thawbench.tasks.logistic_folds import chosen, chosen_in_folds, fit, folds
from thawbench.tasks.senteval_rows import RECIPES, Loaded, Rows, read
from thawbench.tasks.set_catalog import named_set

_WIDE = tuple(2.0**power for power in range(-2, 4))
_HIGH = tuple(2.0**power for power in range(-1, 6))
"""The values of C: `_HIGH` where C is chosen by folds of train rows that have a test split, `_WIDE` elsewhere."""


@families.register("senteval")
class SentEval(Fingerprinted):
    """Logistic regression on vectors as they are (Conneau and Kiela 2018, SentEval: an evaluation toolkit).

    - `mr`, `subj`, `mpqa`: ten stratified folds over all rows. In each, C is chosen from 2^-2 … 2^3 by ten folds of its
      train rows. Accuracy is the mean over the folds, which are the curve.
    - `mrpc`, `world/meals`: C is chosen from 2^-1 … 2^5 by ten folds of the train rows; tested on the test split. Pairs
      are [|u-v|; u*v], and `f1` is that of the class `equivalent`.
    - `sst2`: phrases to train on, C from 2^-2 … 2^3 by the dev split, which is never fitted; tested on the test split.

    Folds are drawn from the seed 1111, as there, and are the same for all strategies. `dev_accuracy` is what C was
    chosen by. No head of the adaptation takes part.

    Where it departs from SentEval: the classifier is that of its option `usepytorch=False`, scikit-learn's logistic
    regression, not a layer trained by Adam on batches; the solver is scikit-learn's present default, run until it
    converges, which leaves the intercept unpenalised; rows keep the order of the data and are not sorted by length, so
    that folds hold other rows; texts go to the encoder whole, not split into words; MPQA lacks three blank rows.
    """

    family: ClassVar[str] = "senteval"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.VECTORS
    corpus: ClassVar[None] = None
    train: ClassVar[tuple[str, ...]] = ("nli",)

    def __init__(self, body: str) -> None:
        self._body = body
        self._recipe = RECIPES[body]
        parts = (*self._recipe.train, *self._recipe.dev, *self._recipe.test)
        self._sets = tuple(named_set(name) for name in dict.fromkeys(part.labelled for part in parts))

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task of that name.

        Raises:
            UserError: there is none; the nearest names are given.
        """
        if body not in RECIPES:
            raise unknown("task of senteval", body, RECIPES)
        return cls(body)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """All of them."""
        return tuple(RECIPES)

    @property
    def name(self) -> str:
        """The family and the set as SentEval calls it."""
        return f"{self.family}/{self._body}"

    @property
    def revision(self) -> str:
        """Those of the sets."""
        return "+".join(found.revision for found in self._sets)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy, with that of the best constant answer as chance; F1 of pairs, with that of a constant yes.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        chance = cast("dict[str, float]", self.entry().facts["chance"])
        found = (Metric("accuracy", chance=chance["accuracy"], main=True), Metric("dev_accuracy"))
        return (*found, Metric("f1", chance=chance["f1"])) if "f1" in chance else found

    def load(self) -> Loaded:
        """All rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        recipe = self._recipe
        data = Loaded(read(recipe.train), read(recipe.dev), read(recipe.test))
        roles = {"train": data.train, "dev": data.dev, "test": data.test}
        found = fingerprint.fingerprint(line for role, rows in roles.items() for line in rows.lines(role))

        def entry() -> Entry:
            tested = data.test if data.test.rows else data.train
            counts = Counter(str(row.label) for row in tested.rows)
            chance: dict[str, Json] = {"accuracy": max(counts.values()) / len(tested.rows)}
            if _paired(tested):
                share = counts[self._positive] / len(tested.rows)
                chance["f1"] = 2 * share / (1 + share)
            facts: dict[str, Json] = {"version": self._version, "chance": chance}
            return Entry(self.name, ", ".join(each.data for each in self._sets), self.revision, found, facts)

        self._enter(found, entry)
        return data

    def evaluate(self, trail: Sequence[Adapted], data: Loaded) -> Scores:
        """Fit and test on the vectors of `trail[-1]`, dense or CSR; a row is its split and its place there.

        Raises:
            DegenerateError: vectors that are not finite.
        """
        adapted = trail[-1]
        train_x, train_y = _features(adapted, data.train), data.train.labels
        if not data.test.rows:
            return _in_folds(train_x, data.train)
        if data.dev.rows:
            strength, dev = chosen(_WIDE, train_x, train_y, _features(adapted, data.dev), data.dev.labels)
        else:
            strength, dev = chosen_in_folds(_HIGH, train_x, train_y)
        said = fit(strength, train_x, train_y).predict(_features(adapted, data.test))
        gold = data.test.labels
        scalars = {"accuracy": float(np.mean(said == gold)), "dev_accuracy": dev}
        if _paired(data.test):
            scalars["f1"] = _f1(gold == self._positive, said == self._positive)
        return Scores(scalars, rows=_scored(data.test, said))

    @property
    def _positive(self) -> str:
        return self._sets[0].classes[-1]

    @property
    def _version(self) -> str:
        return ".".join(map(str, (self.version, *(found.version for found in self._sets))))

    def _seen(self) -> Entry | None:
        return fingerprint.seen_at(self.name, self.revision, self._version)


def _paired(rows: Rows) -> bool:
    return not isinstance(rows.rows[0].input, str)


def _features(adapted: Adapted, rows: Rows) -> Any:
    """(rows, dim) of texts or (rows, 2 dim) of pairs, float32, dense or CSR."""
    first, *others = side_vectors(adapted, [row.input for row in rows.rows])
    return stacked([abs(first - others[0]), product(first, others[0])], axis=1) if others else first


def _in_folds(x: Any, rows: Rows) -> Scores:
    """Every row is tested once, in the fold whose train rows it is not among."""
    y = rows.labels
    said = np.empty_like(y)
    found, dev = [], []
    for train, test in folds(y):
        strength, chosen_by = chosen_in_folds(_WIDE, x[train], y[train])
        said[test] = fit(strength, x[train], y[train]).predict(x[test])
        found.append(float(np.mean(said[test] == y[test])))
        dev.append(chosen_by)
    scalars = {"accuracy": float(np.mean(found)), "dev_accuracy": float(np.mean(dev))}
    curve = Curve("accuracy", "fold", tuple(float(fold) for fold in range(1, len(found) + 1)), tuple(found))
    return Scores(scalars, (curve,), _scored(rows, said))


def _f1(gold: NDArray[Any], said: NDArray[Any]) -> float:
    """2 tp / (2 tp + fp + fn); 0 if nothing is positive."""
    positive = int(gold.sum()) + int(said.sum())
    return 2 * int((gold & said).sum()) / positive if positive else 0.0


def _scored(rows: Rows, said: NDArray[Any]) -> tuple[ScoredRow, ...]:
    return tuple(
        ScoredRow(name, str(row.label), str(each)) for name, row, each in zip(rows.names, rows.rows, said, strict=True)
    )
