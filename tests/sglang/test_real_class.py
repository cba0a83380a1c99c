"""The replay equals SGLang's own RadixCache: hits and victims, request by request.

Runs in environments of its own: `make sglang`. Times are made distinct, since a real
clock never stands still; equal times are for the reference in ``tests/cache``.
"""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("sglang") is None:
    pytest.skip("runs in environments of its own: make sglang", allow_module_level=True)

from iac_lib.cache.replay import replay
from iac_lib.policies import IAC, LFU, LRU, SLRU, Policy
from iac_lib.reuse.statistics import ReuseStatistics
from iac_lib.traces.schema import Trace
from tests.reference.requests import Symbol, requests_of
from tests.reference.traces import INTENTS, random_trace
from tests.sglang.real_radix import NEWER, RealRadix

pytestmark = pytest.mark.sglang

SEEDS = range(200)


def draw_statistics(rng: np.random.Generator) -> ReuseStatistics:
    shape = (len(INTENTS) + 1, 6)
    counts = np.ones(shape)
    reuse = rng.choice([0.2, 0.5, 0.8], shape)
    return ReuseStatistics(reuse, rng.normal(1.5, 1.0, shape), counts, counts, counts)


def with_distinct_times(trace: Trace) -> Trace:
    return trace.assign(arrival_s=trace.column("arrival_s") + 1e-3 * np.arange(len(trace)))


def compare(trace: Trace, policy: Policy, native: str | Policy, capacity: int) -> int:
    """Assert equality; return the number of evictions."""
    numbers: dict[tuple[Symbol, int], int] = {}
    count = itertools.count()
    real, hits = RealRadix(capacity, native), []
    for request in requests_of(trace):
        tokens = [
            numbers.setdefault((symbol, k), next(count))
            for symbol in request.path
            for k in range(symbol.tokens)
        ]
        hits.append(real.serve(request, tokens))
    ours = replay(trace, policy, capacity, record_victims=True)
    assert hits == ours.hit_tokens.tolist()
    assert real.victims == [tuple(victim) for victim in ours.victims.to_numpy().tolist()]
    return len(real.victims)


CASES = [("lru", LRU(), "lru"), ("iac", IAC(), None)]
if NEWER:  # in 0.5.3 hit_count never moves: its LFU is LRU, and there is no SLRU
    CASES += [("lfu", LFU(), "lfu"), ("slru", SLRU(threshold=2), "slru")]


@pytest.mark.parametrize(("policy", "native"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_random_traces(policy, native):
    evictions = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        trace, capacity = random_trace(seed)
        trace = with_distinct_times(trace)
        # A request that is not cached is never inserted, so SGLang does not count its hit.
        capacity = max(capacity, int(trace.segments.depth_tokens.max()))
        if native is None:
            policy = IAC(statistics=draw_statistics(rng))
        evictions += compare(trace, policy, native or policy, capacity)
    assert evictions > 200


def test_requests_longer_than_the_cache():
    for seed in SEEDS:
        trace, capacity = random_trace(seed)
        compare(with_distinct_times(trace), LRU(), "lru", capacity)
