"""Who may be evicted, in order: the index of a radix cache's candidates.

``static`` and ``expiring`` policies keep one heap of ranks (and the latter a heap of times at
which a rank changes), ``grouped`` ones a heap per group, ``scan`` ones look at everybody. Each
finds exactly the victim that a scan would find.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from iac_lib.cache.compiled import KINDS, RANK_WIDTH
from iac_lib.cache.heap import NONE, Heap, insert, make_heap, remove
from iac_lib.cache.radix import ROOT, C

STATIC, EXPIRING, GROUPED, SCAN = range(4)
INDEX_KINDS = dict(zip(KINDS, range(4), strict=True))
# What a policy can do wrong at run time; 0 is nothing.
NOT_A_NUMBER, NO_SUCH_GROUP = 1, 2
# Computed expiry times and the comparison in a priority may round differently.
EXPIRY_SLACK_S = 1e-6


class Index(NamedTuple):
    """Candidates for eviction in order, and when their order changes."""

    ranks: Heap
    timers: Heap


def make_index(slots: int, groups: int, expiring: bool) -> Index:
    """Return an empty index: ranks are a priority, last access and sequence number."""
    ranks = make_heap(slots, RANK_WIDTH + 2, groups)
    return Index(ranks, make_heap(slots if expiring else 1, 1))


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
def write_rank(tree, keys, node, now, policy):
    """Put the node's priority at `now` into its row of `keys`; note it if it is no number."""
    rank = policy.rank(tree.nodes[node], now, policy.tables, policy.numbers)
    for column in range(RANK_WIDTH):
        keys[node, column] = rank[column]
        if np.isnan(rank[column]):
            tree.state[C.fault] = NOT_A_NUMBER


@njit(cache=True, nogil=True)
def offer(tree, index, kind, node, now, policy):
    """Make `node` a candidate for eviction."""
    v = tree.nodes[node]
    keys = index.ranks.keys
    keys[node, :RANK_WIDTH] = 0.0
    if kind in (STATIC, EXPIRING):
        write_rank(tree, keys, node, now, policy)
    keys[node, RANK_WIDTH] = v.last_access_s
    keys[node, RANK_WIDTH + 1] = v.seq
    which = policy.group(v, policy.tables, policy.numbers) if kind == GROUPED else 0
    if which < 0 or which >= index.ranks.roots.size:
        tree.state[C.fault] = NO_SUCH_GROUP
        which = 0
    v.group = which
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
        remove(ranks, 0, node)
        write_rank(tree, ranks.keys, node, now, policy)
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
        for column in range(RANK_WIDTH):
            if np.isnan(rank[column]):
                tree.state[C.fault] = NOT_A_NUMBER
        if best == NONE or rank < best_rank or (rank == best_rank and is_older(nodes, node, best)):
            best, best_rank = node, rank
    return best


@njit(cache=True, nogil=True, inline="always")
def is_older(nodes, a, b):
    """Return whether a was accessed before b, or made before it if at the same time."""
    if nodes[a].last_access_s != nodes[b].last_access_s:
        return nodes[a].last_access_s < nodes[b].last_access_s
    return nodes[a].seq < nodes[b].seq
