"""Pairing heaps over node slots: many priority queues in one set of arrays.

A slot is a small integer that names a cache node. Every slot has a row of keys, compared
left to right; a heap is the slot at its root. Insert and meld are O(1), removal of any
slot is O(log n) amortised. Heaps know nothing of what the keys mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

NONE = -1


class Heap(NamedTuple):
    """Storage shared by `roots.size` heaps.

    Parameters
    ----------
    keys : float64[slots, width]
        Rank of each slot, lowest first, compared left to right.
    child, sibling, before : int32[slots]
        First child; next sibling; previous sibling, or the parent of a first child.
    roots : int32[heaps]
        Lowest slot of each heap, NONE when empty.
    inside : uint8[slots]
        1 while a slot is in a heap.
    """

    keys: np.ndarray
    child: np.ndarray
    sibling: np.ndarray
    before: np.ndarray
    roots: np.ndarray
    inside: np.ndarray


def make_heap(slots: int, width: int, heaps: int = 1) -> Heap:
    """Return empty heaps for slots 0..slots-1 with keys of `width` numbers."""
    return Heap(
        keys=np.empty((slots, width)),
        child=np.full(slots, NONE, np.int32),
        sibling=np.full(slots, NONE, np.int32),
        before=np.full(slots, NONE, np.int32),
        roots=np.full(heaps, NONE, np.int32),
        inside=np.zeros(slots, np.uint8),
    )


@njit(cache=True, nogil=True, inline="always")
def is_lower(keys, a, b):
    """Return whether slot a ranks before slot b."""
    for column in range(keys.shape[1]):
        if keys[a, column] != keys[b, column]:
            return keys[a, column] < keys[b, column]
    return False


@njit(cache=True, nogil=True)
def link(heap, a, b):
    """Meld the trees rooted at a and b (either may be NONE); return the new root."""
    if a == NONE:
        return b
    if b == NONE:
        return a
    if is_lower(heap.keys, b, a):
        a, b = b, a
    first = heap.child[a]
    heap.sibling[b] = first
    heap.before[b] = a
    if first != NONE:
        heap.before[first] = b
    heap.child[a] = b
    return a


@njit(cache=True, nogil=True)
def merge_children(heap, slot):
    """Detach the children of `slot` and meld them in two passes; return the root."""
    paired = NONE
    node = heap.child[slot]
    heap.child[slot] = NONE
    while node != NONE:
        partner = heap.sibling[node]
        heap.sibling[node] = NONE
        rest = NONE
        if partner != NONE:
            rest = heap.sibling[partner]
            heap.sibling[partner] = NONE
        tree = link(heap, node, partner)
        heap.sibling[tree] = paired  # the pairs form a stack, linked back to front
        paired = tree
        node = rest
    root = NONE
    while paired != NONE:
        rest = heap.sibling[paired]
        heap.sibling[paired] = NONE
        root = link(heap, root, paired)
        paired = rest
    if root != NONE:
        heap.before[root] = NONE
    return root


@njit(cache=True, nogil=True)
def insert(heap, which, slot):
    """Add `slot`, whose keys are set, to heap number `which`."""
    heap.child[slot] = NONE
    heap.sibling[slot] = NONE
    heap.before[slot] = NONE
    heap.inside[slot] = 1
    heap.roots[which] = link(heap, heap.roots[which], slot)


@njit(cache=True, nogil=True)
def remove(heap, which, slot):
    """Take `slot` out of heap number `which`, wherever it stands."""
    heap.inside[slot] = 0
    if heap.roots[which] == slot:
        heap.roots[which] = merge_children(heap, slot)
        return
    before, after = heap.before[slot], heap.sibling[slot]
    if heap.child[before] == slot:
        heap.child[before] = after
    else:
        heap.sibling[before] = after
    if after != NONE:
        heap.before[after] = before
    heap.roots[which] = link(heap, heap.roots[which], merge_children(heap, slot))
