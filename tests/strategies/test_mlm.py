"""The strategy `mlm`: it reads the pool, comes back to the last bit, and hands its head on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, Labelled, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.frozen import Frozen
from thawbench.strategies.mlm import Mlm, MlmConfig
from thawbench.strategies.mlm_head import MlmHead
from thawbench.strategies.mlm_objective import score_mlm
from thawbench.strategies.random_vectors import RandomVectors
from thawbench.tasks.trainsets import load_trainset

TEXTS = ("the cat sat on the mat", "a dog ran under the rug", "the film was not good", "who sat on the rug")
POOL = TrainSet(name="pool", version=1, fingerprint="", texts=TEXTS * 4)
CONFIG = MlmConfig(lr=3e-3, steps=40, batch_size=4)


def no_adapt(strategy: Strategy, seeds: Seeds) -> Adapted:
    raise AssertionError("mlm asks for no other adaptation")


def fit(start: AdaptedEncoder, data: TrainSet = POOL, config: MlmConfig = CONFIG, **options: Any) -> AdaptedEncoder:
    given = {"seeds": Seeds(), "budget": Budget(), **options}
    return Mlm(config).fit(start, data, adapt=no_adapt, **given)


def loss(adapted: AdaptedEncoder, texts: Sequence[str] = TEXTS) -> float:
    assert isinstance(adapted.source, Encoder)
    assert isinstance(adapted.mlm_head, MlmHead)
    return score_mlm(adapted.source, adapted.mlm_head, texts).loss


@pytest.fixture(scope="module")
def tuned(tiny: AdaptedEncoder) -> AdaptedEncoder:
    return fit(tiny)


def test_it_reads_better_afterwards_and_leaves_its_start_alone(tiny: AdaptedEncoder, tuned: AdaptedEncoder) -> None:
    before = tiny.encode(TEXTS)
    assert loss(tuned) < 0.6 * loss(fit(tiny, budget=Budget(steps=0)))
    assert np.array_equal(tiny.encode(TEXTS), before)
    assert not np.allclose(tuned.encode(TEXTS), before, atol=1e-2)
    assert tiny.mlm_head is None


def test_texts_that_it_never_read_become_more_probable(tiny: AdaptedEncoder) -> None:
    texts = load_trainset("world/texts", 0).texts
    held, pool = texts[:60], TrainSet(name="pool", version=1, fingerprint="", texts=texts[60:300])
    start, trained = (
        fit(tiny, pool, MlmConfig(lr=3e-3, batch_size=16), budget=Budget(steps=steps)) for steps in (0, 40)
    )
    assert not set(held) & set(pool.texts)
    assert loss(trained, held) < 0.9 * loss(start, held)


def test_saved_and_restored_it_is_the_same_to_the_last_bit(
    tiny: AdaptedEncoder, tuned: AdaptedEncoder, tmp_path: Path
) -> None:
    tuned.save(tmp_path)
    restored = Mlm(CONFIG).restore(tiny, load_state(tmp_path))
    assert np.array_equal(restored.encode(TEXTS), tuned.encode(TEXTS))
    assert loss(restored) == loss(tuned)
    assert restored.source is not None
    assert tuned.source is not None
    assert restored.source.key == tuned.source.key


def test_the_same_seeds_give_the_same_bytes_and_each_stream_gives_others(
    tiny: AdaptedEncoder, tuned: AdaptedEncoder
) -> None:
    vectors = tuned.encode(TEXTS)
    assert np.array_equal(fit(tiny).encode(TEXTS), vectors)
    assert np.array_equal(fit(tiny, seeds=Seeds(sample=1)).encode(TEXTS), vectors)
    assert not np.array_equal(fit(tiny, seeds=Seeds(init=1)).encode(TEXTS), vectors)
    assert not np.array_equal(fit(tiny, seeds=Seeds(order=1)).encode(TEXTS), vectors)


def test_a_second_fit_goes_on_with_the_head_of_the_first(tiny: AdaptedEncoder, tuned: AdaptedEncoder) -> None:
    again = fit(tuned, budget=Budget(steps=0))
    assert loss(again) == loss(tuned)
    frozen = Frozen().fit(tuned, POOL, seeds=Seeds(), budget=Budget(), adapt=no_adapt)
    assert frozen.mlm_head is tuned.mlm_head  # other steps hand it on


def test_only_what_changed_is_kept_and_the_cost_counts_all_that_was_trained(tuned: AdaptedEncoder) -> None:
    assert {name.partition(".")[0] for name in tuned.state.tensors} == {"encoder", "mlm_head"}
    assert not any("pooler" in name for name in tuned.state.tensors)
    kept = sum(tensor.size for tensor in tuned.state.tensors.values())
    assert kept <= tuned.state.cost.trainable_parameters < tuned.state.cost.total_parameters
    assert len(tuned.trace) == 40


def test_a_budget_of_epochs_counts_passes_over_the_pool(tiny: AdaptedEncoder) -> None:
    assert len(fit(tiny, budget=Budget(epochs=2)).trace) == 8  # 16 texts by 4
    assert len(fit(tiny, budget=Budget(steps=3, epochs=2)).trace) == 3


def test_what_has_no_texts_or_no_encoder_is_not_applicable(tiny: AdaptedEncoder) -> None:
    labelled = TrainSet(name="set", version=1, fingerprint="", labelled=(Labelled("the cat", label="x"),))
    with pytest.raises(NotApplicableError, match="set has no unlabelled texts"):
        fit(tiny, labelled)
    vectors = RandomVectors().fit(tiny, POOL, seeds=Seeds(), budget=Budget(), adapt=no_adapt)
    with pytest.raises(NotApplicableError, match="only an encoder's weights"):
        fit(vectors)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"batch_size": 0}, {"clip": 0.0}, {"steps": -1}])
def test_a_config_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        MlmConfig(**wrong)
