"""Every weight moves: the encoder and a head on its vectors are trained together on labels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

from torch import Tensor

from thawbench.contracts import Adapt, Adapted, Budget, Provides, ScoreTarget, Seeds, Signal, State, Target, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned, encoder_of
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.classification import Answers, Classification, head_block, head_loss
from thawbench.strategies.classifier import Classifier, ClassifierHead, HeadKind, Items, outputs_of
from thawbench.strategies.optimizer import Block
from thawbench.strategies.pair_features import are_pairs
from thawbench.strategies.randomness import seeded
from thawbench.strategies.readout import LinearReadout, learn_readout, with_head
from thawbench.strategies.together import Together, head_from, head_to_json, head_to_tensors
from thawbench.strategies.trainable import Body, apart
from thawbench.strategies.training import Objective, Schedule, train

HEAD = "head."
"""What the names of a head's tensors begin with in the state that is left."""

_OTHER = "other_head."


@dataclass(frozen=True)
class Recipe:
    """How to tune, as published or as found on dev.

    Attributes:
        least_steps: of a fit; a small set is run through more often, up to this.
        head_lr: of the head; None is that of the encoder.
    """

    lr: float
    epochs: int
    bias_correction: bool = True
    least_steps: int = 0
    head_lr: float | None = None


RECIPES = {
    "default": Recipe(lr=1e-4, epochs=10, least_steps=60),
    "mosbach": Recipe(lr=2e-5, epochs=20),  # Mosbach et al., ICLR 2021, section 6
    "devlin": Recipe(lr=2e-5, epochs=3, bias_correction=False),  # the unstable one, kept to show it
}


@dataclass(frozen=True)
class FinetuneConfig:
    """What `recipe` says, unless `lr` or `epochs` is given.

    Attributes:
        recipe: a published one fills `lr` and `epochs`; the default leaves them open.
        lr: of the encoder and of the head; None takes what `thawbench tune` chose for the backbone's size, else 1e-4.
        pairs: `joint` reads a pair as one text, [CLS] a [SEP] b [SEP]; `siamese` reads its texts one by one, and the
            head sees [u; v; |u-v|; u*v].
    """

    recipe: Literal["default", "mosbach", "devlin"] = "default"
    lr: float | None = None
    epochs: int | None = None
    pairs: Literal["joint", "siamese"] = "joint"
    head: HeadKind = "linear"
    batch_size: int = 16
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.recipe != "default":  # what was published is not for a search on dev to fill
            for name in ("lr", "epochs"):
                if getattr(self, name) is None:
                    object.__setattr__(self, name, getattr(RECIPES[self.recipe], name))
        if self.batch_size < 1 or (self.epochs or 0) < 0:
            raise ValueError("batch_size must be at least 1 and epochs at least 0")
        if not 0 <= self.dropout < 1 or self.clip <= 0 or min(self.lr or 0, self.weight_decay) < 0:
            raise ValueError("dropout must be in [0, 1), clip positive, lr and weight_decay not negative")


