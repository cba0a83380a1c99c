"""What must hold for every trace, found or refuted by Hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import ReplayResult, replay
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
from tests.reference.radix import common_length
from tests.reference.requests import paths_of, token_count
from tests.reference.traces import INTENTS, TYPES, conversation_traces, traces

few = settings(max_examples=50, deadline=None)
capacities = st.integers(1, 60)
seeds = st.integers(0, 2**32 - 1)
INFINITE = 10**9


def ramp(rows: int, low: float, high: float) -> np.ndarray:
    """Return a table [rows, 4] whose entries all differ."""
    return np.linspace(low, high, rows * 4).reshape(rows, 4)


STATES = len(INTENTS) + 1
STATISTICS = ReuseStatistics(
    reuse=ramp(STATES, 0.1, 0.9),
    mu=ramp(STATES, -1.0, 3.0),
    sigma=ramp(STATES, 0.8, 1.2),
    reached=np.ones((STATES, 4)),
    continued=np.ones((STATES, 4)),
)
POLICIES = [
    LRU(),
    LFU(),
    SLRU(),
    GDSF(cost="tokens"),
    GDSF(cost="one"),
    LPC(continuation=np.array([0.0, 0.3, 0.6, 0.9])),
    TLRU(threshold_tokens=8, next_prompt_tokens=2),
    IAC(statistics=STATISTICS),
    FullHorizon(statistics=STATISTICS, horizon_s=5.0),
    WA(probability=ramp(len(TYPES) + 1, 0.1, 0.9), rate=ramp(len(TYPES) + 1, 0.01, 1.0)),
    MIN(),
    TB(threshold_s=3.0),
    TBS(threshold_s=3.0),
]
NAMES = [f"{k}-{policy.name}" for k, policy in enumerate(POLICIES)]
policies = st.sampled_from(POLICIES)


def infinite_hits(trace: Trace) -> list[int]:
    """Return the tokens of each request that any earlier one had."""
    paths = paths_of(trace)
    longest = [
        max((common_length(path, earlier) for earlier in paths[:row]), default=0)
        for row, path in enumerate(paths)
    ]
    return [token_count(path[:k]) for path, k in zip(paths, longest, strict=True)]


def reorder(trace: Trace, rows: np.ndarray) -> Trace:
    """Return `trace` with its rows in another order (of equal times)."""
    blocks = None if trace.blocks is None else trace.blocks.select(rows)
    return replace(trace, requests=trace.requests.iloc[rows], blocks=blocks)


def shuffle_ties(trace: Trace, seed: int) -> np.ndarray:
    """Return rows in which conversations that arrive at the same time change places."""
    key = np.random.default_rng(seed).random(len(trace))[trace.conversation_codes]
    return np.lexsort([np.arange(len(trace)), key, trace.column("arrival_s")])


def scale_tokens(trace: Trace, factor: int) -> Trace:
    """Return `trace` with every token replaced by `factor` tokens."""
    columns = {c: trace.column(c) * factor for c in ("input_tokens", "output_tokens")}
    blocks = trace.blocks
    if blocks is not None:
        blocks = replace(blocks, tokens=blocks.tokens * factor)
    return replace(trace, requests=trace.requests.assign(**columns), blocks=blocks)


def play(trace: Trace, policy: Policy, capacity: int, **options: float) -> ReplayResult:
    return replay(trace, policy, capacity, record_victims=True, **options)


def assert_same(a: ReplayResult, b: ReplayResult, factor: int = 1) -> None:
    """Fail unless `b` is `a` with all token counts times `factor`."""
    np.testing.assert_array_equal(a.hit_tokens * factor, b.hit_tokens)
    np.testing.assert_array_equal(a.used_tokens * factor, b.used_tokens)
    expected = a.victims.assign(**{c: a.victims[c] * factor for c in ("depth_tokens", "tokens")})
    np.testing.assert_array_equal(expected.to_numpy(), b.victims.to_numpy())


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@few
@given(trace=traces(), capacity=capacities, service_s=st.sampled_from([None, 0.5, 5.0]))
def test_no_policy_beats_its_bounds(
    policy: Policy, trace: Trace, capacity: int, service_s: float | None
) -> None:
    result = play(trace, policy, capacity, service_s=service_s)
    assert (result.used_tokens <= capacity).all()
    assert (result.used_tokens >= 0).all()
    assert (result.hit_tokens <= infinite_hits(trace)).all()
    assert (result.hit_tokens <= trace.column("input_tokens")).all()
    assert result.hit_tokens.sum() <= optimum(trace, capacity).hit_tokens.sum()


@few
@given(trace=traces(), policy=policies)
def test_an_infinite_cache_finds_everything_that_was_seen(trace: Trace, policy: Policy) -> None:
    expected = infinite_hits(trace)
    result = play(trace, policy, INFINITE)
    assert result.hit_tokens.tolist() == expected
    assert len(result.victims) == 0
    assert optimum(trace, INFINITE).hit_tokens.tolist() == expected


@few
@given(trace=traces(), capacity=capacities, more=st.integers(1, 10))
def test_more_capacity_never_lowers_the_optimum(trace: Trace, capacity: int, more: int) -> None:
    """MIN keeps in the smaller cache a part of what it keeps in the larger: at every request."""
    small, large = optimum(trace, capacity), optimum(trace, capacity + more)
    assert (small.hit_tokens <= large.hit_tokens).all()


@few
@given(trace=traces(), policy=policies, capacity=capacities)
def test_a_replay_repeats(trace: Trace, policy: Policy, capacity: int) -> None:
    assert_same(play(trace, policy, capacity), play(trace, policy, capacity))


@few
@given(trace=traces(), policy=policies, capacity=capacities)
def test_names_do_not_matter(trace: Trace, policy: Policy, capacity: int) -> None:
    """Conversations, requests and blocks under other names are the same trace."""
    renamed = trace.assign(
        conversation_id=[f"c{-c}" for c in trace.column("conversation_id")],
        request_id=[f"r{-r}" for r in trace.column("request_id")],
    )
    if trace.blocks is not None:
        renamed = replace(renamed, blocks=replace(trace.blocks, ids=7 - trace.blocks.ids))
    assert_same(play(trace, policy, capacity), play(renamed, policy, capacity))
    expected = optimum(trace, capacity).hit_tokens
    np.testing.assert_array_equal(optimum(renamed, capacity).hit_tokens, expected)


@few
@given(trace=traces(), policy=policies, capacity=capacities)
def test_only_differences_of_times_matter(trace: Trace, policy: Policy, capacity: int) -> None:
    """A later start changes nothing. The times are multiples of 1/4: the sums are exact."""
    assume(not isinstance(policy, LPC))  # decay * time is rounded, which can break a tie
    later = trace.assign(arrival_s=trace.column("arrival_s") + 1024.0)
    assert_same(play(trace, policy, capacity), play(later, policy, capacity))


@few
@given(trace=traces(), policy=policies, capacity=capacities)
def test_the_unit_of_tokens_does_not_matter(trace: Trace, policy: Policy, capacity: int) -> None:
    """Four times the tokens in four times the cache: four times the hits."""
    larger = policy
    if isinstance(policy, TLRU):
        threshold, prompt = policy.threshold_tokens * 4, policy.next_prompt_tokens * 4
        larger = replace(policy, threshold_tokens=threshold, next_prompt_tokens=prompt)
    scaled = scale_tokens(trace, 4)
    assert_same(play(trace, policy, capacity), play(scaled, larger, 4 * capacity), factor=4)
    expected = 4 * optimum(trace, capacity).hit_tokens
    np.testing.assert_array_equal(optimum(scaled, 4 * capacity).hit_tokens, expected)


@few
@given(trace=conversation_traces(), policy=policies, seed=seeds)
def test_ties_between_conversations_do_not_matter_while_all_fits(
    trace: Trace, policy: Policy, seed: int
) -> None:
    """Nothing is shared between conversations, so each request finds the same history.

    In a full cache the order does matter: the first created goes first.
    """
    rows = shuffle_ties(trace, seed)
    shuffled = play(reorder(trace, rows), policy, INFINITE)
    expected = play(trace, policy, INFINITE).hit_tokens[rows]
    np.testing.assert_array_equal(shuffled.hit_tokens, expected)


@few
@given(trace=traces(), policy=policies, seed=seeds)
def test_ties_move_hits_only_within_their_moment(trace: Trace, policy: Policy, seed: int) -> None:
    """Of requests that share blocks the first one misses them, whichever it is."""
    rows = shuffle_ties(trace, seed)
    a, b = play(trace, policy, INFINITE), play(reorder(trace, rows), policy, INFINITE)
    moment_ends = np.flatnonzero(np.diff(trace.column("arrival_s"), append=np.inf) > 0)
    np.testing.assert_array_equal(
        np.cumsum(a.hit_tokens)[moment_ends], np.cumsum(b.hit_tokens)[moment_ends]
    )
    np.testing.assert_array_equal(a.used_tokens[moment_ends], b.used_tokens[moment_ends])
