from __future__ import annotations

import hashlib
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from iac_lib.intents import embedding_cache
from iac_lib.intents.embedding_cache import embed_cached

TEXTS = [f"[turn 1] text {i}" for i in range(25)]


class Hashing:
    """Embeds by hashing, and remembers what it was asked for."""

    name = "hashing"
    key = "hashing-1"
    dimension = 8

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked += texts
        digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        means = np.array([np.frombuffer(d, np.uint32) for d in digests], np.float32) / 2**32
        return means, np.array([len(text) for text in texts], np.int32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    monkeypatch.setenv("IAC_PROGRESS", "0")
    monkeypatch.setattr(embedding_cache, "SHARD_TEXTS", 10)
    return tmp_path / "embeddings" / Hashing.key


def assert_right(texts, means, tokens):
    expected = Hashing().embed(list(texts))
    assert means.dtype == np.float32 and tokens.dtype == np.int32
    np.testing.assert_array_equal(means, expected[0])
    np.testing.assert_array_equal(tokens, expected[1])


def test_every_text_is_embedded_once(folder):
    embedder = Hashing()
    shuffled = [TEXTS[i] for i in np.random.default_rng(0).integers(0, 25, 60)]
    assert_right(shuffled, *embed_cached(embedder, shuffled))
    assert_right(TEXTS, *embed_cached(embedder, TEXTS))
    assert_right(TEXTS[::-1], *embed_cached(embedder, TEXTS[::-1]))
    assert Counter(embedder.asked) == Counter(TEXTS)


def test_odd_texts_and_none():
    odd = ["", "\ud800 half a pair", "\0", "\0\0"]
    assert_right(odd, *embed_cached(Hashing(), odd))
    means, tokens = embed_cached(Hashing(), [])
    assert means.shape == (0, 8) and tokens.shape == (0,)


def test_another_key_is_another_cache():
    first, second = Hashing(), Hashing()
    second.key = "hashing-2"
    embed_cached(first, TEXTS)
    embed_cached(second, TEXTS)
    assert second.asked == TEXTS


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1:3]
import test_embedding_cache as test
from iac_lib.intents import embedding_cache

class Killed(test.Hashing):
    def embed(self, texts):
        if len(self.asked) == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)

embedding_cache.SHARD_TEXTS = 10
embedding_cache.embed_cached(Killed(), test.TEXTS)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_run_goes_on_where_it_was():
    here = Path(__file__).parent
    killed = subprocess.run([sys.executable, "-c", KILLED, str(here), str(here.parents[1])])
    assert killed.returncode == -9
    embedder = Hashing()
    assert_right(TEXTS, *embed_cached(embedder, TEXTS))
    assert embedder.asked == TEXTS[20:]


def test_a_flipped_bit_never_becomes_another_vector(folder):
    embed_cached(Hashing(), TEXTS[:10])
    (shard,) = folder.iterdir()
    intact, warned = shard.read_bytes(), 0
    for place in range(0, len(intact), 3):
        damaged = bytearray(intact)
        damaged[place] ^= 1 << place % 8
        shard.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert_right(TEXTS[:10], *embed_cached(Hashing(), TEXTS[:10]))
        warned += any(f"{shard.name} is damaged" in str(each.message) for each in caught)
        for other in set(folder.iterdir()) - {shard}:
            other.unlink()
    assert warned > len(intact) / 12


def test_a_cut_shard_and_one_being_written_do_no_harm(folder):
    embed_cached(Hashing(), TEXTS)
    shard = sorted(folder.iterdir())[0]
    (folder / ".half.parquet").write_bytes(shard.read_bytes()[:100])
    assert_right(TEXTS, *embed_cached(Hashing(), TEXTS))
    shard.write_bytes(shard.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="damaged"):
        assert_right(TEXTS, *embed_cached(Hashing(), TEXTS))


def test_a_cache_that_cannot_be_written_is_warned_about(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="not cached"):
        assert_right(TEXTS, *embed_cached(Hashing(), TEXTS))
