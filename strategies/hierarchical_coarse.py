"""Groups instead of classes: what is learned of the top level of a tree by a model that is shown nothing below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from thawbench.contracts import (
    Adapt,
    Adapted,
    Budget,
    ClassTarget,
    FloatArray,
    Input,
    Json,
    Labelled,
    Rows,
    Seeds,
    State,
    TrainSet,
)
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, Head
from thawbench.strategies.base import Learned
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.finetune import Finetune
from thawbench.strategies.readout import with_head


@strategies.register("hierarchical_coarse")
class HierarchicalCoarse(Finetune):
    """`finetune` on the rows with their groups for classes; dev is judged by groups too.

    To be read by its coarse accuracy: whether who learned the classes knows the groups better. Classes it cannot tell
    apart, and does not pretend to: each has its group's logit, so that the answer is the first class of the best group,
    and its accuracy is what knowing the groups alone is worth. Where classes stand in no groups this is `finetune` to
    the bit.
    """

    version = 1
    classes_only = "and only classes stand in groups"

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end, and keep what dev liked best.

        Raises:
            NotApplicableError: see `Finetune.learn`.
        """
        if not isinstance(data.target, ClassTarget):
            return super().learn(start, data, seeds=seeds, budget=budget, adapt=adapt)
        paths = ClassTree.of("path", data.target, data.labelled).paths
        group_of = {path[-1]: path[0] for path in paths}
        coarse = replace(
            data,
            target=ClassTarget(tuple(dict.fromkeys(group_of.values()))),
            labelled=_by_group(data.labelled, group_of),
            dev=Rows(_by_group(data.dev.labelled, group_of)),
        )
        learned = super().learn(start, coarse, seeds=seeds, budget=budget, adapt=adapt)
        groups: list[Json] = [[name, group] for name, group in group_of.items()]
        return replace(learned, values={**learned.values, "groups": groups})

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """As `Finetune`'s: from the head that knew the groups before."""
        known = start.head_models.get(data.name)
        if isinstance(known, GroupHead):
            start = with_head(start, data.name, known.head)
        return super().warm_start(start, data, head)

    def restore(self, start: Adapted, state: State) -> AdaptedEncoder:
        """The start with the tuned weights, and the head."""
        adapted = super().restore(start, state)
        name = str(state.values["set"])
        pairs = [(str(each), str(group)) for each, group in cast("list[list[Json]]", state.values["groups"])]
        head = adapted.head_models[name]
        columns = cast(ClassTarget, head.target).classes
        spread = GroupHead(
            ClassTarget(tuple(each for each, _ in pairs)), head, tuple(columns.index(group) for _, group in pairs)
        )
        return with_head(adapted, name, spread)


@dataclass(frozen=True)
class GroupHead:
    """A head that knows groups, asked for classes: each has its group's logit.

    Attributes:
        columns: for each class the place of its group.
    """

    target: ClassTarget
    head: Head
    columns: tuple[int, ...]

    def predict(self, adapted: AdaptedEncoder, inputs: Sequence[Input]) -> FloatArray:
        """(inputs, classes) logits."""
        logits: FloatArray = self.head.predict(adapted, inputs)[:, list(self.columns)]
        return logits


def _by_group(rows: Sequence[Labelled], group_of: Mapping[str, str]) -> tuple[Labelled, ...]:
    return tuple(replace(row, label=group_of[str(row.label)], path=()) for row in rows)
