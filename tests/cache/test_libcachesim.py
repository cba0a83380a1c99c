"""LRU and LFU on flat blocks equal libCacheSim, hit by hit.

Every request is one block of the same size, so a radix node is a cache object. Ties: both
LFUs count from 1 again when an object returns, and among the least frequent evict the one
that was used longest ago (libCacheSim appends to a list per frequency at each hit). Times
differ between requests, so nothing depends on an order of creation.
"""

from __future__ import annotations

import numpy as np
import pytest

from iac_lib.cache.replay import replay
from iac_lib.policies import LFU, LRU, Policy
from tests.reference.traces import Row, block_trace

libcachesim = pytest.importorskip("libcachesim")

BLOCK_TOKENS = 16


def zipf_objects(seed: int, requests: int = 5000, objects: int = 500) -> np.ndarray:
    """Return object numbers, a few of them popular."""
    return np.random.default_rng(seed).zipf(1.2, requests) % objects


def their_hits(algorithm: str, objects: np.ndarray, capacity: int) -> list[bool]:
    """Return libCacheSim's answer to each request; their object numbers start at 1."""
    cache = getattr(libcachesim, algorithm)(capacity)
    requests = (libcachesim.Request(obj_size=1, obj_id=int(name) + 1) for name in objects)
    return [cache.get(request) for request in requests]


@pytest.mark.parametrize("policy", [LRU(), LFU()], ids=["LRU", "LFU"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_libcachesim(policy: Policy, seed: int) -> None:
    objects = zipf_objects(seed)
    rows = [Row(k, gap_s=1.0, blocks=((int(o), BLOCK_TOKENS),)) for k, o in enumerate(objects)]
    trace = block_trace(rows)
    for capacity in (1, 2, 10, 50, 200):
        ours = replay(trace, policy, capacity * BLOCK_TOKENS).hit_tokens
        assert set(ours) <= {0, BLOCK_TOKENS}
        expected = their_hits(type(policy).__name__, objects, capacity)
        assert (ours > 0).tolist() == expected, f"capacity {capacity}"
