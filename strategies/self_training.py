"""A teacher labels the unlabelled pool, and a student learns from what it is surest of."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from thawbench.contracts import Adapt, Budget, ClassTarget, FloatArray, Labelled, Seeds, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.members import finetuned, tuned_alike
from thawbench.strategies.pair_features import are_pairs
from thawbench.strategies.pool_sample import pool_sample


@dataclass(frozen=True)
class SelfTrainingConfig(FinetuneConfig):
    """As `finetune`'s, for teacher and student.

    Attributes:
        pool: how many unlabelled texts the teacher reads.
        share: of these, how many the student learns from at most; no class has more of them than another may have.
        confidence: the least probability of a label that is believed.
    """

    pool: int = 1000
    share: float = 0.5
    confidence: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool < 0 or not 0 <= self.share <= 1 or not 0 <= self.confidence <= 1:
            raise ValueError("pool must not be negative, share and confidence must be in [0, 1]")


@strategies.register("self_training")
class SelfTraining(Finetune):
    """`finetune`'s most confident labels for the unlabelled pool, beside the given ones, for a student from the start.

    Lee, "Pseudo-Label", 2013, with the labels chosen as in Du et al., "Self-training Improves Pre-training for Natural
    Language Understanding", NAACL 2021. Of each class it takes the same number of texts, if it finds so many: else the
    student learns the teacher's leanings. Rows of the train set are taken out of the pool, those of dev above all,
    since dev chooses the student.
    """

    Config: ClassVar[type[Any]] = SelfTrainingConfig
    config: SelfTrainingConfig
    asks_for: ClassVar[tuple[str, ...]] = ("finetune",)
    tuned_as = ""  # left open, so that the fit that it asks for is that of `finetune` itself

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Label the pool with the teacher, and tune the student.

        Raises:
            NotApplicableError: no labels, no encoder to tune, or no pool whose texts could have these labels, one
                a class at least.
        """
        target = data.target
        if not data.labelled or not isinstance(target, ClassTarget):
            raise NotApplicableError(f"{data.name} has no rows with classes for a teacher to learn from")
        if are_pairs([row.input for row in data.labelled]):
            raise NotApplicableError(f"{data.name} has classes of pairs, and a pool of single texts")
        texts = pool_sample(data, self.config.pool, seeds.order)
        if not texts:
            raise NotApplicableError(f"{data.name} has no unlabelled text beside its rows")
        if 0 < self.config.share * len(texts) < len(target.classes):
            raise NotApplicableError(
                f"share={self.config.share:g} of {len(texts)} unlabelled texts is not one for each of "
                f"{len(target.classes)} classes"
            )
        teacher = finetuned(self.config, adapt, seeds)
        beliefs = softmax(teacher.predict(texts, data.name).astype(np.float64), axis=1)
        labelled = [
            Labelled(texts[row], target.classes[beliefs[row].argmax()])
            for row in believed(beliefs, self.config.share, self.config.confidence)
        ]
        more = replace(data, labelled=(*data.labelled, *labelled))
        student = Finetune(tuned_alike(self.config, start))
        learned = student.learn(start, more, seeds=seeds, budget=budget, adapt=adapt)
        return replace(learned, values={**learned.values, "pseudo_labels": len(labelled)})


def believed(beliefs: FloatArray | NDArray[np.float64], share: float, confidence: float) -> list[int]:
    """The rows whose likeliest class is believed, in ascending order.

    Args:
        beliefs: probabilities (rows, classes).
        share: of the rows; a class gets share * rows / classes of them, the most probable first.
        confidence: the least probability.
    """
    rows, classes = beliefs.shape
    quota = int(share * rows / classes)
    likeliest, probability = beliefs.argmax(axis=1), beliefs.max(axis=1)
    order = np.argsort(-probability, kind="stable")
    taken: list[int] = []
    for place in range(classes):
        of_class = [int(row) for row in order if likeliest[row] == place and probability[row] >= confidence]
        taken += of_class[:quota]
    return sorted(taken)
