"""Replay a trace against a policy and a capacity: who hits, who goes, how full it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from iac_lib.cache.capacity import check_capacity
from iac_lib.cache.compiled import compile_policy
from iac_lib.cache.future import NEVER, NextUses, find_next_uses
from iac_lib.cache.heap import NONE
from iac_lib.cache.index import (
    EXPIRING,
    GROUPED,
    INDEX_KINDS,
    NO_SUCH_GROUP,
    NOT_A_NUMBER,
    SCAN,
    expire,
    find_victim,
    make_index,
    offer,
    unlock,
    withdraw,
)
from iac_lib.cache.radix import (
    ROOT,
    C,
    Tree,
    attach,
    deepest_held,
    detach,
    lock,
    make_tree,
    refresh_next_use,
    split,
    touch,
)
from iac_lib.policies.policy import Policy

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace


@dataclass(frozen=True)
class ReplayResult:
    """What happened to every request.

    Parameters
    ----------
    policy, trace : str
        Names, for tables and figures.
    capacity_tokens : int
    input_tokens, hit_tokens : int64[n]
        Input of each request, and how much of it the cache served.
    used_tokens : int64[n]
        Tokens in the cache after each request.
    victims : DataFrame
        ``request`` (row that made room), ``depth_tokens`` (end of the evicted node),
        ``tokens``; empty unless asked for.
    """

    policy: str
    trace: str
    capacity_tokens: int
    input_tokens: np.ndarray = field(repr=False)
    hit_tokens: np.ndarray = field(repr=False)
    used_tokens: np.ndarray = field(repr=False)
    victims: pd.DataFrame = field(repr=False)

    @property
    def hit_rate(self) -> float:
        """Token-weighted cache hit rate (0..1)."""
        return float(self.hit_tokens.sum() / max(self.input_tokens.sum(), 1))

    @property
    def hit_ratios(self) -> np.ndarray:
        """float64[n]: share of each request's own input that was served from cache."""
        return self.hit_tokens / self.input_tokens


class Requests(NamedTuple):
    """Columns of a trace as the compiled loop reads them, one entry per request."""

    arrival_s: np.ndarray
    service_s: np.ndarray
    input_tokens: np.ndarray
    leaf: np.ndarray
    turn: np.ndarray
    intent: np.ndarray
    request_type: np.ndarray
    score: np.ndarray


def replay(
    trace: Trace,
    policy: Policy,
    capacity_tokens: int,
    *,
    service_s: np.ndarray | float | None = None,
    record_victims: bool = False,
    scan: bool = False,
) -> ReplayResult:
    """Replay `trace` through a radix cache of `capacity_tokens` under `policy`.

    Parameters
    ----------
    trace : Trace
    policy : Policy
        Fitted, if it learns.
    capacity_tokens : int
        Size of the KV cache.
    service_s : float64[n], float or None
        Seconds for which a request keeps its path locked; None: it locks nothing.
    record_victims : bool
        Also return every eviction, in order.
    scan : bool
        Look at every leaf at every eviction instead of using the policy's index: the
        same victims, slower.

    Raises
    ------
    ValueError
        If the capacity or a service time is not positive, or the policy is not fitted or was
        fitted on other intents or request types, or returns NaN.
    TypeError
        If the policy's functions are not what they must be (see `compile_policy`).
    """
    _, requests, hits, used, victims = simulate(
        trace, policy, capacity_tokens, service_s, record_victims, scan, len(trace)
    )
    frame = pd.DataFrame(victims, columns=["request", "depth_tokens", "tokens"])
    return ReplayResult(
        policy.name, trace.name, int(capacity_tokens), requests.input_tokens, hits, used, frame
    )


def simulate(
    trace: Trace,
    policy: Policy,
    capacity_tokens: int,
    service_s: np.ndarray | float | None,
    record_victims: bool,
    scan: bool,
    stop: int,
) -> tuple[Tree, Requests, np.ndarray, np.ndarray, np.ndarray]:
    """Serve the first `stop` requests; return the tree they leave and what happened."""
    if not isinstance(policy, Policy):
        raise TypeError(f"{policy!r} is no policy; pass an instance, such as LRU()")
    capacity_tokens = check_capacity(capacity_tokens)
    segments = trace.segments
    requests = Requests(*(column[:stop] for column in read_requests(trace, policy, service_s)))
    policy.check(trace)
    compiled = compile_policy(policy)
    kind = SCAN if scan else INDEX_KINDS[policy.index]
    uses = NextUses(np.zeros(1, np.int64), np.zeros(0, np.int32))
    if policy.needs_future:
        uses = find_next_uses(segments.parent, segments.leaf)
    slots = min(capacity_tokens, len(segments.parent)) + 2
    tree = make_tree(segments.parent, segments.depth_tokens, slots, policy.needs_future)
    groups = policy.count_groups() if kind == GROUPED else 1
    ranks = make_index(slots, groups, kind == EXPIRING)
    hits, used = np.zeros(stop, np.int64), np.zeros(stop, np.int64)
    victims = np.empty((2 * stop if record_victims else 0, 3), np.int64)
    gone = run(
        requests, uses, tree, ranks, kind, capacity_tokens,
        compiled, hits, used, victims, trace.column("arrival_s"),
    )  # fmt: skip
    if tree.state[C.fault] == NOT_A_NUMBER:
        raise ValueError(f"policy {policy.name} returned NaN as a priority")
    if tree.state[C.fault] == NO_SUCH_GROUP:
        raise ValueError(f"policy {policy.name} returned a group outside 0..{groups - 1}")
    return tree, requests, hits, used, victims[:gone]


