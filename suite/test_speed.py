"""Encode and fit throughput, by pytest-benchmark: `pytest suite/test_speed.py --strategy=frozen_ebm`.

Times are shown and kept by pytest-benchmark's own options; nothing here fails on one. Texts are made up anew for each
round, so that no cache answers.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, ClassTarget, Labelled, Pair, Rows, Seeds, Strategy, TrainSet
from thawbench.names import parse_backbone
from thawbench.strategies.backbone import load_backbone, resolve_backbone
from thawbench.strategies.encode_meter import metered
from thawbench.suite.options import Settings
from thawbench.suite.profile import load_profile
from thawbench.suite.session import prepare

pytestmark = pytest.mark.speed


def _texts(count: int, words: int) -> list[str]:
    """Texts that no cache has seen, of about `words` words each."""
    generator = np.random.default_rng()
    lengths = generator.integers(words // 2, words * 3 // 2 + 1, count)
    return [" ".join(map(str, generator.integers(0, 1000, length))) for length in lengths]


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of its own, empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THAWBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def backbone(options: Settings, cold: None) -> Adapted:
    """The encoder that the options name; it finds its cache as it is loaded."""
    prepare(options.threads)
    name = options.backbone or load_profile(options.profile).backbone
    info = resolve_backbone(parse_backbone(name), precision=options.precision, device=options.device)
    return load_backbone(info)


@pytest.mark.parametrize(("count", "words"), [(512, 12), (128, 200)], ids=["sentences", "abstracts"])
def test_encode(benchmark: Any, backbone: Adapted, count: int, words: int) -> None:
    backbone.encode(_texts(32, words))
    with metered() as meter:
        vectors = benchmark.pedantic(backbone.encode, setup=lambda: ((_texts(count, words),), {}), rounds=3)
    benchmark.extra_info["tokens_per_s"] = round(meter.tokens / meter.seconds)
    assert vectors.shape[0] == count
    assert np.isfinite(vectors).all()


def test_fit(benchmark: Any, backbone: Adapted, strategy: Strategy) -> None:
    def adapt(other: Strategy, seeds: Seeds) -> Adapted:
        return other.fit(backbone, _train_set(), seeds=seeds, budget=Budget(), adapt=adapt)

    def fit(data: TrainSet) -> Adapted:
        return strategy.fit(backbone, data, seeds=Seeds(), budget=Budget(epochs=1), adapt=adapt)

    adapted = benchmark.pedantic(fit, setup=lambda: ((_train_set(),), {}), rounds=2)
    benchmark.extra_info["rows"] = 320
    assert adapted.provides == strategy.provides or adapted.provides < strategy.provides | backbone.provides


def _train_set(rows: int = 400) -> TrainSet:
    left, right = _texts(rows, 12), _texts(rows, 12)
    relations = itertools.cycle(("entailment", "contradiction"))
    pairs = tuple(Pair(a, b, relation) for a, b, relation in zip(left, right, relations, strict=False))  # type: ignore[arg-type]
    labelled = tuple(Labelled(text, "even" if index % 2 == 0 else "odd") for index, text in enumerate(left))
    cut = rows * 4 // 5
    return TrainSet(
        name="speed",
        version=1,
        fingerprint="",
        target=ClassTarget(("even", "odd")),
        labelled=labelled[:cut],
        pairs=pairs[:cut],
        texts=tuple(left + right),
        dev=Rows(labelled[cut:], pairs[cut:]),
    )
