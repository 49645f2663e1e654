"""Layers as flat pictures: the plane is that of a PCA, the points are those of texts or of words."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pytest
from sklearn.decomposition import PCA

from thawbench.contracts import Adapted, HiddenStates
from thawbench.errors import DegenerateError, UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.tasks.layer_points import LayerPoints, Shown, by_class, by_sentence, layer_points, plane
from thawbench.tasks.word_pieces import words_of

DRAWS = np.random.default_rng(9)
ROWS = DRAWS.standard_normal((40, 6)) * [5, 3, 1, 1, 1, 0.5] + 2


def test_the_plane_is_that_of_a_pca_but_for_the_way_its_axes_run() -> None:
    found, share = plane(ROWS)
    pca = PCA(2).fit(ROWS)

    np.testing.assert_allclose(np.abs(found), np.abs(pca.transform(ROWS)), atol=1e-9)
    assert share == pytest.approx(pca.explained_variance_ratio_.sum())
    for column in found.T:
        assert column[np.abs(column).argmax()] > 0


def test_two_points_lie_on_a_line_and_equal_ones_nowhere() -> None:
    line, share = plane(np.array([[0.0, 0], [3, 4]]))

    assert np.abs(line[:, 0]).tolist() == pytest.approx([2.5, 2.5])
    np.testing.assert_allclose(line[:, 1], 0, atol=1e-9)
    assert share == pytest.approx(1)
    same, none = plane(np.ones((5, 3)))
    assert (same.tolist(), none) == ([[0.0, 0.0]] * 5, 0.0)


class Turning:
    """An encoder each of whose layers is the one below turned half round, which a picture need not show."""

    def hidden_states(self, texts: Sequence[str]) -> Iterator[HiddenStates]:
        for number, _ in enumerate(texts):
            yield HiddenStates(np.stack([ROWS[[number]], -ROWS[[number]]]).astype(np.float32), np.array([[0, 1]]))


def test_axes_run_as_in_the_layer_below() -> None:
    texts = tuple(map(str, range(40)))
    found = layer_points(cast("Adapted", Turning()), Shown(texts, ("a",) * 40), "here")

    assert found.points.shape == (2, 40, 2)
    np.testing.assert_allclose(found.points[0], found.points[1], atol=1e-5)
    with pytest.raises(DegenerateError, match="1 points make no picture"):
        layer_points(cast("Adapted", Turning()), Shown(("one",), ("a",)), "here")


def test_a_text_is_the_mean_of_its_tokens_and_a_word_of_its_own(tiny: AdaptedEncoder) -> None:
    texts = ("the cat sat", "a dog ran on the rug")
    states = [inside.states for inside in tiny.hidden_states(texts)]
    whole = layer_points(tiny, Shown(texts, ("x", "y")), "here")
    words = layer_points(tiny, Shown(texts, ("x", "y"), tuple(map(words_of, texts))), "here")

    assert whole.groups == ("x", "y")
    assert words.groups == ("x",) * 3 + ("y",) * 6
    for layer in range(3):
        expected = plane(np.concatenate([each[layer, 1:-1] for each in states]))  # every word is one token
        np.testing.assert_allclose(np.abs(words.points[layer]), np.abs(expected[0]), atol=1e-4)
        assert words.shares[layer] == pytest.approx(expected[1], abs=1e-5)
        gap = np.linalg.norm(whole.points[layer, 0] - whole.points[layer, 1])
        assert gap == pytest.approx(np.linalg.norm(states[0][layer].mean(axis=0) - states[1][layer].mean(axis=0)))


def test_a_word_beyond_the_window_has_no_point(tiny: AdaptedEncoder) -> None:
    texts = (" ".join(["the"] * 70), "the cat")
    found: LayerPoints = layer_points(tiny, Shown(texts, ("x", "y"), tuple(map(words_of, texts))), "here")

    assert found.groups.count("y") == 2
    assert 2 < found.groups.count("x") < 70
    assert found.points.shape[1] == len(found.groups)


# ---- what is shown --------------------------------------------------------------------------------------------------


def test_classes_are_shown_in_equal_numbers_and_always_the_same_rows() -> None:
    shown, fewer = by_class("world/meals@40"), by_class("world/meals@20")
    sizes = {group: shown.groups.count(group) for group in shown.groups}

    assert len(shown.texts) == 40
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert fewer.texts == shown.texts[:20]
    assert shown.spans is None


def test_sentences_are_shown_by_number_and_have_six_words_at_least() -> None:
    shown = by_sentence("world/sts@3")

    assert shown.groups == ("sentence 1", "sentence 2", "sentence 3")
    assert shown.spans is not None
    assert min(map(len, shown.spans)) >= 6
    assert shown.texts == by_sentence("world/sts").texts[:3]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("world/nli", "world/nli has no texts of 2 to 8 classes to colour by; take --by sentence"),
        ("world/sts", "world/sts has no texts of 2 to 8 classes"),
        ("world/meal", "did you mean world/meals"),
    ],
)
def test_what_has_no_classes_of_texts_is_told(name: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        by_class(name)


def test_more_sentences_than_colours_are_refused() -> None:
    with pytest.raises(UserError, match="world/sts@9 is more sentences than there are colours; take world/sts@8"):
        by_sentence("world/sts@9")
