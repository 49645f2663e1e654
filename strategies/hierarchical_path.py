"""A head for each level of a tree of classes: [1, 1] and [1, 2] share what is learned of level one."""

from typing import cast

from thawbench.contracts import ClassTarget, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.finetune import Finetune


@strategies.register("hierarchical_path")
class HierarchicalPath(Finetune):
    """`finetune` by the sum over levels of the cross-entropy of a row's node on that level.

    The path encoding of the diary that this benchmark began from. In the words of Silla and Freitas, "A survey of
    hierarchical classification across different application domains", Data Mining and Knowledge Discovery 22, 2011, a
    local classifier per level, here on one encoder. A class's logit is the sum of its nodes' log-probabilities over the
    levels, so that no answer contradicts itself: level one may settle what the lowest level leaves open. Where classes
    stand in no groups there is one level, and this is `finetune` to the bit.
    """

    version = 1
    classes_only = "and only classes stand in a tree"

    def tree(self, data: TrainSet) -> ClassTree:
        """A softmax for each level."""
        return ClassTree.of("path", cast(ClassTarget, data.target), data.labelled)
