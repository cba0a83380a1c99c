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

A request longer than the cache is served without being cached. The tree knows nothing of
policies; who goes first is for `index`, what happens when for `replay`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from iac_lib.cache.heap import NONE
from iac_lib.cache.node import NODE

ROOT = 0


class Counters(NamedTuple):
    """Positions in the integer state of a `Tree`."""

    used: int = 0
    locked: int = 1
    fresh: int = 2
    free: int = 3
    seq: int = 4
    fault: int = 5


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
    state : int64[6]
        Tokens used, tokens locked, first never-used slot, free-stack height, sequence, fault.
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
