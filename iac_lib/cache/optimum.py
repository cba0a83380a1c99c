"""The optimum: the most tokens any policy could have served from the cache.

Belady's MIN at token granularity with bypass. Tokens have unit size, and an ancestor's
next use is never later than its descendant's, so MIN with ties broken leaf-first keeps
the cache prefix-closed and loses nothing to the tree: no policy that runs on the same
trace and capacity hits more, whole-node eviction and forced admission included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from iac_lib.cache.capacity import check_capacity
from iac_lib.cache.future import NEVER, find_next_uses
from iac_lib.cache.heap import insert, make_heap, remove

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace


@dataclass(frozen=True)
class Optimum:
    """What the clairvoyant token cache served.

    Parameters
    ----------
    hit_tokens, input_tokens : int64[n]
        Input tokens served from cache, and all input tokens, per request.
    """

    hit_tokens: np.ndarray
    input_tokens: np.ndarray

    @property
    def hit_rate(self) -> float:
        """Token-weighted cache hit rate (0..1)."""
        return float(self.hit_tokens.sum() / max(self.input_tokens.sum(), 1))


def optimum(trace: Trace, capacity_tokens: int) -> Optimum:
    """Return the best that can be done on `trace` with `capacity_tokens` of cache."""
    capacity = check_capacity(capacity_tokens)
    segments = trace.segments
    input_tokens = trace.column("input_tokens")
    uses = find_next_uses(segments.parent, segments.leaf)
    order = make_heap(len(segments.parent), 2)
    hits = keep_nearest(
        segments.parent, segments.tokens, segments.depth_tokens, segments.leaf,
        input_tokens, uses, order, capacity,
    )  # fmt: skip
    return Optimum(hits, input_tokens)


@njit(cache=True, nogil=True)
def keep_nearest(above, tokens, depth, leaf, input_tokens, uses, order, capacity):
    """Replay every request, then keep the `capacity` tokens that are needed soonest.

    `order` holds the cached segments, the one needed last (deepest on ties) first. A
    segment may be held in part; its leading tokens stay.
    """
    held = np.zeros(len(above), np.int64)
    hits = np.zeros(len(leaf), np.int64)
    used = 0
    for request in range(len(leaf)):
        segment, entry = np.int64(leaf[request]), uses.starts[request]
        found = 0
        while segment >= 0:
            found += held[segment]
            following = uses.requests[entry]
            if order.inside[segment]:
                remove(order, 0, segment)
            keep = tokens[segment] if following != NEVER else 0
            used += keep - held[segment]
            held[segment] = keep
            if keep > 0:
                order.keys[segment, 0] = -following
                order.keys[segment, 1] = -depth[segment]
                insert(order, 0, segment)
            segment = np.int64(above[segment])
            entry += 1
        hits[request] = min(found, input_tokens[request])
        while used > capacity:
            last = np.int64(order.roots[0])
            given = min(held[last], used - capacity)
            held[last] -= given
            used -= given
            if held[last] == 0:
                remove(order, 0, last)
    return hits