@strategies.register("finetune")
class Finetune(BaseStrategy):
    """Train encoder and head on labels; a head that the start has for this train set is trained on from where it is.

    What tunes more gently derives from this and says only what is other: `recipes`, `blocks`, `loss`, `objective`,
    `tree`, `in_training`.
    Until it has a search of its own it takes what was chosen for this one, so that the two differ in nothing else.

    Attributes:
        classes_only: why scores cannot be learned from; empty if they can.
    """

    version = 2
    recipes: ClassVar[Mapping[str, Recipe]] = RECIPES
    classes_only: ClassVar[str] = ""
    Config: ClassVar[type[Any]] = FinetuneConfig
    config: FinetuneConfig
    consumes = frozenset({Signal.LABELS})
    provides = frozenset({Provides.VECTORS, Provides.CLASSES, Provides.LAYERS})
    draws = frozenset({"init", "order"})
    tuned_as = "finetune"

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep what dev liked best.

        Raises:
            NotApplicableError: there are no labels or none of the kind that is needed, or no encoder to tune.
        """
        before = Body.of(start.source)
        place = place_of_new_head(start, data)
        own = self.new_head(data, before, seeds, place)
        body = before.copy(self.config.dropout)
        warm = self.warm_start(start, data, own.module)
        earlier = [len(each.labelled) for each in data.earlier]
        schedule = replace(self.schedule(len(data.labelled), budget, earlier), start_counts=warm)
        recipe = self.recipes[self.config.recipe]
        scale = 1.0 if recipe.head_lr is None or self.config.lr is not None else recipe.head_lr / recipe.lr
        with self.in_training(body, before, seeds, place) as network:
            blocks = [*self.blocks(network), head_block(own.module, scale)]
            lesson = self.lesson(network, own, data, seeds, blocks)
            objective = self.objective(lesson, network, start, data, seeds)
            trained = train(objective, schedule, seed=seeds.order, info=body.encoder.info)
        tensors, values = {**body.changed(before), **head_to_tensors(own, HEAD)}, head_to_json(data.name, own)
        if isinstance(objective, Together) and objective.heads:
            values["others"] = [head_to_json(name, other) for name, other in objective.heads.items()]
            for number, other in enumerate(objective.heads.values()):
                tensors |= head_to_tensors(other, f"{_OTHER}{number}.")
        fitted = sum(weight.numel() for weight in own.module.parameters()) if warm else 0  # as a read-out, by no step
        return Learned(
            tensors,
            values,
            trained.trace,
            trained.dev_score,
            trained.trainable_parameters if schedule.steps else fitted,
            total_parameters=sum(weight.numel() for weight in objective.module.parameters()),
        )

    def lesson(
        self, body: Body, head: ClassifierHead, data: TrainSet, seeds: Seeds, blocks: Sequence[Block] | None = None
    ) -> Classification:
        """A head's rows, as this strategy learns them.

        Args:
            blocks: what is trained; None trains everything at one rate.
        """
        return Classification(
            body,
            head.module,
            data,
            head.target,
            batch_size=self.config.batch_size,
            seed=seeds.order,
            blocks=blocks,
            loss=self.loss,
        )

    def new_head(self, data: TrainSet, body: Body, seeds: Seeds, place: int = 0) -> ClassifierHead:
        """A head for a set, its weights drawn anew.

        Args:
            place: one of its own for each head of a fit and of the fits before, or class i of two sets begins as one.

        Raises:
            NotApplicableError: there are no labels or none of the kind that is needed.
        """
        if not data.labelled or data.target is None:
            raise NotApplicableError(f"{data.name} has no labelled rows to tune on")
        if self.classes_only and isinstance(data.target, ScoreTarget):
            raise NotApplicableError(f"{data.name} has scores and no classes, {self.classes_only}")
        items: Items = self.config.pairs if are_pairs([row.input for row in data.labelled]) else "texts"
        tree = self.tree(data)
        outputs = outputs_of(data.target, tree)
        with seeded(seeds.init, "head", place):
            head = Classifier(self.config.head, items, body.dim, outputs, self.config.dropout, tree)
        return ClassifierHead(data.target, head.to(body.encoder.info.device))

    def tree(self, data: TrainSet) -> ClassTree | None:
        """What a head's outputs stand for; None where there is one for each class, or a score."""
        return None

    @contextmanager
    def in_training(self, body: Body, start: Body, seeds: Seeds, place: int) -> Iterator[Body]:
        """The body as it is trained, while it is. What a strategy puts into it is taken out again at the end.

        Args:
            body: a copy of `start`, for one to change.
            place: of the set in a chain, from 0, so that what is drawn for one is not drawn for the next again.
        """
        yield body

    def blocks(self, body: Body) -> list[Block]:
        """Which of the body's weights are trained, and at which rate; all at one by default."""
        return body.blocks()

    def loss(self, head: Classifier, target: Target, answers: Answers) -> Tensor:
        """What is lowered: by default the head's own loss."""
        return head_loss(head, target, answers)

    def objective(
        self, lesson: Classification, body: Body, start: AdaptedEncoder, data: TrainSet, seeds: Seeds
    ) -> Objective[Any]:
        """What is trained: by default the lesson alone, which is the head's loss on the set's rows.

        Args:
            body: as it is trained.
        """
        return lesson

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """Let the head begin where the start's head for this train set is, if it is of a kind that can.

        Returns:
            Whether it did. Only then may the start be the best on dev: a random head is right by chance alone.
        """
        known = start.head_models.get(data.name)
        if known is None or known.target != data.target:
            return False
        if isinstance(known, LinearReadout):
            # that one was fitted on dev's rows too, which can judge neither it nor what is trained from it
            return head.items != "joint" and head.take_readout(learn_readout(start, data, refit=False))
        return isinstance(known, ClassifierHead) and head.take_weights(known.module)

    def schedule(self, rows: int, budget: Budget, earlier: Sequence[int] = ()) -> Schedule:
        """Length and rates for so many train rows: by the budget, else the configuration, else the recipe.

        Args:
            earlier: the rows of each set that is learned along; each is cut into batches, and given the least number
                of steps, as if it were alone.
        """
        config, recipe = self.config, self.recipes[self.config.recipe]
        per_epoch = sum(-(-each // config.batch_size) for each in (rows, *earlier))
        asked = config.epochs if budget.epochs is None else budget.epochs
        least = recipe.least_steps * (1 + len(earlier))
        steps = max(recipe.epochs * per_epoch, least) if asked is None else asked * per_epoch
        return Schedule(
            lr=recipe.lr if config.lr is None else config.lr,
            steps=steps if budget.steps is None else budget.steps,
            weight_decay=config.weight_decay,
            clip=config.clip,
            bias_correction=recipe.bias_correction,
        )

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with the tuned weights, and all heads that were trained."""
        encoder = encoder_of(start)
        of_head, rest = apart(state.tensors, HEAD)
        of_others, of_body = apart(rest, _OTHER)
        body = Body.of(encoder.source).with_weights(of_body)
        source = body.source() if of_body else encoder.source
        adapted = replace(encoder, source=source, state=state, trace=())
        for place, values in enumerate(cast(Any, state.values.get("others", []))):
            adapted = with_head(adapted, *head_from(values, apart(of_others, f"{place}.")[0], body))
        return with_head(adapted, *head_from(state.values, of_head, body))


def place_of_new_head(start: AdaptedEncoder, data: TrainSet) -> int:
    """Behind the heads that the start has for other sets."""
    return len(start.head_models.keys() - {data.name})
