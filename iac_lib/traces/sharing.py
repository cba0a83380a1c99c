"""How much of the input a server has seen before: what a prefix cache could ever save."""

from __future__ import annotations

import numpy as np
import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.describe import turn_table
from iac_lib.traces.schema import Blocks, Trace


def input_shares(data: Conversations | Trace) -> pd.Series:
    """Split all input tokens into those seen before, by whom, and new ones.

    The first two together are the hit rate of a cache that never evicts: no prefix cache
    can do better on this workload.

    Parameters
    ----------
    data : Conversations or Trace
        Conversations share nothing with one another. Block traces do not name the blocks of
        an answer, so an answer that comes back as input counts as new the first time.

    Returns
    -------
    Series
        ``own`` (leading tokens of the conversation's previous request, and its answer where
        known), ``others`` (tokens that only other conversations had in front) and ``new``;
        they sum to 1.
    """
    if isinstance(data, Trace) and data.blocks is not None:
        total = data.column("input_tokens").sum()
        seen = 1 - data.segments.tokens.sum() / total
        own = own_prefix_tokens(data.blocks, data.previous).sum() / total
    else:
        table = turn_table(data)
        returns = (table["input_tokens"] + table["output_tokens"])[table["continues"]]
        seen = own = returns.sum() / table["input_tokens"].sum()
    return pd.Series({"own": own, "others": seen - own, "new": 1 - seen})


def own_prefix_tokens(blocks: Blocks, previous: np.ndarray) -> np.ndarray:
    """Return int64[n]: leading tokens that a request shares with row `previous` (-1: none)."""
    shared = np.zeros(len(previous), np.int64)
    for row in np.flatnonzero(previous >= 0):
        a, b = blocks.starts[previous[row]], blocks.starts[row]
        length = min(blocks.starts[previous[row] + 1] - a, blocks.starts[row + 1] - b)
        before, now = slice(a, a + length), slice(b, b + length)
        same = (blocks.ids[before] == blocks.ids[now]) & (
            blocks.tokens[before] == blocks.tokens[now]
        )
        shared[row] = blocks.tokens[now][: length if same.all() else np.argmin(same)].sum()
    return shared
