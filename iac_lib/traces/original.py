"""The times that a data set gives for its own turns."""

from __future__ import annotations

import numpy as np

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.validation import refuse_dates


def original_times(conversations: Conversations, needed: np.ndarray) -> np.ndarray:
    """Return ``start_s`` (float64[n], seconds); raise for a missing one among `needed`."""
    name, turns = conversations.name, conversations.turns
    if "start_s" not in turns:
        raise TraceError(name, "has no original times (column start_s); choose another pattern")
    refuse_dates(turns["start_s"], name)
    times = turns["start_s"].to_numpy(np.float64)
    missing = np.flatnonzero(needed & ~np.isfinite(times))
    if len(missing):
        row = int(missing[0])
        problem = "original time is missing"
        raise TraceError(name, problem, row=row, column="start_s", value=float(times[row]))
    return times
