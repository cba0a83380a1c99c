"""How long a classifier takes, on the wall clock and by batch size (IAC, Table 3).

Times functions of a batch size; knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from iac_lib.progress import progress

BATCHES = (1, 10, 32, 100)


def measure_latency(
    actions: Mapping[str, Callable[[int, int], object]],
    batches: Sequence[int] = BATCHES,
    runs: int = 40,
) -> pd.DataFrame:
    """Run every action at every batch size and return its times.

    Actions take turns, so that a busy moment of the machine hits all of them alike.

    Parameters
    ----------
    actions : mapping of str to callable (batch, run) -> object
        `run` numbers the runs, so that each can be given input of its own.
    batches : sequence of int
        Requests at a time.
    runs : int
        For each action at batch size 1, after one that is not counted; fewer of larger
        batches, but at least five.

    Returns
    -------
    DataFrame
        ``part, batch, p50_ms, p95_ms, per_request_ms, requests_per_s``; the latter two from
        the median.
    """
    rows = []
    for batch in progress(batches, "measuring latency"):
        times: dict[str, list[float]] = {name: [] for name in actions}
        for run in range(max(5, round(runs / batch)) + 1):
            for name, action in actions.items():
                start = time.perf_counter()
                action(batch, run)
                times[name].append(1000 * (time.perf_counter() - start))
        for name, measured in times.items():
            p50, p95 = np.quantile(measured[1:], [0.5, 0.95])
            rows.append((name, batch, p50, p95, p50 / batch, 1000 * batch / p50))
    columns = ["part", "batch", "p50_ms", "p95_ms", "per_request_ms", "requests_per_s"]
    return pd.DataFrame(rows, columns=columns)
