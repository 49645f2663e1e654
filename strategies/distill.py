"""A student learns a teacher's soft answers, on labelled rows and on the unlabelled pool."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Labelled,
    ScoreTarget,
    Seeds,
    State,
    Target,
    TrainSet,
)
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned, encoder_of
from thawbench.strategies.classification import Answers
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.members import finetuned, tuned_alike
from thawbench.strategies.pair_features import are_pairs
from thawbench.strategies.pool_sample import pool_sample
from thawbench.strategies.trainable import Body


@dataclass(frozen=True)
class DistillConfig(FinetuneConfig):
    """As `finetune`'s, for teacher and student.

    Attributes:
        temperature: divides the logits of both before their softmax.
        soft: the soft targets' share of a labelled row's loss; the rest goes to its label.
        pool: how many unlabelled texts the student learns from beside the rows, where rows are single texts.
        drop: how many top layers the student does without.
    """

    temperature: float = 2.0
    soft: float = 0.5
    pool: int = 500
    drop: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature <= 0 or not 0 <= self.soft <= 1 or min(self.pool, self.drop) < 0:
            raise ValueError("temperature must be positive, soft in [0, 1], pool and drop not negative")


@strategies.register("distill")
class Distill(Finetune):
    """A student from the start, whole or with fewer layers, learns what `finetune` answers, beside the labels.

    Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", 2015. The loss of a labelled row is
    (1 - soft) CE + soft T² KL(teacher_T || student_T), that of a text of the pool the second part alone; T² keeps the
    parts' gradients in proportion (section 2). A score is taught by its squared error.
    """

    Config: ClassVar[type[Any]] = DistillConfig
    config: DistillConfig
    asks_for: ClassVar[tuple[str, ...]] = ("finetune",)
    tuned_as = ""  # left open, so that the fit that it asks for is that of `finetune` itself

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Ask the teacher, and tune the student.

        Raises:
            NotApplicableError: no labels, or no encoder to tune.
            UserError: fewer layers than `drop`.
        """
        config, target = self.config, data.target
        if not data.labelled or target is None:
            raise NotApplicableError(f"{data.name} has no labelled rows for a teacher to learn from")
        inputs = [row.input for row in data.labelled]
        texts: list[Input] = []
        if config.soft and not are_pairs(inputs):
            texts.extend(pool_sample(data, config.pool, seeds.order))
        teacher = finetuned(config, adapt, seeds)
        answers = teacher.predict([*inputs, *texts], data.name)
        taught = zip(texts, answers[len(inputs) :], strict=True)
        more = replace(
            data, labelled=(*data.labelled, *(_as_labelled(text, answer, target) for text, answer in taught))
        )
        student = _Student(tuned_alike(config, start), answers, len(inputs))
        return student.learn(self._smaller(start), more, seeds=seeds, budget=budget, adapt=adapt)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start less the layers that the student does without, the tuned weights, and the head."""
        return super().restore(self._smaller(encoder_of(start)), state)

    def _smaller(self, start: AdaptedEncoder) -> AdaptedEncoder:
        if not self.config.drop:
            return start
        return replace(start, source=Body.of(start.source).without_top(self.config.drop).source())


class _Student(Finetune):
    """`finetune` with a teacher's answers at hand, for one fit."""

    config: DistillConfig

    def __init__(self, config: DistillConfig, answers: FloatArray, labelled: int) -> None:
        super().__init__(config)
        self._answers = torch.from_numpy(answers)
        self._labelled = labelled

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """As `Finetune`'s: from a read-out of the labelled rows, and not of the teacher's guesses."""
        return super().warm_start(start, replace(data, labelled=data.labelled[: self._labelled]), head)

    def loss(self, head: Classifier, target: Target, answers: Answers) -> Tensor:
        """The batch's mean of a row's loss."""
        soft, known = self.config.soft, torch.from_numpy(answers.rows < self._labelled)
        given = self._answers[answers.rows].to(answers.logits.device)
        total = answers.logits.new_zeros(())
        if soft:
            total = soft * soft_loss(answers.logits, given, target, self.config.temperature)
        if soft < 1 and bool(known.any()):
            hard = head.loss(answers.logits[known], answers.gold[known], target)
            total = total + (1 - soft) * hard * known.float().mean()
        return total


def soft_loss(logits: Tensor, given: Tensor, target: Target, temperature: float) -> Tensor:
    """What a student that gives `logits` pays for a teacher that gave `given`; the mean over rows.

    Args:
        logits: (rows, classes), or (rows, 1) for a score scaled to [0, 1].
        given: (rows, classes), or (rows, 1) for a score in the target's range.
    """
    if isinstance(target, ScoreTarget):
        return functional.mse_loss(logits, (given - target.low) / (target.high - target.low))
    ours, theirs = (functional.log_softmax(each / temperature, dim=1) for each in (logits, given))
    return temperature**2 * functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def _as_labelled(text: Input, answer: FloatArray, target: Target) -> Labelled:
    """A text of the pool under what the teacher says of it, which counts in no loss: a row must have a label."""
    if isinstance(target, ClassTarget):
        return Labelled(text, target.classes[int(np.argmax(answer))])
    return Labelled(text, score=float(answer[0]))
