"""Between an adaptation and MTEB: the encoder as mteb wants it, and mteb as we want it (quiet, and off our RNGs)."""

import logging
import math
import os
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse

from thawbench.cache import cache_folder
from thawbench.contracts import Adapted, FloatArray, Metric, Role
from thawbench.errors import DegenerateError
from thawbench.tasks import similarity
from thawbench.tasks.hub import quiet

_SEED = 42  # what mteb itself seeds with
_WARNINGS = (
    # (message, module): what mteb and what it calls say in the normal course of a task
    (r"The task '.*' is superseded by", ""),
    (r"The task '.*' is currently in beta", ""),
    (r"The task with the given name '.*' has been renamed", ""),  # shown as ours: the new name goes on the board
    (r"Precision is ill-defined", r"sklearn\."),  # a class that the few-shot classifier never predicts
    (r"lbfgs failed to converge", r"sklearn\."),  # MTEB's protocol stops at 100 iterations
    (r"An input array is constant", ""),  # a similarity that is constant is degenerate, and reported so
)


@contextmanager
def mteb_calls() -> Iterator[None]:
    """Every call into mteb happens inside this.

    Importing mteb, making a task and every evaluator reset the global RNGs to 42: they are put back afterwards. They
    are set to 42 at the start as well, so that mteb does not depend on what ran before. mteb's cache folder, which it
    makes on import, goes under ours unless MTEB_CACHE says otherwise.
    """
    os.environ.setdefault("MTEB_CACHE", os.fspath(cache_folder() / "mteb"))
    with _rng_restored(), _hushed(), quiet():
        yield


@contextmanager
def _rng_restored() -> Iterator[None]:
    import torch  # mteb imports it in any case; imported only inside, it would be seeded without a state to go back to

    python, numpy, torch_cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    cuda: Any = torch.cuda
    devices = cuda.get_rng_state_all() if cuda.is_initialized() else None
    try:
        random.seed(_SEED)
        np.random.seed(_SEED)  # noqa: NPY002
        torch.manual_seed(_SEED)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(torch_cpu)
        if devices is not None:
            cuda.set_rng_state_all(devices)


@contextmanager
def _hushed() -> Iterator[None]:
    logger = logging.getLogger("mteb")
    level = logger.level
    with warnings.catch_warnings():
        for message, module in _WARNINGS:
            warnings.filterwarnings("ignore", message=message, module=module)
        logger.setLevel(logging.ERROR)  # mteb logs each of its warnings as well
        try:
            yield
        finally:
            logger.setLevel(level)


@dataclass(frozen=True)
class PairScores:
    """The adaptation's own similarities (n,) of one split and subset, in the order of the rows."""

    split: str
    subset: str
    similarities: FloatArray


class AdaptedForMteb:
    """An adaptation as mteb's `EncoderProtocol`, which it meets by its methods.

    mteb's `AbsEncoder` adds prompts, which no strategy here has, and knows cosine and dot only. Without it this module
    imports no mteb. Sparse vectors pass as they are.

    Args:
        unit_length: give the vectors of an adaptation that compares by cosine their direction only. Its lengths mean
            nothing, and a regularised read-out would take them for a strength; sentence-transformers' models normalise
            for the same reason.
    """

    def __init__(self, adapted: Adapted, *, unit_length: bool = False) -> None:
        self._unit_length = unit_length and adapted.similarity == "cosine"
        self.pair_scores: list[PairScores] = []
        self._adapted = adapted
        self._at = ("", "")

    @cached_property
    def mteb_model_meta(self) -> Any:
        """Name and nothing else: results are ours to keep, mteb's cache is off."""
        from mteb.models import ModelMeta

        return ModelMeta.create_empty(overwrites={"name": "thawbench/adapted", "revision": "none"})

    def encode(
        self, inputs: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, prompt_type: Any = None, **_: Any
    ) -> Any:
        """Vectors (texts, dim) of all batches in order, dense float32 or CSR.

        Raises:
            DegenerateError: some are not finite, or all are the same though the texts are not.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        role = cast("Role | None", None if prompt_type is None else prompt_type.value)
        vectors = self._adapted.encode(texts, role=role)
        check_vectors(vectors, texts)
        self._at = (hf_split, hf_subset)
        return similarity.normalised(vectors) if self._unit_length else vectors

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """(n1, n2), by the adaptation's own similarity; of two vectors (dim,) a number, for mteb's `float`."""
        found = similarity.full(self._adapted.similarity, embeddings1, embeddings2)
        return found[0, 0] if np.ndim(embeddings1) == np.ndim(embeddings2) == 1 else found

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> FloatArray:
        """(n,), by the adaptation's own similarity; kept in `pair_scores`."""
        scores = similarity.pairwise(self._adapted.similarity, embeddings1, embeddings2)
        self.pair_scores.append(PairScores(*self._at, scores))
        return scores


def check_vectors(vectors: Any, texts: Sequence[str]) -> None:
    """Refuse vectors that no metric may be taken of.

    Raises:
        DegenerateError: some are not finite, or all are the same though the texts are not.
    """
    if sparse.issparse(vectors):
        bad = len(set(vectors.tocoo().row[~np.isfinite(vectors.tocoo().data)].tolist()))
        constant = vectors.shape[0] > 1 and abs(vectors[1:] - vectors[:-1]).max() == 0
    else:
        bad = int(np.sum(~np.isfinite(vectors).all(axis=1)))
        constant = len(vectors) > 1 and bool(np.all(vectors == vectors[:1]))
    if bad:
        raise DegenerateError(f"{bad} of {len(texts)} vectors are not finite")
    if constant and len(set(texts)) > 1:
        raise DegenerateError(f"constant: {len(texts)} texts that differ have one and the same vector")


def evaluate(task: Any, bridge: AdaptedForMteb) -> list[Mapping[str, Any]]:
    """Run one loaded mteb task; one mapping from metric to score for every split and subset."""
    with mteb_calls():
        import mteb

        result = mteb.evaluate(
            bridge,
            task,
            cache=None,
            co2_tracker=False,
            show_progress_bar=False,
            raise_error=True,
            encode_kwargs={"show_progress_bar": False},  # the argument above hides one bar of three
        )
    return [scores for split in result.task_results[0].scores.values() for scores in split]


def scalars(found: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]) -> dict[str, float]:
    """Each metric's mean over splits and subsets, as MTEB takes it.

    mteb's dictionaries also hold scores that are undefined for some data (ap of many classes, nauc), which no metric
    here names.

    Raises:
        DegenerateError: a reported one is not finite.
    """
    means = {metric.name: float(np.mean([scores[metric.name] for scores in found])) for metric in metrics}
    if bad := [name for name, value in means.items() if not math.isfinite(value)]:
        raise DegenerateError(f"{', '.join(bad)} undefined: the similarities are constant or not finite")
    return means
