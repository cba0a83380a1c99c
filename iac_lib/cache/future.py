"""When each segment is needed again: the one thing only oracles know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

NEVER = np.iinfo(np.int32).max


class NextUses(NamedTuple):
    """Next request through every segment of every request's path.

    Parameters
    ----------
    starts : int64[n + 1]
        Entries of request r are ``starts[r]:starts[r + 1]``, its leaf segment first.
    requests : int32[m]
        The next request that uses the segment; `NEVER` if there is none.
    """

    starts: np.ndarray
    requests: np.ndarray


@njit(cache=True, nogil=True)
def measure_paths(above, leaf):
    """Return int64[n + 1]: where the path of each request starts, laid end to end."""
    levels = np.empty(len(above), np.int64)  # parents come before children
    for segment in range(len(above)):
        levels[segment] = 1 if above[segment] < 0 else levels[above[segment]] + 1
    starts = np.zeros(len(leaf) + 1, np.int64)
    for request in range(len(leaf)):
        starts[request + 1] = starts[request] + levels[leaf[request]]
    return starts


@njit(cache=True, nogil=True)
def find_next_uses(above, leaf):
    """Return `NextUses` for paths given by `above` (int32[s]) and `leaf` (int32[n])."""
    starts = measure_paths(above, leaf)
    requests = np.empty(starts[-1], np.int32)
    upcoming = np.full(len(above), NEVER, np.int32)
    for request in range(len(leaf) - 1, -1, -1):
        segment, entry = leaf[request], starts[request]
        while segment >= 0:
            requests[entry] = upcoming[segment]
            upcoming[segment] = request
            segment = above[segment]
            entry += 1
    return NextUses(starts, requests)
