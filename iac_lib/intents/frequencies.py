"""How often each intent occurs, and how many intents cover most requests. Knows labels only."""

from __future__ import annotations

import pandas as pd

from iac_lib.traces.describe import wilson_interval


def count_intents(labels: pd.Series) -> pd.DataFrame:
    """Return how frequent each intent is, most frequent first.

    Parameters
    ----------
    labels : Series of category
        Categories that never occur are counted as well.

    Returns
    -------
    DataFrame
        ``intent, requests, share, low, high`` with Wilson's 95 % interval.
    """
    counts = labels.value_counts().rename_axis("intent").reset_index(name="requests")
    counts = counts.astype({"intent": str})
    counts["share"] = counts["requests"] / counts["requests"].sum()
    counts["low"], counts["high"] = wilson_interval(counts["share"], counts["requests"].sum())
    return counts


def cover_requests(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the share of requests that the most frequent intents cover.

    Parameters
    ----------
    counts : DataFrame
        As `count_intents` returns it.

    Returns
    -------
    DataFrame
        ``intents, covered``: the share that the first 0, 1, 2 ... intents cover together.
    """
    covered = [0.0, *counts["share"].cumsum()]
    return pd.DataFrame({"intents": range(len(covered)), "covered": covered})
