"""Elastic weight consolidation: each weight is held where earlier sets left it, by what it means to their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from thawbench.contracts import Adapt, Adapted, Budget, Rows, ScoreTarget, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, Memory
from thawbench.strategies.base import Learned
from thawbench.strategies.classification import Answers, Classification
from thawbench.strategies.classifier import ClassifierHead
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.optimizer import Block, Pull
from thawbench.strategies.precision import computing_in
from thawbench.strategies.together import Together
from thawbench.strategies.trainable import Body, apart
from thawbench.strategies.training import Objective

_FISHER = "fisher."


@dataclass(frozen=True)
class EwcConfig(FinetuneConfig):
    """As `finetune`'s.

    Attributes:
        weight: lambda, that of the penalty; 0 is `finetune`. At 1, what earlier sets lose by it counts as what the new
            one gains, as far as the penalty can tell: losses and F are means over rows, so that eq. 3 is Bayes' rule
            there for sets of as many rows. That is little beside AdamW's steps. On an encoder of 2 layers (100 rows a
            set, 60 steps at 1e-3, a median F of 2e-5) the second set moved its layers as far at 1 as at 0; at 400 by
            16 % less, at 1e4 by 66 %, at 1e6 by 96 %.
        fisher_rows: on how many train rows of a set its Fisher information is taken; each costs as many backward
            passes as there are classes.
    """

    weight: float = 1.0
    fisher_rows: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight <= 1e30 or self.fisher_rows < 1:
            raise ValueError("weight must be in [0, 1e30] and fisher_rows at least 1")


@dataclass(frozen=True)
class Anchor(Memory):
    """Where a set has left the weights of the body, and the diagonal of its Fisher information there; by name."""

    weights: Mapping[str, Tensor]
    fisher: Mapping[str, Tensor]


@strategies.register("ewc")
class Ewc(Finetune):
    """`finetune` by L(w) + the sum over earlier sets A and weights i of lambda / 2 * F_A,i (w_i - w_A,i)^2.

    Kirkpatrick et al., "Overcoming catastrophic forgetting in neural networks", PNAS 2017, eq. 3, one penalty a set. F
    is the diagonal of the Fisher information at the end of A, over labels as the model itself predicts them, and not
    as they are (that would be the empirical Fisher). Over classes the expectation is exact, on the first `fisher_rows`
    rows, which the sample seed has put there: better few rows so than many with one label drawn for each, as van de
    Ven, "On the Computation of the Fisher Information in Continual Learning", ICLR Blogposts 2025, finds. The penalty
    is on the encoder alone, as each set has its own head, and is a proximal step (`optimizer`), so that no lambda is
    too large. Weights on which no answer of A depends, such as those of words that A lacks, are free.
    """

    Config: ClassVar[type[EwcConfig]] = EwcConfig
    config: EwcConfig

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Tune, and see what each weight means to the answers."""
        learned = super().learn(start, data, seeds=seeds, budget=budget, adapt=adapt)
        if not self.config.weight:
            return learned
        tuned = super().restore(start, State(learned.tensors, learned.values))
        head = tuned.head_models[data.name]
        assert isinstance(head, ClassifierHead)
        fisher = fisher_diagonal(Body.of(tuned.source), head, data, self.config.fisher_rows)
        named = {_FISHER + name: values.numpy(force=True) for name, values in fisher.items()}
        return replace(learned, tensors={**learned.tensors, **named})

    def objective(
        self, lesson: Classification, body: Body, start: AdaptedEncoder, data: TrainSet, seeds: Seeds
    ) -> Objective[Any]:
        """The lesson, with all weights of the body pulled to where earlier sets have left them."""
        anchors = start.remembered(Anchor, data.name)
        return _Anchored(lesson, anchors, self.config.weight) if anchors and self.config.weight else lesson

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """As `finetune`, and the Fisher information."""
        fisher, tensors = apart(state.tensors, _FISHER)
        tuned = replace(super().restore(start, replace(state, tensors=tensors)), state=state)
        if not fisher:
            return tuned
        body = Body.of(tuned.source)
        weights = {name: weight.detach() for name, weight in _named(body.blocks()).items()}
        device = body.encoder.info.device
        named = {name: torch.from_numpy(values).to(device) for name, values in fisher.items()}
        return tuned.remembering(Anchor(str(state.values["set"]), weights, named))


