"""Tasks of mteb with a few rows in memory."""

from typing import Any

from datasets import Dataset, DatasetDict  # type: ignore[import-untyped]
from mteb.abstasks import AbsTaskClassification, AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

PAIRS = [("a0", "b0", 5.0), ("a1", "b1", 3.0), ("a2", "b2", 1.0), ("a3", "b3", 0.0)]
DOCUMENTS = [("d0", "Wings", "lift"), ("d1", "", "drag"), ("d2", "Nothing", "")]
QUERIES = [("q0", "what lifts"), ("q1", "what drags")]
JUDGEMENTS = {"q0": {"d0": 2, "d2": 0}, "q1": {"d1": 1}}


def _metadata(name: str, kind: Any, main: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        description="By hand.",
        dataset={"path": "hand/hand", "revision": "a" * 40},
        type=kind,
        category="t2t",
        eval_langs=["eng-Latn"],
        main_score=main,
    )


class HandSts(AbsTaskSTS):
    metadata = _metadata("HandSts", "STS", "cosine_spearman")

    def load_data(self, num_proc: int | None = None, **_: Any) -> None:
        first, second, score = zip(*PAIRS, strict=True)
        rows = Dataset.from_dict({"sentence1": first, "sentence2": second, "score": score})
        self.dataset = DatasetDict(test=rows)
        self.data_loaded = True


class HandRetrieval(AbsTaskRetrieval):
    metadata = _metadata("HandRetrieval", "Retrieval", "ndcg_at_10")

    def load_data(self, num_proc: int | None = None, **_: Any) -> None:
        ids, titles, texts = zip(*DOCUMENTS, strict=True)
        query_ids, queries = zip(*QUERIES, strict=True)
        self.dataset = {
            "default": {
                "test": {
                    "corpus": Dataset.from_dict({"id": ids, "title": titles, "text": texts}),
                    "queries": Dataset.from_dict({"id": query_ids, "text": queries}),
                    "relevant_docs": JUDGEMENTS,
                    "top_ranked": None,
                }
            }
        }
        self.data_loaded = True


class HandClassification(AbsTaskClassification):
    metadata = _metadata("HandClassification", "Classification", "accuracy")

    def load_data(self, num_proc: int | None = None, **_: Any) -> None:
        train = {"text": [f"t{row}" for row in range(40)], "label": [row % 4 for row in range(40)]}
        test = {"text": [f"e{row}" for row in range(8)], "label": [row % 4 for row in range(8)]}
        self.dataset = DatasetDict(train=Dataset.from_dict(train), test=Dataset.from_dict(test))
        self.data_loaded = True
