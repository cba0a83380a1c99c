"""Pairing heaps against sorted lists, under any sequence of operations."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from iac_lib.cache.heap import NONE, insert, make_heap, remove

SLOTS, HEAPS = 12, 3
step = st.tuples(st.integers(0, SLOTS - 1), st.integers(0, HEAPS - 1), st.integers(0, 3))


@settings(max_examples=200, deadline=None)
@given(st.lists(step, max_size=80))
def test_the_root_is_always_the_lowest(steps):
    heap = make_heap(SLOTS, 2, HEAPS)
    where: dict[int, int] = {}
    for slot, which, key in steps:
        if slot in where:
            remove(heap, where.pop(slot), slot)
        else:
            heap.keys[slot] = key, slot
            insert(heap, which, slot)
            where[slot] = which
        for number in range(HEAPS):
            inside = [s for s in where if where[s] == number]
            lowest = min(inside, key=lambda s: tuple(heap.keys[s]), default=NONE)
            assert heap.roots[number] == lowest
        assert {s for s in range(SLOTS) if heap.inside[s]} == set(where)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=SLOTS))
def test_taking_the_root_again_and_again_sorts(keys):
    heap = make_heap(SLOTS, 2)
    for slot, key in enumerate(keys):
        heap.keys[slot] = key, slot
        insert(heap, 0, slot)
    taken = []
    while heap.roots[0] != NONE:
        taken.append(int(heap.roots[0]))
        remove(heap, 0, taken[-1])
    assert taken == sorted(range(len(keys)), key=lambda s: (keys[s], s))