class _Anchored(Together):
    """A lesson whose blocks are pulled to anchors.

    Args:
        weight: lambda.
    """

    def __init__(self, lesson: Classification, anchors: Sequence[Anchor], weight: float) -> None:
        super().__init__(lesson, {})
        self._anchors, self._weight = anchors, weight

    def blocks(self) -> Sequence[Block]:
        """The lesson's, with pulls."""
        return [replace(block, pulls=self._pulls(block)) for block in self.lesson.blocks()]

    def _pulls(self, block: Block) -> dict[str, Pull]:
        found = {}
        for name, weight in block.parameters.items():
            full = f"{block.name}/{name}"
            known = [(each.weights[full], each.fisher[full]) for each in self._anchors if full in each.fisher]
            if known and all(before.shape == weight.shape for before, _ in known):
                found[name] = pull_to(known, self._weight)
        return found


def pull_to(known: Sequence[tuple[Tensor, Tensor]], weight: float) -> Pull:
    """The sum of quadratic penalties as one.

    Args:
        known: where earlier sets have left a weight, and their Fisher information.
        weight: lambda.
    """
    centre, total = known[0]
    for before, fisher in known[1:]:
        total = total + fisher
        share = torch.where(total > 0, fisher / total, 0.0)
        centre = torch.lerp(centre, before, share)  # to the bit where both are the same, or one counts for nothing
    return Pull(centre, weight * total)


def fisher_diagonal(body: Body, head: ClassifierHead, data: TrainSet, rows: int) -> dict[str, Tensor]:
    """The mean over rows x of E[(d log p(y|x) / d w_i)^2], where y is distributed as the head predicts it.

    A score counts as a Gaussian's mean whose negative logarithm is the squared error, so that its variance is 1/2.
    Dropout is off.

    Args:
        rows: how many of the train rows, from the first on.

    Returns:
        By weight of the body, in its shape.
    """
    body = body.copy()
    body.module(head=head.module).eval()
    weights = _named(body.blocks())
    for weight in weights.values():
        weight.requires_grad_(True)
    data = replace(data, labelled=data.labelled[:rows], dev=Rows())
    lesson = Classification(body, head.module, data, head.target, batch_size=1, seed=0)
    squares = [torch.zeros_like(weight) for weight in weights.values()]
    info = body.encoder.info
    for row in range(lesson.rows):
        with computing_in(info.precision, info.device):
            answers = lesson.answers(np.array([row]))
        terms = _terms(answers, isinstance(head.target, ScoreTarget))
        for place, (probability, term) in enumerate(terms):
            found = torch.autograd.grad(
                term, list(weights.values()), retain_graph=place + 1 < len(terms), allow_unused=True
            )
            for square, gradient in zip(squares, found, strict=True):
                if gradient is not None:
                    square.addcmul_(gradient, gradient, value=probability / lesson.rows)
    return dict(zip(weights, squares, strict=True))


def _terms(answers: Answers, score: bool) -> list[tuple[float, Tensor]]:
    """What is to be differentiated for one row, each with how often its square counts."""
    if score:  # E[(2 (y - s) ds/dw)^2] is 2 (ds/dw)^2 where y - s has variance 1/2
        return [(2.0, answers.logits[0, 0])]
    surprise = torch.log_softmax(answers.logits[0], dim=0)
    return list(zip(surprise.exp().tolist(), surprise.unbind(), strict=True))


def _named(blocks: Sequence[Block]) -> dict[str, nn.Parameter]:
    return {f"{block.name}/{name}": weight for block in blocks for name, weight in block.parameters.items()}
