"""The references on examples that were worked out with pencil and paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from iac_lib.traces.schema import Trace
from tests.reference import policies
from tests.reference.optimum import optimum
from tests.reference.radix import Future, Node, RadixCache, Victim, replay
from tests.reference.requests import Symbol, requests_of
from tests.reference.traces import Row, block_trace, conversation_trace

A, B, C, D, E = ((i, 10) for i in range(5))  # blocks of ten tokens


def blocks(*paths: tuple, gap_s: float = 1.0) -> Trace:
    """Return a trace of one request a second, one conversation each."""
    return block_trace([Row(i, gap_s, blocks=path) for i, path in enumerate(paths)])


def played(trace: Trace, capacity: int, priority=None) -> RadixCache:
    """Return the cache after all requests of `trace`."""
    requests = requests_of(trace)
    cache = RadixCache(capacity, priority or policies.lru(), Future(requests), lambda r: 0.0)
    for request in requests:
        cache.serve(request)
    return cache


def tree(cache: RadixCache) -> dict[str, Node]:
    """Return the nodes by their block ids, such as ``"01"``."""
    return {"".join(str(s.name) for s in node.symbols): node for node in cache.root.below()}


def test_turns_find_their_history() -> None:
    rows = [Row(0, 1, user_tokens=5, output_tokens=3), Row(1, 1), Row(0, 1, user_tokens=2)]
    result = replay(conversation_trace(rows), 100, policies.lru())
    assert result.hit_tokens == [0, 0, 8]
    assert result.used_tokens == [8, 9, 11]


def test_divergence_splits_a_node() -> None:
    nodes = tree(played(blocks((A, B, C), (A, B, D)), 1000))
    assert set(nodes) == {"01", "2", "3"}
    upper, lower, new = nodes["01"], nodes["2"], nodes["3"]
    assert (upper.seq, lower.seq, new.seq) == (1, 0, 2)
    assert (upper.hits, lower.hits, new.hits) == (2, 1, 1)
    assert (upper.last_access_s, lower.last_access_s) == (2.0, 2.0)  # SGLang refreshes both
    assert (upper.created_s, lower.created_s, new.created_s) == (1.0, 1.0, 2.0)
    assert (upper.depth_tokens, lower.depth_tokens, lower.tokens) == (20, 30, 10)


def test_a_prefix_of_a_node_splits_it_without_inserting() -> None:
    cache = played(blocks((A, B), (A,)), 1000)
    assert set(tree(cache)) == {"0", "1"}
    assert cache.used_tokens == 20


def test_a_partial_block_is_another_symbol() -> None:
    trace = blocks((A, B), (A, (B[0], 4)), (A, (B[0], 4)))
    assert replay(trace, 1000, policies.lru()).hit_tokens == [0, 10, 14]


def test_next_use_is_that_of_the_first_symbol() -> None:
    requests = requests_of(blocks((A, B, C), (A,), (A, D), (A, B, E)))
    cache = RadixCache(1000, policies.lru(), Future(requests), lambda r: 0.0)
    cache.serve(requests[0])
    assert tree(cache)["012"].next_use_s == 2.0
    cache.serve(requests[1])
    assert (tree(cache)["0"].next_use_s, tree(cache)["12"].next_use_s) == (3.0, 4.0)
    cache.serve(requests[2])
    assert tree(cache)["3"].next_use_s == math.inf


def test_lru_evicts_the_oldest_leaf_and_then_its_parent() -> None:
    # A-B and A-C share A; D needs room for 30: C is older than B, then B, then A.
    trace = blocks((A, C), (A, B), (A, B), (D, E, (9, 10)))
    result = replay(trace, 30, policies.lru())
    assert result.hit_tokens == [0, 10, 20, 0]
    assert result.victims == [Victim(3, 20, 10), Victim(3, 20, 10), Victim(3, 10, 10)]
    assert result.used_tokens == [20, 30, 30, 30]


def test_ties_go_to_the_first_created() -> None:
    trace = blocks((A,), (B,), (C,), (A,), (B,), gap_s=0.0)
    result = replay(trace, 20, policies.lru())
    assert result.victims == [Victim(row, 10, 10) for row in (2, 3, 4)]
    assert result.hit_tokens == [0] * 5


def test_the_matched_path_is_not_evicted() -> None:
    # A-B-C needs all room; the matched A is older than D but stays.
    result = replay(blocks((A,), (D,), (A, B, C)), 30, policies.lru())
    assert result.victims == [Victim(2, 10, 10)]
    assert result.hit_tokens == [0, 0, 10]
    assert result.used_tokens == [10, 20, 30]


def test_a_request_larger_than_the_cache_passes_by_but_touches() -> None:
    cache = played(blocks((A, B), (C,), (A, B, D, E), (D,)), 30)
    # The third request does not fit, but refreshes A-B: so C goes for D.
    assert cache.victims == [Victim(3, 10, 10)]
    assert set(tree(cache)) == {"01", "3"}
    assert tree(cache)["01"].hits == 2


def test_the_lower_part_of_a_split_can_go_at_once() -> None:
    result = replay(blocks((A, B), (A, C)), 20, policies.lru())
    assert result.victims == [Victim(1, 20, 10)]
    assert result.hit_tokens == [0, 10]


def test_requests_in_flight_lock_their_path() -> None:
    trace = blocks((A,), (B,), (C,), (D,), (A,))
    # At 3 s both A (until 6) and B (until 7) are locked: C passes by. At 4 s B is still
    # locked. A is free at 6, after the last arrival at 5.
    result = replay(trace, 20, policies.lru(), service_s=[5.0, 5.0, 1.0, 1.0, 1.0])
    assert result.hit_tokens == [0, 0, 0, 0, 10]
    assert result.victims == []
    # A lock ends at its finish time: A, locked until 3, can go at 3.
    result = replay(trace, 20, policies.lru(), service_s=[2.0, 5.0, 1.0, 1.0, 1.0])
    assert result.victims == [Victim(2, 10, 10), Victim(3, 10, 10), Victim(4, 10, 10)]


def test_a_split_keeps_both_parts_locked() -> None:
    trace = blocks((A, B), (A,), (C, D))
    result = replay(trace, 30, policies.lru(), service_s=[9.0, 0.0, 0.0])
    assert result.victims == []
    assert result.used_tokens == [20, 20, 20]


def test_gdsf_inflates_with_each_victim() -> None:
    cache = played(blocks((A,), (A,), (B,), (C,), (D,)), 20, policies.gdsf("tokens"))
    # A has 2 hits. B (0 + 1) goes for C, which starts at 1 + 1 and goes after A (0 + 2,
    # a tie) since A's last access is older; then D starts at 2 + 1.
    assert cache.victims == [Victim(3, 10, 10), Victim(4, 10, 10)]
    assert set(tree(cache)) == {"2", "3"}
    assert cache.inflation == 2
    assert (tree(cache)["2"].inflation, tree(cache)["3"].inflation) == (1, 2)


def node(**values: float) -> Node:
    """Return a node of ten tokens at depth 30 with the given metadata."""
    root = Node([], None, -1)
    parent = Node([Symbol("above", 20)], root, 0)
    return Node([Symbol("own", 10)], parent, 1, **values)


def test_priorities() -> None:
    table = np.array([[0.0, 0.1, 0.2], [0.0, 0.3, 0.4]])
    seen = node(
        created_s=10.0, last_access_s=20.0, hits=3, turn=7, intent=-1, request_type=0,
        score=0.5, context_tokens=50, next_use_s=35.0, inflation=2.0,
    )  # fmt: skip
    now = 25.0
    assert policies.lru()(seen, now) == (20.0,)
    assert policies.lfu()(seen, now) == (3, 20.0)
    assert policies.slru(2)(seen, now) == (True, 20.0)
    assert policies.slru(4)(seen, now) == (False, 20.0)
    assert policies.gdsf("tokens")(seen, now) == (5.0,)
    assert policies.gdsf("one")(seen, now) == (2.3,)
    assert policies.lpc(0.01)(seen, now) == (0.2,)
    assert policies.tlru(40, 10)(seen, now) == (-1, 20.0)  # budget 20, starts at 20
    assert policies.tlru(39, 10)(seen, now) == (0, 20.0)
    window = np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 15.5]])
    assert policies.iac(window, table, ("recency", "reuse", "size"))(seen, now) == (True, 0.4, 10)
    assert policies.iac(window, table, ("size", "recency"))(seen, 25.5) == (10, False)
    assert policies.minimum()(seen, now) == (-35.0,)
    assert policies.tb(10.0)(seen, now) == (False, 20.0)
    assert policies.tbs(10.5)(seen, now) == (True, 10)
    expected = 0.2 * (math.exp(-0.2 * 5) - math.exp(-0.2 * 10))
    assert policies.wa(table, table)(seen, now) == (pytest.approx(expected),)


def test_full_horizon_is_a_conditional_probability() -> None:
    ones = np.ones((2, 2))
    priority = policies.full_horizon(0.5 * ones, math.log(10.0) * ones, ones, 1e9)
    seen = node(created_s=0.0, turn=1, intent=0)
    # At the median age, half of the 50 % that come back have come: 0.25 of 0.75 are left.
    assert priority(seen, 10.0) == (pytest.approx(1 / 3), 10)
    assert priority(seen, 0.0) == (pytest.approx(0.5), 10)
    certain = policies.full_horizon(ones, math.log(10.0) * ones, 0 * ones, 5.0)
    # At the only possible delay it counts as half come; what is left of a sure follow-up is sure.
    assert [certain(seen, now)[0] for now in (0.0, 5.0, 9.0, 10.0, 11.0)] == [0, 0.5, 1, 1, 0]
    # Far in the tail, where 1 - F would round to 0, a sure follow-up is still to come.
    sure = policies.full_horizon(ones, math.log(1.0) * ones, 0.5 * ones, 1e6)
    assert sure(seen, 100.0)[0] == pytest.approx(1)


def test_optimum_keeps_what_is_used_next() -> None:
    trace = blocks((A, B), (C,), (D,), (C,), (A, B))
    # 20 tokens: A or B can stay for row 4 (A, shallower) beside C; D is never used again.
    assert optimum(trace, 20) == [0, 0, 0, 10, 10]
    assert optimum(trace, 30) == [0, 0, 0, 10, 20]
    assert optimum(trace, 15) == [0, 0, 0, 10, 5]


def test_optimum_of_conversations_counts_the_answer() -> None:
    rows = [Row(0, 1, user_tokens=5, output_tokens=3), Row(1, 1), Row(0, 1, user_tokens=2)]
    assert optimum(conversation_trace(rows), 6) == [0, 0, 6]
