"""`frozen_ebm` thawed: encoder and G are trained together on the energies of pairs, from the G that is there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from thawbench.contracts import Adapt, Adapted, Budget, Input, Seeds, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned, encoder_of
from thawbench.strategies.ebm_objective import EnergyOfPairs, Items
from thawbench.strategies.energy_classifier import EnergyClassifier
from thawbench.strategies.energy_head import EnergyHead
from thawbench.strategies.frozen_ebm import FrozenEbm, FrozenEbmConfig, below_head, dense
from thawbench.strategies.pair_features import item_features
from thawbench.strategies.trainable import Body, apart
from thawbench.strategies.training import Schedule, train

_BODY = "body."


@dataclass(frozen=True)
class EbmConfig(FrozenEbmConfig):
    """As `frozen_ebm`'s; `dim`, `depth` and `hidden` count only where no G is there yet.

    Attributes:
        lr: of the encoder; None takes what `thawbench tune` chose for the backbone's size, else 2e-5.
        head_lr: of G.
        dropout: in G and in the encoder.
    """

    epochs: int = 1
    batch_size: int = 32
    head_lr: float = 1e-3
    clip: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_lr <= 0 or self.clip <= 0:
            raise ValueError("head_lr and clip must be positive")


@strategies.register("ebm")
class Ebm(FrozenEbm):
    """Train all weights. After `frozen_ebm` it goes on from its G, which dev may like better as it was.

    The norm must be that of the G; the loss may be another.

    Attributes:
        lr: of the encoder, where the configuration leaves it open and nothing was chosen.
    """

    version = 1
    lr: ClassVar[float] = 2e-5
    Config = EbmConfig
    config: EbmConfig

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train on pairs if there are any, else on labels.

        Raises:
            NotApplicableError: no encoder to tune, no genuine pairs, no impostors for a loss that needs them, or a G
                that was trained for another norm.
        """
        config = self.config
        lesson = self.lesson(data, seeds)
        below, known = _taken_apart(start, data.name)
        if known is not None and known.shape.inputs != _width(below, lesson.items):
            known = None  # on a chain of texts and pairs the last G reads the features of the others
        if known is not None and start.similarity != self.similarity:
            raise NotApplicableError(
                f"the energy head that is there is compared by {start.similarity}, and ebm asks for {self.similarity}; "
                "let ebm follow frozen_ebm at once, both with one norm, as in frozen_ebm:norm=l2+ebm:norm=l2"
            )
        before = Body.of(below.source)
        body = before.copy(config.dropout)
        items, dev = Items.of(body, lesson.items), Items.of(body, lesson.dev)
        if known is None:
            head = self.new_head(dense(item_features(below, lesson.items, normalised=False)), seeds)
        else:
            head = known.copy(config.dropout)
        head.to(body.encoder.info.device)
        lr = self.lr if config.lr is None else config.lr
        objective = EnergyOfPairs(
            body,
            head,
            items,
            lesson.draw_epoch,
            lambda: lesson.judge(head, lambda: items.vectors(body), lambda: dev.vectors(body)),
            norm=config.norm,
            loss=config.loss,
            batch_size=config.batch_size,
            classes=lesson.classes,
            head_lr_scale=config.head_lr / lr,
        )
        epochs = config.epochs if budget.epochs is None else budget.epochs
        schedule = Schedule(
            lr,
            epochs * len(objective.batches(0)) if budget.steps is None else budget.steps,
            weight_decay=config.weight_decay,
            clip=config.clip,
            start_counts=known is not None,
        )
        trained = train(objective, schedule, seed=seeds.order, info=body.encoder.info)
        head.to("cpu")
        tensors, values = self.remembered(head, lambda: items.vectors(body), lesson, data)
        changed = {_BODY + name: array for name, array in body.changed(before).items()}
        return Learned(
            {**tensors, **changed},
            {**values, "learned_on": data.name},
            trained.trace,
            trained.dev_score,
            trained.trainable_parameters,
            total_parameters=sum(weight.numel() for weight in objective.module.parameters()),
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """G over the tuned encoder, and the classifier if it was trained on labels."""
        below, _ = _taken_apart(encoder_of(start), str(state.values["learned_on"]))
        of_body, _ = apart(state.tensors, _BODY)
        source = Body.of(below.source).with_weights(of_body).source() if of_body else below.source
        return super().restore(replace(below, source=source), state)


def _width(below: AdaptedEncoder, items: Sequence[Input]) -> int:
    return int(dense(item_features(below, items[:1], normalised=False)).shape[1])


def _taken_apart(start: AdaptedEncoder, train_set: str) -> tuple[AdaptedEncoder, EnergyHead | None]:
    """What lies below the start's G, with all of the start's heads, and G itself.

    A G of texts is on top of the start, and later steps may have tuned what is below it, and it too. Gs of pairs'
    features are with their classifiers: that of the train set, else the last, which may read other features.
    """
    known = start.head_models.get(train_set)
    if start.source is None and isinstance(known, EnergyClassifier):
        return replace(known.start, head_models=start.head_models), known.head
    return below_head(start)
