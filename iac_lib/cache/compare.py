"""Several policies on one and the same tree: who would go first under each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from iac_lib.cache.snapshot import take_snapshot

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy
    from iac_lib.traces.schema import Trace


def rank_leaves(
    trace: Trace, policies: Mapping[str, Policy], requests: int, now_s: float
) -> pd.DataFrame:
    """Return the order in which each policy would evict the leaves of the same tree.

    Parameters
    ----------
    trace : Trace
    policies : mapping of str to Policy
        Fitted, if they learn; the key names the row.
    requests : int
        How many requests have been served, by a cache that never had to evict.
    now_s : float
        When the policies are asked.

    Returns
    -------
    DataFrame
        One row per policy, one column per leaf (named by its conversation), the next victim
        (1), the one after it (2) ...
    """
    rows = {}
    for name, policy in policies.items():
        nodes = take_snapshot(trace, policy, unlimited(trace), requests, now_s)
        leaves = nodes[nodes["leaf"]]
        rows[name] = (leaves.set_index("conversation")["rank"] + 1).to_dict()
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")


def follow_priorities(
    trace: Trace, policies: Mapping[str, Policy], requests: int, times_s: Sequence[float]
) -> pd.DataFrame:
    """Return how each policy judges the leaves while time goes by and no request comes.

    Parameters
    ----------
    trace, policies, requests
        As for `rank_leaves`.
    times_s : sequence of float

    Returns
    -------
    DataFrame
        ``policy, time_s, conversation, priority`` (tuple), ``rank`` (0 goes first).
    """
    frames = []
    for name, policy in policies.items():
        for now in times_s:
            nodes = take_snapshot(trace, policy, unlimited(trace), requests, now)
            leaves = nodes.loc[nodes["leaf"], ["conversation", "priority", "rank"]]
            frames.append(leaves.assign(policy=name, time_s=now))
    columns = ["policy", "time_s", "conversation", "priority", "rank"]
    return pd.concat(frames, ignore_index=True)[columns]


def unlimited(trace: Trace) -> int:
    """Return a capacity (tokens) at which nothing is ever evicted."""
    return int(trace.segments.tokens.sum())
