"""Reading on: the encoder is trained as a masked language model on the unlabelled pool."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from thawbench.contracts import Adapt, Adapted, Budget, Provides, Seeds, Signal, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of
from thawbench.strategies.masking import RATE
from thawbench.strategies.mlm_head import head_from, head_of
from thawbench.strategies.mlm_objective import MaskedLanguageModel
from thawbench.strategies.trainable import Body, apart
from thawbench.strategies.training import Schedule, train

_HEAD = "mlm_head."


@dataclass(frozen=True)
class MlmConfig:
    """How to read on.

    Attributes:
        lr: None takes what `thawbench tune` chose for the backbone's size, else 1e-4.
        steps: updates; few, so that it can run everywhere. A budget overrides them.
        rate: the share of a text's words to guess.
    """

    lr: float | None = None
    steps: int = 200
    batch_size: int = 32
    rate: float = RATE
    weight_decay: float = 0.01
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.steps < 0 or not 0 < self.rate <= 1:
            raise ValueError("batch_size must be at least 1, steps at least 0, and rate in (0, 1]")
        if self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0:
            raise ValueError("clip must be positive, lr and weight_decay not negative")


@strategies.register("mlm")
class Mlm(BaseStrategy):
    """Devlin et al.'s masked language model, continued on the pool; a backbone without such a head gets a tied one.

    `init` matters only for that new head.
    """

    version = 2
    Config: ClassVar[type[Any]] = MlmConfig
    config: MlmConfig
    consumes = frozenset({Signal.TEXTS})
    provides = frozenset({Provides.VECTORS, Provides.LAYERS})
    draws = frozenset({"init", "order"})
    lr: ClassVar[float] = 1e-4

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end of the schedule.

        Raises:
            NotApplicableError: no texts, no encoder to tune, or one whose tokenizer has no mask.
        """
        if not data.texts:
            raise NotApplicableError(f"{data.name} has no unlabelled texts to read")
        config = self.config
        before = Body.of(start.source)
        body = before.copy()
        head = head_of(start, body.encoder, seeds.init)
        objective = MaskedLanguageModel(
            body.encoder, head, data.texts, batch_size=config.batch_size, seed=seeds.order, rate=config.rate
        )
        steps = config.steps if budget.steps is None else budget.steps
        if budget.steps is None and budget.epochs is not None:
            steps = budget.epochs * len(objective.batches(0))
        rate = self.lr if config.lr is None else config.lr
        schedule = Schedule(rate, steps, weight_decay=config.weight_decay, clip=config.clip)
        trained = train(objective, schedule, seed=seeds.order, info=body.encoder.info)
        return Learned(
            {**body.changed(before), **{_HEAD + name: w.numpy(force=True) for name, w in head.state_dict().items()}},
            trace=trained.trace,
            trainable_parameters=trained.trainable_parameters,
            total_parameters=sum(weight.numel() for weight in objective.module.parameters()),
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with the tuned weights, and the head for whoever reads on from here."""
        encoder = encoder_of(start)
        of_head, of_body = apart(state.tensors, _HEAD)
        body = Body.of(encoder.source).with_weights(of_body)
        head = head_from(body.encoder, {name: torch.from_numpy(tensor) for name, tensor in of_head.items()})
        source = body.source() if of_body else encoder.source
        return replace(encoder, source=source, state=state, trace=(), mlm_head=head)
