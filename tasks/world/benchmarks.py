"""Similarity and retrieval in the embedded world as tasks of mteb, so that mteb measures them as it does all others."""

from typing import Any

from thawbench.tasks.mteb_task import Listing
from thawbench.tasks.world.whole import REVISION, make_world

WORLD = Listing("world", "the embedded world", REVISION, train="world/nli")


def make_sts() -> Any:
    """`sts/world`: the test pairs. Call it where mteb may be imported (`mteb_bridge.mteb_calls`)."""
    from datasets import Dataset, DatasetDict  # type: ignore[import-untyped]
    from mteb.abstasks import AbsTaskSTS

    class WorldSts(AbsTaskSTS):
        metadata = _metadata("STS", "cosine_spearman")
        min_score = 0
        max_score = 5

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            pairs = make_world().similarity.test
            columns = {
                "sentence1": [pair.a for pair in pairs],
                "sentence2": [pair.b for pair in pairs],
                "score": [pair.score for pair in pairs],
            }
            self.dataset = DatasetDict(test=Dataset.from_dict(columns))
            self.data_loaded = True

    return WorldSts()


def make_retrieval() -> Any:
    """`ir/world`: the test questions against all documents. Call it where mteb may be imported."""
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval

    class WorldRetrieval(AbsTaskRetrieval):
        metadata = _metadata("Retrieval", "ndcg_at_10")

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            found = make_world().retrieval
            ids, questions = zip(*found.queries.test, strict=True)
            split: Any = {
                "corpus": Dataset.from_dict({"id": list(found.corpus), "text": list(found.corpus.values())}),
                "queries": Dataset.from_dict({"id": ids, "text": questions}),
                "relevant_docs": {query: dict(found.relevance[query]) for query in ids},
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return WorldRetrieval()


def _metadata(kind: Any, main: str) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=WORLD.name,
        description=WORLD.data,
        dataset={"path": WORLD.data, "revision": WORLD.revision},
        type=kind,
        category="t2t",
        eval_langs=["eng-Latn"],
        main_score=main,
    )
