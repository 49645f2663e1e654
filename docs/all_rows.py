"""Fine-tuning on all n rows, dev's included, to the end: no row is kept back, and nothing is chosen."""

from dataclasses import replace

from thawbench.contracts import Adapt, Budget, Rows, Seeds, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import Learned
from thawbench.strategies.finetune import Finetune


@strategies.register("all_rows")
class AllRows(Finetune):
    """`finetune` of all rows for as long as its schedule lasts; its last weights are kept."""

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Train to the end."""
        every = replace(data, labelled=(*data.labelled, *data.dev.labelled), dev=Rows())
        return super().learn(start, every, seeds=seeds, budget=budget, adapt=adapt)
