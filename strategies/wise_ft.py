"""Part of the way to the tuned weights, on the straight line from the start."""

from dataclasses import dataclass
from typing import ClassVar

from thawbench.contracts import Adapt, Budget, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.finetune import HEAD, Finetune
from thawbench.strategies.lp_ft import LpFt, LpFtConfig
from thawbench.strategies.members import Tensors, at_the_start, finetuned, judged_by_dev

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""What dev chooses from."""

_UNKNOWING = 0.5
"""The paper's choice where there is nothing to choose by."""


@dataclass(frozen=True)
class WiseFtConfig(LpFtConfig):
    """As `finetune`'s; the head is linear, as the read-out is.

    Attributes:
        alpha: how far to go, from 0, the start under a head of its own, to 1, `finetune`; None leaves it to dev.
    """

    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be in [0, 1]")


@strategies.register("wise_ft")
class WiseFt(LpFt):
    """`finetune`, then every weight is (1 - alpha) w_start + alpha w_tuned, those of the head included; alpha by dev.

    Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022, section 3. The paper's start can classify by
    itself. Ours gets the head that it has for this train set, else the standard read-out on its vectors. Of alphas that
    dev calls equal the one nearest to 0.5 is taken, and of two the greater: dev has chosen the moment at which tuning
    stopped, and flatters alpha = 1.
    """

    Config = WiseFtConfig
    config: WiseFtConfig
    asks_for: ClassVar[tuple[str, ...]] = ("finetune",)
    tuned_as = ""  # left open, so that the fit that it asks for is that of `finetune` itself
    draws = frozenset({"init", "order"})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Tune, or take what was tuned before, and choose the place on the line.

        Raises:
            NotApplicableError: there are no labels, or no encoder to tune.
        """
        near = super().learn(start, data, seeds=seeds, budget=Budget(steps=0), adapt=adapt)  # a head, and nothing else
        far = finetuned(self.config, adapt, seeds).state
        home = {**near.tensors, **at_the_start(start, far.tensors)}
        alphas = ALPHAS if data.dev.labelled else (_UNKNOWING,)
        if self.config.alpha is not None:
            alphas = (self.config.alpha,)
        found = []
        for alpha in alphas:
            state = State(_between(home, far.tensors, alpha), {**far.values, "alpha": alpha})
            found.append((judged_by_dev(self, start, state, data), alpha, state))
        score, _, state = max(found, key=lambda each: (each[0] or 0.0, -abs(each[1] - _UNKNOWING), each[1]))
        return Learned(
            state.tensors,
            state.values,
            dev_score=score,
            trainable_parameters=far.cost.trainable_parameters,
            total_parameters=far.cost.total_parameters,
        )

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """Begin as the start's own head, else as its read-out."""
        return Finetune.warm_start(self, start, data, head) or super().warm_start(start, data, head)


def _between(home: Tensors, far: Tensors, alpha: float) -> Tensors:
    """The ends come out to the bit, and of an encoder at its start nothing is kept but the head."""
    if alpha == 0:
        return {name: array for name, array in home.items() if name.startswith(HEAD)}
    return {name: (1 - alpha) * home[name] + alpha * array for name, array in far.items()}
