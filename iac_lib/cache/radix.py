"""SGLang's radix cache over the segments of a trace, compiled.

A node holds a run of segments from ``top`` down to ``bottom``; a request's path is found
by walking up from its last segment to the deepest one that is held. The rules are those
of SGLang's ``RadixCache`` (0.5.3 to 0.5.23):

* every node a lookup reaches is accessed now; a node it leaves half way is split, the new
  upper node copies the metadata, the lower remainder keeps its identity (and, a quirk, its
  refreshed access time);
* what is missing becomes one new node with the request's metadata;
* only childless, unlocked nodes are candidates; the lowest goes, whole, until the rest
  fits; ties go to the least recently used, then to the oldest.

A request longer than the cache is served without being cached. The module knows
policies only as three function pointers, and requests only as arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from iac_lib.cache.compiled import RANK_WIDTH
from iac_lib.cache.heap import NONE, Heap, insert, make_heap, remove
from iac_lib.cache.node import NODE

ROOT = 0
STATIC, EXPIRING, GROUPED, SCAN = range(4)
INDEX_KINDS = {"static": STATIC, "expiring": EXPIRING, "grouped": GROUPED, "scan": SCAN}
# Computed expiry times and the comparison in a priority may round differently.
EXPIRY_SLACK_S = 1e-6


class Counters(NamedTuple):
    """Positions in the integer state of a `Tree`."""

    used: int = 0
    locked: int = 1
    fresh: int = 2
    free: int = 3
    seq: int = 4


C = Counters()


class Tree(NamedTuple):
    """Everything a radix cache remembers.

    Parameters
    ----------
    nodes : NODE[slots]
        Slot 0 is the root.
    holder : int32[segments]
        Slot of the node that holds each segment, NONE if it is not cached.
    above : int32[segments]
        The segment above each segment, NONE at the root.
    depth : int64[segments]
        Tokens from the root to the segment's end.
    upcoming_s : float64[segments]
        Next arrival that needs each segment; empty unless the policy is an oracle.
    free : int32[slots]
        Stack of slots that were used and are free again.
    state : int64[5]
        Tokens used, tokens locked, first never-used slot, free-stack height, sequence.
    inflation : float64[1]
        First element of the last victim's priority (GDSF's L).
    """

    nodes: np.ndarray
    holder: np.ndarray
    above: np.ndarray
    depth: np.ndarray
    upcoming_s: np.ndarray
    free: np.ndarray
    state: np.ndarray
    inflation: np.ndarray


def make_tree(above: np.ndarray, depth: np.ndarray, slots: int, oracle: bool) -> Tree:
    """Return an empty cache that can hold `slots` nodes of the given segments."""
    nodes = np.zeros(slots, NODE)
    nodes[ROOT]["parent"] = nodes[ROOT]["top"] = nodes[ROOT]["bottom"] = NONE
    nodes[ROOT]["locks"] = 1
    state = np.zeros(len(C), np.int64)
    state[C.fresh] = 1
    return Tree(
        nodes=nodes,
        holder=np.full(len(above), NONE, np.int32),
        above=above,
        depth=depth,
        upcoming_s=np.full(len(above) if oracle else 0, np.inf),
        free=np.empty(slots, np.int32),
        state=state,
        inflation=np.zeros(1),
    )


class Index(NamedTuple):
    """Candidates for eviction in order, and when their order changes."""

    ranks: Heap
    timers: Heap


def make_index(slots: int, groups: int, expiring: bool) -> Index:
    """Return an empty index: ranks are a priority, last access and sequence number."""
    ranks = make_heap(slots, RANK_WIDTH + 2, groups)
    return Index(ranks, make_heap(slots if expiring else 1, 1))


@njit(cache=True, nogil=True)
def take_slot(tree):
    """Return an unused slot and give it the next sequence number."""
    state = tree.state
    if state[C.free] > 0:
        state[C.free] -= 1
        slot = np.int64(tree.free[state[C.free]])
    else:
        slot = state[C.fresh]
        state[C.fresh] += 1
    tree.nodes[slot].seq = state[C.seq]
    state[C.seq] += 1
    return slot


@njit(cache=True, nogil=True)
def deepest_held(tree, segment):
    """Return the deepest cached segment on the path that ends in `segment`, or NONE."""
    while segment != NONE and tree.holder[segment] == NONE:
        segment = tree.above[segment]
    return segment


@njit(cache=True, nogil=True)
def split(tree, lower, segment):
    """Cut node `lower` below `segment`; return the new upper node's slot."""
    nodes = tree.nodes
    upper = take_slot(tree)
    seq = nodes[upper].seq
    nodes[upper] = nodes[lower]
    nodes[upper].seq = seq
    nodes[upper].bottom = segment
    nodes[upper].children = 1
    kept = nodes[lower].depth_tokens - tree.depth[segment]
    nodes[upper].depth_tokens = tree.depth[segment]
    nodes[upper].tokens -= kept
    nodes[lower].tokens = kept
    nodes[lower].parent = upper
    below = nodes[lower].bottom
    while tree.above[below] != segment:
        below = tree.above[below]
    nodes[lower].top = below
    while segment != NONE and tree.holder[segment] == lower:
        tree.holder[segment] = upper
        segment = tree.above[segment]
    return upper


@njit(cache=True, nogil=True)
def touch(tree, node, now, score, context_tokens):
    """Record that a request at `now` used `node` and everything above it."""
    while node != ROOT:
        v = tree.nodes[node]
        v.last_access_s = now
        v.hits += 1
        v.score = score
        v.context_tokens = context_tokens
        v.inflation = tree.inflation[0]
        refresh_next_use(tree, node)
        node = np.int64(v.parent)


