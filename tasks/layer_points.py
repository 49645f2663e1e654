"""Layers as flat pictures: the plane in which a layer's vectors spread the most, of texts or of words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Adapted
from thawbench.errors import DegenerateError, UserError
from thawbench.tasks import sampling
from thawbench.tasks.isotropy import Vectors
from thawbench.tasks.sentences import find_source, load_sentences
from thawbench.tasks.set_catalog import named_set
from thawbench.tasks.word_pieces import Span, words_of
from thawbench.tasks.word_spaces import layer_means, read_words

MOST_GROUPS = 8
"""As many colours can be told apart."""
_TEXTS = 300
_SENTENCES = 8
_FEWEST_WORDS = 6
_FLAT = 1e-10


@dataclass(frozen=True)
class Shown:
    """What is to be looked at: whole texts, or the words of some.

    Attributes:
        spans: of each text its words, or None for the text as one.
        groups: of each text the name of its colour.
    """

    texts: tuple[str, ...]
    groups: tuple[str, ...]
    spans: tuple[tuple[Span, ...], ...] | None = None


@dataclass(frozen=True)
class LayerPoints:
    """Every layer in its own plane.

    Attributes:
        points: (layers, n, 2) float64.
        shares: (layers,), the part of the variance that lies in the plane.
        groups: (n,), the name of each point's colour.
    """

    points: NDArray[np.float64]
    shares: NDArray[np.float64]
    groups: tuple[str, ...]


def by_class(name: str, instead: str = "--by sentence, or a set") -> Shown:
    """Test rows of a labelled set, 300 or `@n`, the classes in numbers as equal as they can be.

    Args:
        instead: what can be taken in place of a set without such rows, for messages.

    Raises:
        UserError: no such set, or one whose rows are no texts of a few classes.
        DataUnavailableError: not to be had.
    """
    base, taken = sampling.parse(name)
    rows = named_set(base).splits().test.rows
    labels = [row.label for row in rows]
    texts = [row.input for row in rows if isinstance(row.input, str)]
    classes = {label for label in labels if label is not None}
    if len(texts) < len(rows) or None in labels or len(classes) > MOST_GROUPS:
        raise UserError(
            f"{base} has no texts of 2 to {MOST_GROUPS} classes to colour by; "
            f"take {instead} such as sst2 or world/meals"
        )
    order = sampling.balanced_order(f"picture/{base}", 0, [str(label) for label in labels])[: taken or _TEXTS]
    return Shown(tuple(texts[row] for row in order), tuple(str(labels[row]) for row in order))


def by_sentence(name: str) -> Shown:
    """The words of eight sentences, or `@n`, of six words at least. Groups are numbers: no picture holds a text.

    Raises:
        UserError: no such texts, too few, or more than there are colours.
        DataUnavailableError: not to be had.
    """
    base, taken = sampling.parse(name)
    wanted = taken or _SENTENCES
    if wanted > MOST_GROUPS:
        raise UserError(f"{name} is more sentences than there are colours; take {base}@{MOST_GROUPS} at most")
    long = [text for text in load_sentences(find_source(base), None).texts if len(words_of(text)) >= _FEWEST_WORDS]
    if len(long) < wanted:
        raise UserError(f"{base} has {len(long)} sentences of {_FEWEST_WORDS} words, where {wanted} are wanted")
    groups = tuple(f"sentence {number}" for number in range(1, wanted + 1))
    return Shown(tuple(long[:wanted]), groups, tuple(map(words_of, long[:wanted])))


def layer_points(adapted: Adapted, shown: Shown, where: str) -> LayerPoints:
    """Every layer's plane: a text at the mean of its tokens, or a word at the mean of its own.

    Args:
        where: what it is for, for messages.

    Raises:
        NotApplicableError: an encoder without layers, or states that take too much memory.
        DegenerateError: states that are not finite, or no two points.
    """
    if shown.spans is None:
        return _planes(layer_means(adapted, shown.texts, where), shown.groups)
    read = list(read_words(adapted, shown.texts, shown.spans))
    groups = [group for group, text in zip(shown.groups, read, strict=True) for _ in range(int(text.seen.sum()))]
    return _planes(np.concatenate([text.words[:, text.seen] for text in read], axis=1), groups)


def plane(vectors: Vectors) -> tuple[NDArray[np.float64], float]:
    """The rows' first two principal components (n, 2), and the part of the variance that they hold.

    Rows that are one and the same lie at the origin; the part is then 0. Of either component the entry that is largest
    is positive, as nothing else says which way it runs.
    """
    wide = np.asarray(vectors, dtype=np.float64)
    centred = wide - wide.mean(axis=0)
    total = float((centred * centred).sum())
    if total <= _FLAT * float((wide * wide).sum()):
        return np.zeros((len(wide), 2)), 0.0
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    found = np.zeros((len(wide), 2))
    kept = min(2, len(sizes))
    found[:, :kept] = left[:, :kept] * sizes[:kept]
    return found * _signs(found[np.abs(found).argmax(axis=0), (0, 1)]), float((sizes[:kept] ** 2).sum() / total)


def turned(points: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 2) whose axes run as in `like`, another plane of the same rows: either may be reversed."""
    return points * _signs((points * like).sum(axis=0))


def _planes(layers: Vectors, groups: Sequence[str]) -> LayerPoints:
    """Each layer's plane, its components turned so that they run as in the layer below, where they are alike."""
    if layers.shape[1] < 2:
        raise DegenerateError(f"{layers.shape[1]} points make no picture")
    points: list[NDArray[np.float64]] = []
    shares = []
    for layer in layers:
        found, share = plane(layer)
        if points:
            found = turned(found, points[-1])
        points.append(found)
        shares.append(share)
    return LayerPoints(np.stack(points), np.array(shares), tuple(groups))


def _signs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values < 0, -1.0, 1.0)
