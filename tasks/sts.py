"""`sts/<name>`: semantic textual similarity, by any task of MTEB of that type (STSBenchmark, STS12, ...) or `world`."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thawbench.contracts import Adapted, Json, Metric, ScoredRow, Scores
from thawbench.registry import families
from thawbench.tasks.leaks import Asked
from thawbench.tasks.mteb_bridge import AdaptedForMteb, evaluate, scalars
from thawbench.tasks.mteb_task import Listing, Loaded, MtebTask, splits, subset_of
from thawbench.tasks.world.benchmarks import WORLD, make_sts

_METRICS = tuple(
    Metric(name, lower=-1.0, upper=1.0, chance=0.0, main=name == "spearman")
    for name in ("spearman", "pearson", "cosine_spearman", "cosine_pearson")
)


@families.register("sts")
class Sts(MtebTask):
    """How well similarities of vectors order pairs as people did.

    `spearman` and `pearson` take the adaptation's own similarity; `cosine_spearman`, which MTEB publishes, and
    `cosine_pearson` take the cosine, as mteb computes it (a zero vector there has a cosine of 0.5 with any other).
    """

    family = "sts"
    mteb_type = "STS"
    listed = ("world", "STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16", "STS17", "SICK-R", "BIOSSES")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Rank and linear correlation, by the own similarity and by the cosine."""
        return _METRICS

    def asked(self, data: Loaded) -> tuple[Asked, ...]:
        """All pairs."""
        first, second = data.task.column_names
        parts = (part for _, _, part in splits(data.task))
        pairs = tuple(pair for part in parts for pair in zip(part[first], part[second], strict=True))
        return (Asked(self.name, False, pairs),)

    def evaluate(self, trail: Sequence[Adapted], data: Loaded) -> Scores:
        """Correlate the similarities of `trail[-1]` with the gold scores; a row is `split:index`.

        Raises:
            DegenerateError: vectors or similarities that are constant or not finite.
        """
        bridge = AdaptedForMteb(trail[-1])
        found = scalars(evaluate(copy.copy(data.task), bridge), _METRICS)
        rows = []
        for part in bridge.pair_scores:
            gold = subset_of(data.task, part.subset)[part.split]["score"]
            label = part.split if len(data.task.hf_subsets) == 1 else f"{part.split}:{part.subset}"
            for index, (score, similarity) in enumerate(zip(gold, part.similarities.tolist(), strict=True)):
                rows.append(ScoredRow(f"{label}:{index}", float(score), similarity))
        return Scores(found, rows=tuple(rows))

    @classmethod
    def _own(cls) -> Mapping[str, Listing]:
        return {WORLD.name: WORLD}

    def _make(self) -> Any:
        return make_sts() if self.listing == WORLD else super()._make()

    def _rows(self, task: Any) -> Iterator[Json]:
        first, second = task.column_names
        for split, subset, data in splits(task):
            for a, b, score in zip(data[first], data[second], data["score"], strict=True):
                yield [split, subset, a, b, score]
