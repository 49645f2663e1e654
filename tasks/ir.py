"""`ir/<name>`: retrieval, by any task of MTEB of that type (SciFact, ...) or one of our own (world, cranfield, ...)."""

import copy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from thawbench.contracts import Adapted, Json, Metric, ScoredRow, Scores
from thawbench.registry import families
from thawbench.tasks.mteb_bridge import AdaptedForMteb, evaluate, scalars
from thawbench.tasks.mteb_task import Listing, Loaded, MtebTask, splits
from thawbench.tasks.world.benchmarks import WORLD, make_retrieval

_METRICS = tuple(
    Metric(name, main=name == "ndcg_at_10")
    for name in (
        "ndcg_at_10",
        "ndcg_at_100",
        "map_at_100",
        "mrr_at_10",
        "precision_at_10",
        "recall_at_10",
        "recall_at_100",
        "recall_at_1000",
    )
)


@families.register("ir")
class Ir(MtebTask):
    """How well documents near a query are those that people judged relevant to it."""

    family = "ir"
    mteb_type = "Retrieval"
    listed = ("world", "SciFact", "cranfield", "medline", "cacm", "lisa", "npl")

    @property
    def corpus(self) -> str:
        """Its own documents, as a train set."""
        return f"corpus/{self.listing.name.lower()}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Means over queries."""
        return _METRICS

    def evaluate(self, trail: Sequence[Adapted], data: Loaded) -> Scores:
        """Search the documents for each query by the similarity of `trail[-1]`.

        A row is a query: the number of documents relevant to it, and its nDCG@10.

        Raises:
            DegenerateError: vectors that are constant or not finite.
        """
        task = copy.copy(data.task)
        rows: list[ScoredRow] = []
        of_task = task.task_specific_scores

        def note_queries(scores: Any, qrels: Any, results: Any, hf_split: str, hf_subset: str) -> Any:
            label = hf_split if len(task.hf_subsets) == 1 else f"{hf_split}:{hf_subset}"
            for query in sorted(scores):
                relevant = sum(grade > 0 for grade in qrels[query].values())
                rows.append(ScoredRow(f"{label}:{query}", float(relevant), float(scores[query]["ndcg_cut_10"])))
            return of_task(scores, qrels, results, hf_split=hf_split, hf_subset=hf_subset)

        task.task_specific_scores = note_queries
        found = scalars(evaluate(task, AdaptedForMteb(trail[-1])), _METRICS)
        return Scores(found, rows=tuple(rows))

    def documents(self, data: Loaded) -> tuple[str, ...]:
        """Every document as evaluation encodes it, in order; one that several splits share is there once."""
        found = (document for _, _, part in splits(data.task) for document in documents(part["corpus"]))
        return tuple(text for _, text in dict.fromkeys(found))

    @classmethod
    def _own(cls) -> Mapping[str, Listing]:
        return {WORLD.name: WORLD, **_collections()}

    def _make(self) -> Any:
        if self.listing == WORLD:
            return make_retrieval()
        if self.listing.name in _collections():
            return _served(self.listing)
        return super()._make()

    def _rows(self, task: Any) -> Iterator[Json]:
        for split, subset, data in splits(task):
            for identity, text in documents(data["corpus"]):
                yield [split, subset, "document", identity, text]
            for row in data["queries"]:
                yield [split, subset, "query", row["id"], row["text"], row.get("instruction")]
            for query, grades in sorted(data["relevant_docs"].items()):
                judged: list[Json] = [[document, int(grade)] for document, grade in sorted(grades.items())]
                yield [split, subset, "relevant", query, judged]
            for query, ranked in sorted((data["top_ranked"] or {}).items()):
                yield [split, subset, "candidates", query, list(ranked)]


def documents(corpus: Any) -> Iterator[tuple[str, str]]:
    """(id, text) of each row of a corpus, title and text joined as mteb joins them before it encodes."""
    titles = corpus["title"] if "title" in corpus.column_names else [""] * len(corpus)
    for identity, title, text in zip(corpus["id"], titles, corpus["text"], strict=True):
        yield identity, (f"{title} {text}" if title else text).strip()


@cache
def _collections() -> Mapping[str, Listing]:
    text = resources.files("thawbench.tasks").joinpath("collections.toml").read_text(encoding="utf-8")
    return {name: Listing(name, row["data"], row["revision"]) for name, row in tomllib.loads(text).items()}


def _served(listing: Listing) -> Any:
    """A task of mteb that is not in mteb, without its data."""
    from mteb.abstasks import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(
        name=listing.name,
        description=f"The retrieval collection {listing.data}.",
        dataset={"path": listing.data, "revision": listing.revision},
        type="Retrieval",
        category="t2t",
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
    )
    return type(listing.name, (AbsTaskRetrieval,), {"metadata": metadata})()
