"""The mean of several fine-tuned models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from thawbench.contracts import Adapt, Budget, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.members import Tensors, at_the_start, finetuned, judged_by_dev

STRIDE = 1000
"""Between the order seeds of two members, so that soups of neighbouring seeds have no member in common."""


@dataclass(frozen=True)
class SoupConfig(FinetuneConfig):
    """As `finetune`'s for each member.

    Attributes:
        members: how many are fitted.
        choose: `greedy` takes them by falling dev score, each only if the mean's dev score does not fall by it;
            `uniform`, or a set without dev rows, takes all.
    """

    members: int = 5
    choose: Literal["greedy", "uniform"] = "greedy"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members < 1:
            raise ValueError("members must be at least 1")


@strategies.register("soup")
class Soup(Finetune):
    """The mean of the weights of k runs of `finetune`, greedy (algorithm 1) or uniform; it costs one model to use.

    Wortsman et al., "Model soups", ICML 2022. The members begin with the same head, as the paper's do, and differ in
    the order seed: in batches and dropout.
    """

    Config: ClassVar[type[Any]] = SoupConfig
    config: SoupConfig
    asks_for: ClassVar[tuple[str, ...]] = ("finetune",)
    tuned_as = ""  # left open, so that the fit that it asks for is that of `finetune` itself

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Tune the members, or take what was tuned before, and choose among them.

        Raises:
            NotApplicableError: there are no labels, or no encoder to tune.
        """
        orders = [seeds.order + STRIDE * place for place in range(self.config.members)]
        states = {order: finetuned(self.config, adapt, replace(seeds, order=order)).state for order in orders}
        home: Tensors = {}
        for state in states.values():
            home = {**home, **at_the_start(start, state.tensors)}

        def mixed(chosen: Sequence[int]) -> State:
            tensors = _mean([{**home, **states[order].tensors} for order in chosen])
            return State(tensors, {**states[orders[0]].values, "orders": list(chosen)})

        chosen = orders
        if self.config.choose == "greedy" and data.dev.labelled:
            ranked = sorted(orders, key=lambda order: -(states[order].cost.dev_score or 0.0))
            chosen = ranked[:1]
            score = judged_by_dev(self, start, mixed(chosen), data) or 0.0
            for order in ranked[1:]:
                other = judged_by_dev(self, start, mixed([*chosen, order]), data) or 0.0
                if other >= score:
                    chosen, score = [*chosen, order], other
        soup, cost = mixed(chosen), states[orders[0]].cost
        return Learned(
            soup.tensors,
            soup.values,
            dev_score=judged_by_dev(self, start, soup, data),
            trainable_parameters=cost.trainable_parameters,
            total_parameters=cost.total_parameters,
        )


def _mean(members: Sequence[Tensors]) -> Tensors:
    """In float64, so that the mean of equals is what they are."""
    return {
        name: np.mean([member[name] for member in members], axis=0, dtype=np.float64).astype(array.dtype)
        for name, array in members[0].items()
    }
