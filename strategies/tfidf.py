"""A control that must be beaten: TF-IDF, fitted on the documents at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from thawbench.contracts import Adapt, Budget, FloatArray, Seeds, Signal, Similarity, State, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, Learned
from thawbench.strategies.sources import LayerlessSource, digest


@dataclass(frozen=True)
class TfidfSource(LayerlessSource):
    """Words of two letters or more in lower case, smooth idf, length 1.

    Attributes:
        options: scikit-learn's names for what the config chose.
        vocabulary: the word of each column.
        idf: (words,).
        components: (svd, words) if the vectors are reduced.
    """

    options: dict[str, Any]
    vocabulary: tuple[str, ...]
    idf: NDArray[np.float32]
    components: FloatArray | None = None

    @cached_property
    def key(self) -> str:
        tensors = {"idf": self.idf} if self.components is None else {"idf": self.idf, "svd": self.components}
        return digest("tfidf", self.options, list(self.vocabulary), tensors=tensors)

    @property
    def dim(self) -> int:
        return len(self.idf) if self.components is None else len(self.components)

    @property
    def total_parameters(self) -> int:  # type: ignore[override]
        return self.idf.size + (0 if self.components is None else self.components.size)

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        if not len(texts):
            empty = np.zeros((0, self.dim), np.float32)
            return sp.csr_matrix(empty) if self.components is None else empty
        weights = self._vectorizer.transform(texts)
        reduced: FloatArray = weights if self.components is None else np.asarray(weights @ self.components.T)
        return reduced

    @cached_property
    def _vectorizer(self) -> Any:
        columns = {word: column for column, word in enumerate(self.vocabulary)}
        vectorizer = TfidfVectorizer(vocabulary=columns, dtype=np.float32, **self.options)
        vectorizer.idf_ = self.idf
        return vectorizer


@dataclass(frozen=True)
class TfidfConfig:
    """The defaults are those of the published control: .63 nDCG@10 on SciFact, .34 on Cranfield.

    Attributes:
        svd: reduce to so many components (latent semantic analysis); none keeps the words, sparse.
        sublinear: a word counts 1 + log(times) and not as often as it stands there.
        stop_words: leave scikit-learn's English function words out.
    """

    svd: int | None = None
    sublinear: bool = True
    stop_words: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """As scikit-learn names them."""
        return {"sublinear_tf": self.sublinear, "stop_words": "english" if self.stop_words else None}

    def __post_init__(self) -> None:
        if self.svd is not None and self.svd < 1:
            raise ValueError("svd must be at least 1")


@strategies.register("tfidf")
class Tfidf(BaseStrategy):
    """Words weighted by how rare they are among the texts; looks at no backbone."""

    Config = TfidfConfig
    config: TfidfConfig
    consumes = frozenset({Signal.TEXTS})
    fits_on_corpus = True
    control = True

    @property
    def similarity(self) -> Similarity:
        """Vectors have length 1, so that the cosine is their product; with `svd` they are shorter."""
        return "cosine"

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        """Count words.

        Raises:
            NotApplicableError: no text has a word, or `svd` asks for more components than the counts have.
        """
        vectorizer = TfidfVectorizer(dtype=np.float32, **self.config.options)
        try:
            weights = vectorizer.fit_transform(data.texts)
        except ValueError as error:  # "empty vocabulary", also for no texts at all
            raise NotApplicableError(f"{data.name} has no text with a word to count: {error}") from None
        tensors = {"idf": vectorizer.idf_.astype(np.float32)}
        if self.config.svd is not None:
            if self.config.svd >= min(weights.shape):
                texts, words = weights.shape
                raise NotApplicableError(
                    f"tfidf:svd={self.config.svd} needs more than {self.config.svd} texts and words; "
                    f"{data.name} has {texts} and {words}"
                )
            # ARPACK converges to the exact decomposition from any start, so that the fixed seed is no choice
            svd = TruncatedSVD(self.config.svd, algorithm="arpack", random_state=0).fit(weights)
            tensors["svd"] = svd.components_.astype(np.float32)
        return Learned(tensors, {"vocabulary": list(vectorizer.get_feature_names_out())})

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """Its own, whatever the start is."""
        words = state.values["vocabulary"]
        assert isinstance(words, list)
        return TfidfSource(self.config.options, tuple(map(str, words)), state.tensors["idf"], state.tensors.get("svd"))
