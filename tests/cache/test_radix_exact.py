"""The compiled replay equals the slow reference: hits, occupancy and every victim.

Each policy meets 200 random traces, conversations and blocks in turn, with its
parameters drawn anew for each trace.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import replay
from iac_lib.policies import (
    GDSF,
    IAC,
    LFU,
    LPC,
    LRU,
    MIN,
    SLRU,
    TB,
    TBS,
    TLRU,
    WA,
    FullHorizon,
    Policy,
)
from iac_lib.reuse.statistics import ReuseStatistics
from iac_lib.traces.schema import Trace
from tests.reference import optimum as slow_optimum
from tests.reference import policies as slow
from tests.reference import radix
from tests.reference.traces import INTENTS, TYPES, random_service, random_trace

SEEDS = range(200)
SIGNALS = [s for n in (1, 2, 3) for s in itertools.permutations(("recency", "reuse", "size"), n)]


class Pair(NamedTuple):
    """The same policy twice."""

    fast: Policy
    priority: radix.Priority
    score: radix.Score = lambda request: 0.0


def play(
    trace: Trace, policy: Policy, capacity: int, service_s: np.ndarray | None, *, scan: bool = False
) -> radix.Replay:
    """Return the compiled replay in the reference's form."""
    result = replay(trace, policy, capacity, service_s=service_s, record_victims=True, scan=scan)
    victims = result.victims[["request", "depth_tokens", "tokens"]].to_numpy().tolist()
    victims = [radix.Victim(*victim) for victim in victims]
    return radix.Replay(result.hit_tokens.tolist(), result.used_tokens.tolist(), victims)


def random_statistics(rng: np.random.Generator) -> ReuseStatistics:
    """Return tables with equal entries, sure and impossible reuse, and fixed delays."""
    shape = (len(INTENTS) + 1, int(rng.integers(3, 6)))
    return ReuseStatistics(
        reuse=rng.choice([0.0, 0.25, 0.5, 0.9, 1.0], size=shape),
        mu=np.log(rng.choice([0.3, 1.5, 6.0, 40.0], size=shape)),
        sigma=rng.choice([0.0, 0.5, 1.3], size=shape),
        reached=np.ones(shape),
        continued=np.ones(shape),
    )


def make_iac(rng: np.random.Generator) -> Pair:
    statistics = random_statistics(rng)
    signals = SIGNALS[rng.integers(len(SIGNALS))]
    kind = str(rng.choice(["median", "mean", "mode"]))
    return Pair(
        IAC(statistics=statistics, signals=signals, window=kind),
        slow.iac(statistics.windows(kind), statistics.reuse, signals),
    )


def make_full_horizon(rng: np.random.Generator) -> Pair:
    statistics, horizon_s = random_statistics(rng), float(rng.choice([1.0, 10.0, 300.0]))
    tables = statistics.reuse, statistics.mu, statistics.sigma
    return Pair(
        FullHorizon(statistics=statistics, horizon_s=horizon_s),
        slow.full_horizon(*tables, horizon_s),
    )


def make_wa(rng: np.random.Generator) -> Pair:
    shape = (len(TYPES) + 1, int(rng.integers(2, 5)))
    probability = rng.choice([0.0, 0.2, 0.5, 0.8], size=shape)
    rate = rng.choice([0.01, 0.1, 1.0], size=shape)
    return Pair(WA(probability=probability, rate=rate), slow.wa(probability, rate))


def make_lpc(rng: np.random.Generator) -> Pair:
    decay, table = float(rng.choice([0.01, 0.5])), rng.choice([0.0, 0.3, 0.7, 1.0], size=4)
    return Pair(
        LPC(decay_per_s=decay, continuation=table), slow.lpc(decay), slow.score_by_turn(table)
    )


def make_tlru(rng: np.random.Generator) -> Pair:
    threshold, prompt = float(rng.choice([0, 5, 30])), float(rng.choice([0, 4]))
    fast = TLRU(threshold_tokens=threshold, next_prompt_tokens=prompt)
    return Pair(fast, slow.tlru(threshold, prompt))


def make_slru(rng: np.random.Generator) -> Pair:
    threshold = int(rng.integers(1, 5))
    return Pair(SLRU(threshold=threshold), slow.slru(threshold))


def make_tb(rng: np.random.Generator) -> Pair:
    threshold_s = float(rng.choice([0.25, 3.0, 20.0]))
    return Pair(TB(threshold_s=threshold_s), slow.tb(threshold_s))


def make_tbs(rng: np.random.Generator) -> Pair:
    threshold_s = float(rng.choice([0.25, 3.0, 20.0]))
    return Pair(TBS(threshold_s=threshold_s), slow.tbs(threshold_s))


MAKERS: dict[str, Callable[[np.random.Generator], Pair]] = {
    "lru": lambda rng: Pair(LRU(), slow.lru()),
    "lfu": lambda rng: Pair(LFU(), slow.lfu()),
    "slru": make_slru,
    "gdsf-tokens": lambda rng: Pair(GDSF(cost="tokens"), slow.gdsf("tokens")),
    "gdsf-one": lambda rng: Pair(GDSF(cost="one"), slow.gdsf("one")),
    "lpc": make_lpc,
    "t-lru": make_tlru,
    "iac": make_iac,
    "full-horizon": make_full_horizon,
    "wa": make_wa,
    "min": lambda rng: Pair(MIN(), slow.minimum()),
    "tb": make_tb,
    "tb+s": make_tbs,
}

traced = cache(random_trace)


def assert_equal(fast: radix.Replay, expected: radix.Replay, context: str) -> None:
    for name in radix.Replay._fields:
        assert getattr(fast, name) == getattr(expected, name), f"{name} differ: {context}"


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("in_flight", [False, True], ids=["plain", "in-flight"])
def test_replay_equals_the_reference(name: str, in_flight: bool) -> None:
    for seed in SEEDS:
        trace, capacity = traced(seed)
        rng = np.random.default_rng([seed, 1])
        pair = MAKERS[name](rng)
        service_s = random_service(rng, trace) if in_flight else None
        expected = radix.replay(
            trace, capacity, pair.priority, score=pair.score, service_s=service_s
        )
        context = f"seed {seed}, capacity {capacity}, {pair.fast}"
        assert_equal(play(trace, pair.fast, capacity, service_s), expected, context)


@pytest.mark.parametrize("name", ["lfu", "iac", "wa", "tb"])  # every kind of index
def test_the_index_finds_what_a_scan_finds(name: str) -> None:
    for seed in SEEDS:
        trace, capacity = traced(seed)
        fast = MAKERS[name](np.random.default_rng([seed, 2])).fast
        expected = play(trace, fast, capacity, None, scan=True)
        assert_equal(play(trace, fast, capacity, None), expected, f"seed {seed}, {fast}")


def test_the_traces_are_nasty() -> None:
    """Otherwise the equalities above would say little."""
    plain = [radix.replay(*traced(seed), slow.lru()) for seed in SEEDS]
    assert sum(len(result.victims) > 5 for result in plain) > 60
    assert sum(sum(result.hit_tokens) > 0 for result in plain) > 120
    assert sum(min(result.used_tokens) == 0 for result in plain) > 10  # larger than the cache
    partial = [
        any(victim.tokens < victim.depth_tokens for victim in result.victims) for result in plain
    ]
    assert sum(partial) > 50  # a leaf goes, its parent stays


def test_optimum_equals_the_reference() -> None:
    for seed in SEEDS:
        trace, capacity = traced(seed)
        expected = slow_optimum.optimum(trace, capacity)
        assert optimum(trace, capacity).hit_tokens.tolist() == expected, f"seed {seed}"
