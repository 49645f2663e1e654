"""Learning without forgetting: on the new rows the old heads shall go on saying what they said before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from thawbench.contracts import FloatArray, ScoreTarget, Seeds, Target, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import Classifier, ClassifierHead
from thawbench.strategies.finetune import Finetune
from thawbench.strategies.lp_ft import LpFt, LpFtConfig
from thawbench.strategies.together import Together, heads_of_others
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Objective


@dataclass(frozen=True)
class LwfConfig(LpFtConfig):
    """As `finetune`'s; the head is linear, as it may begin as the read-out.

    Attributes:
        weight: lambda, that of the old heads' loss; 0 leaves them alone.
        temperature: divides the old heads' logits, then and now, before their softmax.
        warmup: whether the new head is fitted first, while all else stands still.
    """

    weight: float = 1.0
    temperature: float = 2.0
    warmup: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight < 0 or self.temperature <= 0:
            raise ValueError("weight must not be negative and temperature must be positive")


@strategies.register("lwf")
class Lwf(LpFt):
    """`finetune` by L_new + lambda * the sum of L_old over all heads of earlier sets, of which no row is needed.

    Li and Hoiem, "Learning without Forgetting", ECCV 2016, eqs. 1 to 3 and figure 3. L_old is the cross-entropy between
    what an old head said of a row before this step and what it says now, at the temperature, and without its square; of
    a score, the squared error. As in the paper the old heads are trained along, and the new one is warmed up first,
    "until convergence": that is the standard read-out. A first set is `finetune`'s to the bit; so are later ones
    with weight=0 and warmup=false, and with weight=0 alone they are `lp_ft`'s.
    """

    Config: ClassVar[type[Any]] = LwfConfig
    config: LwfConfig
    draws = frozenset({"init", "order"})

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """Begin as the start's own head, else as the read-out if there is something to forget."""
        known = Finetune.warm_start(self, start, data, head)
        if known or not self.config.warmup or not heads_of_others(start, data.name):
            return known
        return super().warm_start(start, data, head)

    def objective(
        self, lesson: Classification, body: Body, start: AdaptedEncoder, data: TrainSet, seeds: Seeds
    ) -> Objective[Any]:
        """The lesson, and the old heads beside it.

        Raises:
            NotApplicableError: an old head cannot read the new rows.
        """
        heads = heads_of_others(start, data.name, self.config.dropout) if self.config.weight else {}
        if not heads:
            return lesson
        for name, head in heads.items():
            if (head.module.items == "siamese") != (lesson.items == "siamese"):
                raise NotApplicableError(
                    f"the head of {name} reads {head.module.items} and cannot be asked about {data.name}, whose rows "
                    f"are read as {lesson.items}; pairs=joint gives each row one vector"
                )
        vectors = lesson.read_by(Body.of(start.source))
        said = {name: head.logits(*vectors) for name, head in heads.items()}
        return _WithoutForgetting(lesson, heads, said, self.config)


class _WithoutForgetting(Together):
    """A lesson with old heads that are held to what they said.

    Args:
        said: of all train rows, by each head: (rows, classes) logits, or (rows, 1) scores in the target's range.
    """

    def __init__(
        self,
        lesson: Classification,
        heads: Mapping[str, ClassifierHead],
        said: Mapping[str, FloatArray],
        config: LwfConfig,
    ) -> None:
        super().__init__(lesson, heads)
        self._config = config
        self._said = {name: torch.from_numpy(logits) for name, logits in said.items()}

    def loss(self, batch: NDArray[Any], step: int) -> Tensor:
        """L_new + lambda * the sum of L_old."""
        answers = self.lesson.answers(batch)
        total = self.lesson.loss_of(answers)
        for name, head in self.heads.items():
            now = head.module.read(head.module(*torch.split(answers.vectors, len(batch))))
            then = self._said[name][batch].to(now.device)
            total = total + self._config.weight * old_loss(now, then, head.target, self._config.temperature)
        return total


def old_loss(now: Tensor, then: Tensor, target: Target, temperature: float) -> Tensor:
    """What an old head pays for saying something else; the mean over rows.

    Args:
        now: (rows, classes), or (rows, 1) for a score scaled to [0, 1].
        then: (rows, classes), or (rows, 1) for a score in the target's range.
    """
    if isinstance(target, ScoreTarget):
        return functional.mse_loss(now, (then - target.low) / (target.high - target.low))
    return functional.cross_entropy(now / temperature, functional.softmax(then / temperature, dim=1))
