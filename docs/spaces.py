"""What is left of a space: how near texts lie by what they are to each other, and how many directions are in use.

    python docs/spaces.py frozen mnr 'sbert_cosine:train=stsb'

prints lines as those of the tables in surprises.md, for seeds 0 on the backbone of the profile `served`. A strategy
learns from NLI unless it names its own train set. Columns: the mean cosine of 400 pairs a class of SNLI's test rows,
and of their premises with other pairs' hypotheses; the effective rank of STSBenchmark's sentences; that of 150 of
SciFact's queries, and of a document that answers each; and how many of these queries have it nearest, of the 150.
"""

import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from thawbench.contracts import Adapted
from thawbench.names import parse_task
from thawbench.suite.cells import Adaptation
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.session import prepare
from thawbench.suite.store import AdaptationStore
from thawbench.tasks import sampling
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.input_vectors import side_vectors
from thawbench.tasks.ir import documents
from thawbench.tasks.isotropy import Vectors, unit
from thawbench.tasks.mteb_task import splits
from thawbench.tasks.set_catalog import named_set

PAIRS, QUERIES = 400, 150
RELATIONS = ("contradiction", "neutral", "entailment")
HEADS = ("", *RELATIONS, "unrelated", "rank", "rank: queries", "documents", "answered")


def main(strategies: list[str], results: Path) -> None:
    """Print a line for each strategy."""
    prepare(1)
    print(f"| {' | '.join(HEADS)} |")
    for name in strategies:
        adapted = AdaptationStore(results).trail(adaptation(name))[-1]
        cells = [f"{value:.2f}".lstrip("0") for value in relations(adapted)]
        cells.append(f"{sentence_rank(adapted):.0f}")
        queries, answers, found = search(adapted)
        print(f"| `{name}` | {' | '.join([*cells, f'{queries:.0f}', f'{answers:.0f}', f'{found:.0%}'])} |", flush=True)


def adaptation(strategy: str) -> Adaptation:
    """What an STS cell of it is measured on."""
    task = "sts/STSBenchmark" if "train=" in strategy else "sts/STSBenchmark:train=nli"
    request = Request((strategy,), (task,), profile="served", seeds="sample=0,init=0,order=0", precision="float32")
    (cell,) = make_plan(request).cells
    return cell.adaptation


def relations(adapted: Adapted) -> Iterator[float]:
    """Mean cosines by relation, and of what belongs to no pair."""
    rows = named_set("snli").splits().test.rows
    labels = [str(row.label) for row in rows]
    order = sampling.balanced_order("spaces/snli", 0, labels)[: PAIRS * len(RELATIONS)]
    left, right = map(unit, side_vectors(adapted, [rows[row].input for row in order]))
    cosines = (left * right).sum(axis=1)
    for relation in RELATIONS:
        yield float(cosines[[labels[row] == relation for row in order]].mean())
    yield float((left * np.roll(right, len(RELATIONS), axis=0)).sum(axis=1).mean())


def sentence_rank(adapted: Adapted) -> float:
    """The effective rank of all sentences of STSBenchmark's test rows."""
    rows = named_set("stsb").splits().test.rows
    return effective_rank(np.concatenate(side_vectors(adapted, [row.input for row in rows])))


def search(adapted: Adapted) -> tuple[float, float, float]:
    """The effective rank of queries, that of documents that answer them, and the share that finds its own."""
    queries, answers = (unit(adapted.encode(texts)) for texts in zip(*answered(), strict=True))
    found = (queries @ answers.T).argmax(axis=1) == np.arange(len(queries))
    return effective_rank(queries), effective_rank(answers), float(found.mean())


@cache
def answered() -> list[tuple[str, str]]:
    """Queries of SciFact, and for each a document that answers it and none before."""
    data: Any = resolve_task(parse_task("ir/SciFact")).load()
    ((_, _, part),) = splits(data.task)
    texts = dict(documents(part["corpus"]))
    asked = {row["id"]: row["text"] for row in part["queries"]}
    pairs: dict[str, str] = {}  # by document, as one may answer several
    for query, grades in sorted(part["relevant_docs"].items()):
        pairs.setdefault(next(document for document in sorted(grades) if grades[document] > 0), query)
    return [(asked[query], texts[document]) for document, query in list(pairs.items())[:QUERIES]]


def effective_rank(vectors: Vectors) -> float:
    """The exponential of the entropy of the squared singular values of vectors (texts, dim), as they are."""
    squares = np.linalg.svd(vectors, compute_uv=False) ** 2
    shares = squares[squares > 0] / squares.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1:], Path(folder))
