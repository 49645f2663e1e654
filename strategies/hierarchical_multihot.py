"""One yes or no for each node of a tree of classes: a row's class and all groups that it is in are to be 1."""

from typing import cast

from thawbench.contracts import ClassTarget, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.class_tree import ClassTree
from thawbench.strategies.finetune import Finetune


@strategies.register("hierarchical_multihot")
class HierarchicalMultihot(Finetune):
    """`finetune` by the sum over nodes of the binary cross-entropy of "the row is in here".

    The multi-hot encoding of the diary that this benchmark began from. In the words of Silla and Freitas, "A survey of
    hierarchical classification across different application domains", Data Mining and Knowledge Discovery 22, 2011, a
    local classifier per node, here on one encoder. A class's logit is the sum of the logits on its way down: the best
    class is the one whose whole code of ones and zeros is the likeliest. Where classes stand in no groups these are
    one-against-all classifiers.
    """

    version = 1
    classes_only = "and only classes stand in a tree"

    def tree(self, data: TrainSet) -> ClassTree:
        """A sigmoid for each node."""
        return ClassTree.of("multihot", cast(ClassTarget, data.target), data.labelled)
