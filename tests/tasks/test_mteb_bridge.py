"""What mteb does to the process, and what is let out of it."""

import os
import random
import warnings
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pytest
import torch
from mteb_by_hand import HandSts

from thawbench.tasks.mteb_bridge import AdaptedForMteb, check_vectors, mteb_calls


def draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(1))  # noqa: NPY002


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def test_making_a_task_of_mteb_does_reset_the_generators() -> None:
    seed_all(1)
    expected = draws()
    seed_all(1)
    mteb.get_task("STS12")
    assert draws() != expected  # or mteb_calls has nothing to protect from


def test_no_generator_notices_a_call_into_mteb() -> None:
    seed_all(1)
    expected = draws()
    seed_all(1)
    with mteb_calls():
        mteb.get_task("STS12")
        draws()
    assert draws() == expected


def test_generators_are_put_back_after_a_failure_too() -> None:
    seed_all(1)
    expected = draws()
    seed_all(1)
    with pytest.raises(TypeError), mteb_calls():
        draws() / 1  # type: ignore[operator]
    assert draws() == expected


def test_mteb_sees_the_same_generators_whatever_ran_before() -> None:
    found = []
    for seed in (1, 2):
        seed_all(seed)
        with mteb_calls():
            found.append(draws())
    assert found[0] == found[1]


def test_the_cache_of_mteb_goes_under_ours_unless_it_was_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mteb_calls():
        assert os.environ["MTEB_CACHE"] == str(tmp_path / "mteb")
    monkeypatch.delenv("MTEB_CACHE")
    with mteb_calls():
        assert os.environ["MTEB_CACHE"] == str(tmp_path / "cache" / "mteb")


def test_a_superseded_task_is_named_by_the_user_and_needs_no_warning() -> None:
    task = mteb.get_task("STSBenchmark")
    assert task.superseded_by
    with mteb_calls():
        task.check_if_dataset_is_superseded()
    with mteb_calls(), pytest.raises(UserWarning, match="other"):
        warnings.warn("other", stacklevel=1)


def test_an_adaptation_is_an_encoder_by_the_protocol_of_mteb(table_encoder: Any) -> None:
    from mteb.models import EncoderProtocol, SearchProtocol

    bridge = AdaptedForMteb(table_encoder(["a"], np.ones((1, 1))))
    assert isinstance(bridge, EncoderProtocol)
    assert not isinstance(bridge, SearchProtocol)


def test_equal_vectors_are_fine_where_the_texts_are_equal() -> None:
    check_vectors(np.ones((3, 2), dtype=np.float32), ["same"] * 3)
    check_vectors(np.ones((1, 2), dtype=np.float32), ["one"])


def test_similarities_are_kept_with_the_split_that_they_belong_to(table_encoder: Any) -> None:
    bridge = AdaptedForMteb(table_encoder(["a"], np.ones((1, 1), dtype=np.float32)))
    bridge.encode([{"text": ["a"]}], task_metadata=HandSts.metadata, hf_split="test", hf_subset="en")
    bridge.similarity_pairwise(np.ones((2, 1)), np.ones((2, 1)))
    (kept,) = bridge.pair_scores
    assert (kept.split, kept.subset, kept.similarities.tolist()) == ("test", "en", [1.0, 1.0])


def test_two_single_vectors_are_as_similar_as_a_number_says(table_encoder: Any) -> None:
    bridge = AdaptedForMteb(table_encoder(["a"], np.ones((1, 2), dtype=np.float32)))
    first, second = np.array([[1, 0], [1, 1]], dtype=np.float32)
    assert float(bridge.similarity(first, second)) == pytest.approx(0.5**0.5)
    assert bridge.similarity(first[None], second[None]).shape == (1, 1)


@pytest.mark.parametrize(("similarity", "expected"), [("cosine", [[0.6, 0.8]]), ("neg_l1", [[3.0, 4.0]])])
def test_only_directions_are_given_where_only_directions_count(
    table_encoder: Any, similarity: str, expected: list[list[float]]
) -> None:
    adapted = table_encoder(["a"], np.array([[3.0, 4.0]], dtype=np.float32))
    adapted.similarity = similarity
    bridge = AdaptedForMteb(adapted, unit_length=True)
    given = bridge.encode([{"text": ["a"]}], task_metadata=HandSts.metadata, hf_split="test", hf_subset="en")
    np.testing.assert_allclose(given, expected, rtol=1e-6)
