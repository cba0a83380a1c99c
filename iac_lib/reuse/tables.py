"""Reuse statistics as a table to read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from iac_lib.reuse.statistics import ReuseStatistics


def tabulate_statistics(statistics: ReuseStatistics, intents: Sequence[str]) -> pd.DataFrame:
    """Return one row per state that was observed.

    Parameters
    ----------
    statistics : ReuseStatistics
    intents : sequence of str
        Names in code order.

    Returns
    -------
    DataFrame
        ``intent, turn, reached, continued, reuse`` (0..1) and the window in seconds by each
        estimator: ``median_s, mean_s, mode_s``.
    """
    row, turn = np.nonzero(statistics.reached)
    names = [*intents, "unknown"]
    return pd.DataFrame(
        {
            "intent": [names[i] for i in row],
            "turn": turn,
            "reached": statistics.reached[row, turn].astype(int),
            "continued": statistics.continued[row, turn].astype(int),
            "reuse": statistics.reuse[row, turn],
            **{f"{k}_s": statistics.windows(k)[row, turn] for k in ("median", "mean", "mode")},
        }
    )