@njit(cache=True, nogil=True)
def refresh_next_use(tree, node):
    """Look up again when the node's first segment is needed next (oracles only)."""
    if tree.upcoming_s.size > 0:
        tree.nodes[node].next_use_s = tree.upcoming_s[tree.nodes[node].top]


@njit(cache=True, nogil=True)
def attach(tree, parent, above, segment):
    """Add a node below `parent` for the segments under `above` down to `segment`."""
    node = take_slot(tree)
    v = tree.nodes[node]
    v.parent, v.bottom, v.children, v.locks = parent, segment, 0, 0
    v.depth_tokens = tree.depth[segment]
    v.tokens = v.depth_tokens - (tree.depth[above] if above != NONE else 0)
    while segment != above:
        tree.holder[segment] = node
        v.top = segment
        segment = tree.above[segment]
    tree.nodes[parent].children += 1
    tree.state[C.used] += v.tokens
    return node


@njit(cache=True, nogil=True)
def detach(tree, node):
    """Drop a childless node; return its parent."""
    v = tree.nodes[node]
    segment = v.bottom
    while segment != NONE and tree.holder[segment] == node:
        tree.holder[segment] = NONE
        segment = tree.above[segment]
    parent = np.int64(v.parent)
    tree.nodes[parent].children -= 1
    tree.state[C.used] -= v.tokens
    tree.free[tree.state[C.free]] = node
    tree.state[C.free] += 1
    return parent


@njit(cache=True, nogil=True)
def lock(tree, node):
    """Keep `node` and everything above it from eviction."""
    while node != ROOT:
        v = tree.nodes[node]
        if v.locks == 0:
            tree.state[C.locked] += v.tokens
        v.locks += 1
        node = np.int64(v.parent)


@njit(cache=True, nogil=True)
def unlock(tree, index, kind, node, now, policy):
    """Undo one `lock`; what became free and is childless joins the candidates."""
    while node != ROOT:
        v = tree.nodes[node]
        v.locks -= 1
        if v.locks == 0:
            tree.state[C.locked] -= v.tokens
            if v.children == 0:
                offer(tree, index, kind, node, now, policy)
        node = np.int64(v.parent)


@njit(cache=True, nogil=True)
def offer(tree, index, kind, node, now, policy):
    """Make `node` a candidate for eviction."""
    v = tree.nodes[node]
    keys = index.ranks.keys
    keys[node, :RANK_WIDTH] = 0.0
    if kind in (STATIC, EXPIRING):
        rank = policy.rank(v, now, policy.tables, policy.numbers)
        for column in range(RANK_WIDTH):
            keys[node, column] = rank[column]
    keys[node, RANK_WIDTH] = v.last_access_s
    keys[node, RANK_WIDTH + 1] = v.seq
    v.group = policy.group(v, policy.tables, policy.numbers) if kind == GROUPED else 0
    insert(index.ranks, v.group, node)
    if kind == EXPIRING:
        when = policy.expires_s(v, policy.tables, policy.numbers)
        if now < when + EXPIRY_SLACK_S and when < np.inf:
            index.timers.keys[node, 0] = when
            insert(index.timers, 0, node)


@njit(cache=True, nogil=True)
def withdraw(tree, index, kind, node):
    """Make `node` no candidate; do nothing if it is none."""
    if index.ranks.inside[node]:
        remove(index.ranks, tree.nodes[node].group, node)
        if kind == EXPIRING and index.timers.inside[node]:
            remove(index.timers, 0, node)


@njit(cache=True, nogil=True)
def expire(tree, index, now, policy):
    """Rank again every candidate whose time has come."""
    timers, ranks = index.timers, index.ranks
    while timers.roots[0] != NONE:
        node = np.int64(timers.roots[0])
        if timers.keys[node, 0] > now + EXPIRY_SLACK_S:
            return
        remove(timers, 0, node)
        v = tree.nodes[node]
        if now < policy.expires_s(v, policy.tables, policy.numbers) + EXPIRY_SLACK_S:
            # Too close to call: look again at the next eviction.
            timers.keys[node, 0] = np.nextafter(now + EXPIRY_SLACK_S, np.inf)
            insert(timers, 0, node)
        rank = policy.rank(v, now, policy.tables, policy.numbers)
        changed = False
        for column in range(RANK_WIDTH):
            changed |= ranks.keys[node, column] != rank[column]
        if changed:
            remove(ranks, 0, node)
            for column in range(RANK_WIDTH):
                ranks.keys[node, column] = rank[column]
            insert(ranks, 0, node)


@njit(cache=True, nogil=True)
def find_victim(tree, index, kind, now, policy):
    """Return the lowest-ranked candidate (NONE if there is none)."""
    ranks = index.ranks
    if kind in (STATIC, EXPIRING):
        return np.int64(ranks.roots[0])
    nodes = tree.nodes
    best = np.int64(NONE)
    best_rank = policy.rank(nodes[ROOT], now, policy.tables, policy.numbers)
    count = ranks.roots.size if kind == GROUPED else tree.state[C.fresh]
    for position in range(count):
        node = np.int64(ranks.roots[position]) if kind == GROUPED else np.int64(position)
        if node == NONE or not ranks.inside[node]:
            continue
        rank = policy.rank(nodes[node], now, policy.tables, policy.numbers)
        if best == NONE or rank < best_rank or (rank == best_rank and is_older(nodes, node, best)):
            best, best_rank = node, rank
    return best


@njit(cache=True, nogil=True, inline="always")
def is_older(nodes, a, b):
    """Return whether a was accessed before b, or made before it if at the same time."""
    if nodes[a].last_access_s != nodes[b].last_access_s:
        return nodes[a].last_access_s < nodes[b].last_access_s
    return nodes[a].seq < nodes[b].seq
