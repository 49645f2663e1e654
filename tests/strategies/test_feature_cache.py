import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.feature_cache import FeatureCache, Features, cache_size, texts_hash

TEXTS = ["the cat", "", "a dog \ud800"]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)
FEATURES = Features(VECTORS, tokens=9, truncated=1, seconds=1.25)


def test_what_was_put_comes_back_with_its_cost(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    assert cache.get("key", TEXTS) is None
    cache.put("key", TEXTS, FEATURES)
    found = cache.get("key", TEXTS)
    assert found is not None
    assert np.array_equal(found.vectors, VECTORS)
    assert found.vectors.flags.writeable
    assert (found.tokens, found.truncated, found.seconds) == (9, 1, 1.25)


def test_another_key_another_list_and_another_order_are_other_entries(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    cache.put("key", TEXTS, FEATURES)
    assert cache.get("other", TEXTS) is None
    assert cache.get("key", TEXTS[::-1]) is None


def test_lists_that_join_to_the_same_text_have_different_hashes() -> None:
    lists = [["ab"], ["a", "b"], ["", "ab"], ["ab", ""], ["a\0b"], []]
    assert len({texts_hash(texts) for texts in lists}) == len(lists)


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip_last(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("damage", [_cut, _flip_last, lambda _: b"", lambda _: b"not a tensor file" * 9])
def test_a_damaged_entry_is_set_aside_and_counts_as_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    cache = FeatureCache(tmp_path)
    cache.put("key", TEXTS, FEATURES)
    path = cache.path("key", TEXTS)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key", TEXTS) is None
    assert "damaged" in caplog.text
    assert os.fspath(path) in caplog.text
    assert not path.exists()
    assert path.with_suffix(".damaged").exists()
    cache.put("key", TEXTS, FEATURES)
    assert cache.get("key", TEXTS) is not None


def test_an_entry_of_another_number_of_texts_counts_as_damaged(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    cache.put("key", TEXTS, FEATURES)
    cache.path("key", TEXTS).rename(cache.path("key", TEXTS[:2]))
    assert cache.get("key", TEXTS[:2]) is None


def test_a_full_disk_fails_no_encode_and_leaves_nothing_half_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tiny: AdaptedEncoder
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    encoder = _encoder(tiny, tmp_path)
    for text in ("the cat", "the dog"):
        assert encoder.encode([text]).shape == (1, 32)
    assert cache_size(tmp_path) == (0, 0)
    assert caplog.text.count("No space left on device") == 1


def test_a_cache_that_cannot_be_written_fails_no_encode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tiny: AdaptedEncoder
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    assert _encoder(tiny, blocked).encode(["the cat"]).shape == (1, 32)
    assert "vectors are not kept" in caplog.text or "cannot be read" in caplog.text


def test_a_hit_gives_the_same_bits_and_reports_the_cold_seconds(tmp_path: Path, tiny: AdaptedEncoder) -> None:
    texts = ["the cat sat", "the dog", "good film " * 90]
    encoder = _encoder(tiny, tmp_path)
    with metered() as cold:
        first = encoder.encode(texts)
    with metered() as warm:
        second = encoder.encode(texts)
    assert np.array_equal(first, second)
    assert cold.seconds > 0
    assert warm.seconds == cold.seconds
    assert (warm.texts, warm.tokens, warm.truncated) == (cold.texts, cold.tokens, cold.truncated)
    assert (warm.texts, warm.truncated) == (3, 1)
    assert warm.spent != warm.seconds
    assert cache_size(tmp_path)[0] == 1


def test_the_size_of_a_cache_counts_files_and_bytes(tmp_path: Path) -> None:
    assert cache_size(tmp_path / "missing") == (0, 0)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "one").write_bytes(b"123")
    (tmp_path / "two").write_bytes(b"4567")
    assert cache_size(tmp_path) == (2, 7)


_WRITER = """
import itertools, sys
from pathlib import Path
import numpy as np
from thawbench.strategies.feature_cache import FeatureCache, Features

folder, start, times = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
for value in itertools.islice(itertools.count(start), times):
    vectors = np.full((3, 100_000), value, dtype=np.float32)
    FeatureCache(folder).put("key", TEXTS, Features(vectors, 1, 0, value))
"""


def _writer(folder: Path, start: int, times: int) -> "subprocess.Popen[bytes]":
    """A process that puts one entry again and again, its vectors all equal to its seconds."""
    program = _WRITER.replace("TEXTS", repr(TEXTS))
    command = [sys.executable, "-c", program, os.fspath(folder), str(start), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_two_writers_of_one_entry_leave_a_whole_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen = []
    with _writer(tmp_path, 0, 30) as one, _writer(tmp_path, 1000, 30) as other:
        while one.poll() is None or other.poll() is None:
            if found := FeatureCache(tmp_path).get("key", TEXTS):
                seen.append(found)
    assert (one.returncode, other.returncode) == (0, 0)
    last = FeatureCache(tmp_path).get("key", TEXTS)
    assert last is not None
    assert all((found.vectors == found.seconds).all() for found in [*seen, last])
    assert not caplog.text
    assert [path.suffix for path in (tmp_path / "key").iterdir()] == [".safetensors"]


def test_a_writer_killed_at_any_moment_leaves_a_whole_entry_or_none(tmp_path: Path) -> None:
    with _writer(tmp_path, 0, 10**9) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        path = FeatureCache(tmp_path).path("key", TEXTS)
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        writer.send_signal(signal.SIGKILL)
    found = FeatureCache(tmp_path).get("key", TEXTS)
    assert found is not None
    assert (found.vectors == found.seconds).all()
    assert not list(tmp_path.rglob("*.damaged"))


def _encoder(tiny: AdaptedEncoder, folder: Path) -> Encoder:
    assert isinstance(tiny.source, Encoder)
    return Encoder(tiny.source.info, tiny.source.model, tiny.source.tokenizer, FeatureCache(folder))
