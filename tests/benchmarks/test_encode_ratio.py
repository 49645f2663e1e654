"""Our encode beside sentence-transformers': the same vectors, and how the times compare. No time is ever asserted.

    pytest tests/benchmarks/test_encode_ratio.py -s -m slow

prints seconds, their ratio, and the share of the rate at which this machine multiplies large matrices. Seconds are
wall clock, so only a machine with nothing else to do gives a ratio worth quoting; the CPU seconds beside it are less
sensitive. THAWBENCH_RATIO_TEXTS sets how many texts are taken (600).
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from thawbench.contracts import FloatArray
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import resolve_backbone
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.feature_cache import FeatureCache
from thawbench.strategies.precision import bfloat16_pays

ROUNDS = 2
PRECISIONS = ["float32", *(["bfloat16"] if bfloat16_pays("cpu") else [])]


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_encode_gives_the_vectors_of_sentence_transformers(
    precision: str, embedded: AdaptedEncoder, tmp_path: Path, benchmark: Any
) -> None:
    assert isinstance(embedded.source, Encoder)
    texts = abstracts(int(os.environ.get("THAWBENCH_RATIO_TEXTS", "600")))
    info = resolve_backbone("embedded", precision=precision, device="cpu")
    theirs = SentenceTransformer(info.folder, device="cpu")
    assert theirs.max_seq_length == info.max_length

    def encode_ours(round_: int = 0) -> FloatArray:
        cache = FeatureCache(tmp_path / f"{time.monotonic_ns()}-{round_}")  # an empty one, so that nothing is a hit
        return Encoder(info, embedded.source.model, embedded.source.tokenizer, cache).encode(texts)  # type: ignore[union-attr]

    def encode_theirs() -> FloatArray:
        return np.asarray(theirs.encode(texts, batch_size=32, show_progress_bar=False))

    ours_s, theirs_s = [], []
    for _ in range(ROUNDS):
        seconds, ours = timed(encode_ours)
        ours_s.append(seconds)
        seconds, expected = timed(encode_theirs)
        theirs_s.append(seconds)
    benchmark.pedantic(encode_ours, rounds=1)
    best = np.min(ours_s, axis=0)
    ratio = np.min(theirs_s, axis=0) / best
    lengths = [len(tokens.ids) for tokens in embedded.source.tokenize(texts)]
    achieved, peak = encoder_flops(embedded.source, lengths) / best[0] / 1e9, matmul_gflops()
    benchmark.extra_info.update(
        precision=precision, ratio_wall=ratio[0], ratio_cpu=ratio[1], gflops=achieved, share_of_matmul=achieved / peak
    )
    print(
        f"\n{precision}: {len(texts)} texts, {sum(lengths)} tokens in {best[0]:.2f} s ({best[1]:.2f} s CPU); "
        f"{ratio[0]:.2f} times sentence-transformers' rate by wall clock, {ratio[1]:.2f} by CPU time; "
        f"{achieved:.1f} GFLOP/s = {achieved / peak:.0%} of a large float32 product's {peak:.1f}"
    )
    ours = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, expected, atol=1e-4 if precision == "float32" else 2e-2)


def test_flops_of_one_block_are_those_counted_by_hand() -> None:
    # 2 tokens, 3 wide, 5 inside: projections 8*2*9 = 144, feed-forward 4*2*15 = 120, attention 4*4*3 = 48
    assert block_flops(tokens=2, dim=3, inner=5) == 144 + 120 + 48


def block_flops(tokens: int, dim: int, inner: int) -> int:
    """Multiplications and additions of a transformer block's matrix products on one text.

    8 n d^2 for query, key, value and output; 4 n d f for the feed-forward; 4 n^2 d for scores and their weighted sum.
    """
    return 8 * tokens * dim**2 + 4 * tokens * dim * inner + 4 * tokens**2 * dim


def encoder_flops(encoder: Encoder, lengths: list[int]) -> int:
    """Of all texts, by their real lengths: padding is work that nobody asked for."""
    config = encoder.model.config
    per_block = sum(block_flops(length, encoder.dim, config.intermediate_size) for length in lengths)
    return int(encoder.info.layer * per_block)


def matmul_gflops(size: int = 1536, rounds: int = 5) -> float:
    """The best rate of a float32 product of two square matrices here, with as many threads as torch has."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    a @ b
    fastest = min(timed(lambda: a @ b)[0][0] for _ in range(rounds))
    return 2 * size**3 / fastest / 1e9


def timed(run: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """(wall, CPU) seconds, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    return (time.perf_counter() - wall, time.process_time() - cpu), result


def abstracts(count: int) -> list[str]:
    """SciFact's first abstracts with their titles, or made-up texts of about the same spread of lengths."""
    if "HF_ENDPOINT" in os.environ:
        import datasets  # type: ignore[import-untyped]

        rows = datasets.load_dataset("mteb/scifact", "corpus", split=f"corpus[:{count}]")
        return [f"{row['title']} {row['text']}".strip() for row in rows]
    draw = random.Random(0)
    words = ["cell", "protein", "response", "of", "the", "in", "patients", "with", "increased", "risk", "factor", "we"]
    return [" ".join(draw.choices(words, k=max(20, int(draw.gauss(200, 70))))) for _ in range(count)]