def read_requests(trace: Trace, policy: Policy, service_s: np.ndarray | float | None) -> Requests:
    """Return the arrays that the compiled loop needs."""
    n = len(trace)
    service = np.full(n, -1.0)
    if service_s is not None:
        if np.shape(service_s) not in ((), (n,)):
            raise ValueError(f"service_s has shape {np.shape(service_s)}, the trace {n} requests")
        service[:] = service_s
        if not (service >= 0).all():
            row = int(np.flatnonzero(~(service >= 0))[0])
            raise ValueError(f"service_s[{row}] = {service[row]}; must be a time >= 0")
    score = policy.score_requests(trace)
    if np.isnan(score).any():
        row = int(np.flatnonzero(np.isnan(score))[0])
        raise ValueError(f"policy {policy.name} gives request {row} the score NaN")
    return Requests(
        arrival_s=trace.column("arrival_s"),
        service_s=service,
        input_tokens=trace.column("input_tokens"),
        leaf=trace.segments.leaf,
        turn=trace.column("turn"),
        intent=trace.column("intent"),
        request_type=trace.column("request_type"),
        score=score,
    )


@njit(cache=True, nogil=True)
def run(
    requests, uses, tree, index, kind, capacity, policy, hits, used, victims, arrivals
):  # fmt: skip
    """Serve every request in order; fill `hits`, `used`, `victims`; return evictions.

    `arrivals` are the times of the whole trace, which the requests may be the start of.
    """
    oracle = tree.upcoming_s.size > 0
    nodes, state = tree.nodes, tree.state
    gone = 0
    running = [(np.inf, np.int64(ROOT))]  # (finish time, last node of the locked path)
    for r in range(len(requests.arrival_s)):
        now = requests.arrival_s[r]
        while running[0][0] <= now:
            _, node = heappop(running)
            unlock(tree, index, kind, node, now, policy)
        leaf = np.int64(requests.leaf[r])
        if oracle:
            foresee(tree, requests, uses, r, arrivals)

        matched = np.int64(deepest_held(tree, leaf))
        found = tree.depth[matched] if matched != NONE else 0
        hits[r] = min(found, requests.input_tokens[r])
        node = np.int64(ROOT)
        if matched != NONE:
            node = np.int64(tree.holder[matched])
            withdraw(tree, index, kind, node)
            nodes[node].last_access_s = now
            if nodes[node].bottom != matched:
                lower = node
                node = split(tree, lower, matched)
                refresh_next_use(tree, lower)
                if nodes[lower].children == 0 and nodes[lower].locks == 0:
                    offer(tree, index, kind, lower, now, policy)
            touch(tree, node, now, requests.score[r], tree.depth[leaf])

        missing = tree.depth[leaf] - found
        lock(tree, node)
        if missing > 0 and state[C.locked] + missing <= capacity:
            if kind == EXPIRING and state[C.used] + missing > capacity:
                expire(tree, index, now, policy)
            while state[C.used] + missing > capacity:
                victim = find_victim(tree, index, kind, now, policy)
                tree.inflation[0] = policy.rank(nodes[victim], now, policy.tables, policy.numbers)[
                    0
                ]
                withdraw(tree, index, kind, victim)
                if gone < len(victims):
                    victims[gone, 0] = r
                    victims[gone, 1] = nodes[victim].depth_tokens
                    victims[gone, 2] = nodes[victim].tokens
                gone += 1
                parent = detach(tree, victim)
                if nodes[parent].children == 0 and nodes[parent].locks == 0:
                    offer(tree, index, kind, parent, now, policy)
            fill(tree, requests, r, node, matched, leaf, now)
            new = np.int64(tree.holder[leaf])
            lock(tree, new)
            unlock(tree, index, kind, node, now, policy)
            node = new
        if requests.service_s[r] >= 0.0:
            heappush(running, (now + requests.service_s[r], node))
        else:
            unlock(tree, index, kind, node, now, policy)
        used[r] = state[C.used]
    return gone


@njit(cache=True, nogil=True)
def foresee(tree, requests, uses, r, arrivals):
    """Update when the segments on request r's path are needed next."""
    segment, entry = np.int64(requests.leaf[r]), uses.starts[r]
    while segment != NONE:
        following = uses.requests[entry]
        tree.upcoming_s[segment] = arrivals[following] if following != NEVER else np.inf
        segment = np.int64(tree.above[segment])
        entry += 1


@njit(cache=True, nogil=True)
def fill(tree, requests, r, parent, matched, leaf, now):
    """Cache the missing end of request r's path as one node that carries its metadata."""
    v = tree.nodes[attach(tree, parent, matched, leaf)]
    v.created_s = v.last_access_s = now
    v.hits = 1
    v.turn, v.intent = requests.turn[r], requests.intent[r]
    v.request_type = requests.request_type[r]
    v.score = requests.score[r]
    v.context_tokens = tree.depth[leaf]
    v.inflation = tree.inflation[0]
    v.next_use_s = np.inf
    refresh_next_use(tree, tree.holder[leaf])
