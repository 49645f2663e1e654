"""`classify/<name>`: classification of texts, by any task of MTEB of that type (Banking77Classification, ...)."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, cast

from thawbench.contracts import Adapted, Json, Metric, Scores
from thawbench.registry import families
from thawbench.tasks.mteb_bridge import AdaptedForMteb, evaluate, scalars
from thawbench.tasks.mteb_task import Loaded, MtebTask, subset_of


@families.register("classify")
class Classify(MtebTask):
    """How well a few labelled vectors tell classes apart, by MTEB's protocol unchanged.

    Ten logistic regressions, each on at most 8 train rows of every class, all tested on the test split; the scores are
    means over the ten. No head of the adaptation takes part. Vectors that compare by cosine come at unit length.
    """

    version = 2

    family = "classify"
    mteb_type = "Classification"
    listed = ("Banking77Classification", "AmazonCounterfactualClassification")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy and F1. Loads the rows, to count the classes, unless the manifest knows them.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        classes = cast("int", self.entry().facts["classes"])
        return (Metric("accuracy", chance=1 / classes, main=True), Metric("f1"), Metric("f1_weighted"))

    def evaluate(self, trail: Sequence[Adapted], data: Loaded) -> Scores:
        """Fit and test mteb's read-out on the vectors of `trail[-1]`.

        Raises:
            DegenerateError: vectors that are constant or not finite.
        """
        found = evaluate(copy.copy(data.task), AdaptedForMteb(trail[-1], unit_length=True))
        return Scores(scalars(found, self.metrics))

    def _rows(self, task: Any) -> Iterator[Json]:
        for split in dict.fromkeys((task.train_split, *task.eval_splits)):
            for subset in task.hf_subsets:
                data = subset_of(task, subset)[split]
                labels = data[task.label_column_name]
                for text, label in zip(data[task.input_column_name], labels, strict=True):
                    yield [split, subset, text, label]

    def _facts(self, task: Any) -> dict[str, Json]:
        """The number of classes; of a task of several subsets, that of its largest."""
        labels = (subset_of(task, subset)[task.train_split][task.label_column_name] for subset in task.hf_subsets)
        return {"classes": max(len(set(column)) for column in labels)}
