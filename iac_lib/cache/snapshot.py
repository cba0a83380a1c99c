"""The tree as it stands at one moment: what is cached and who would go first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.cache.radix import ROOT, C
from iac_lib.cache.replay import simulate

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy
    from iac_lib.traces.schema import Trace

METADATA = [
    "parent",
    "tokens",
    "depth_tokens",
    "created_s",
    "last_access_s",
    "next_use_s",
    "hits",
    "turn",
    "intent",
    "score",
]


def take_snapshot(
    trace: Trace, policy: Policy, capacity_tokens: int, requests: int, now_s: float | None = None
) -> pd.DataFrame:
    """Return the nodes that are cached after the first `requests` requests.

    Parameters
    ----------
    trace, policy, capacity_tokens
        As for `replay`.
    requests : int
        How many requests have been served, at least 1.
    now_s : float or None
        Time at which priorities are computed; None: the last request's arrival.

    Returns
    -------
    DataFrame
        One row per node, indexed by ``node`` (parents before children; 0 is the root,
        which has no row): ``parent``, the node's metadata, ``conversation`` (id of the last
        conversation that reaches it), ``leaf`` (bool), ``priority`` (tuple; None for inner
        nodes) and ``rank`` (0 goes first; -1 for inner nodes).
    """
    if not 1 <= requests <= len(trace):
        raise ValueError(f"requests = {requests}; the trace has 1 to {len(trace)}")
    now = trace.column("arrival_s")[requests - 1] if now_s is None else now_s
    tree, *_ = simulate(trace, policy, capacity_tokens, None, False, False, requests)
    cached = np.unique(tree.holder[tree.holder >= 0])
    nodes = tree.nodes[cached].view(np.recarray)
    order = np.argsort(nodes.depth_tokens, kind="stable")
    cached, nodes = cached[order], nodes[order]

    number = np.zeros(int(tree.state[C.fresh]), np.int64)
    number[cached] = np.arange(1, len(cached) + 1)
    frame = pd.DataFrame({name: nodes[name] for name in METADATA}).assign(
        parent=number[np.where(nodes.parent == ROOT, 0, nodes.parent)],
        conversation=name_conversations(trace, nodes.bottom, requests),
        leaf=nodes.children == 0,
    )
    params = policy.params()
    frame["priority"] = [
        policy.priority(node, now, params) if node.children == 0 else None for node in nodes
    ]
    leaves = [i for i, node in enumerate(nodes) if node.children == 0]
    leaves.sort(key=lambda i: (*frame["priority"][i], nodes[i].last_access_s, nodes[i].seq))
    ranks = np.full(len(frame), -1)
    ranks[leaves] = np.arange(len(leaves))
    frame["rank"] = ranks
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="node")
    return frame


def name_conversations(trace: Trace, segments: np.ndarray, requests: int) -> list:
    """Return, for each segment, the conversation of the latest request through it."""
    latest = np.full(len(trace.segments.parent), -1)
    for request in range(requests):
        segment = trace.segments.leaf[request]
        while segment >= 0:
            latest[segment] = request
            segment = trace.segments.parent[segment]
    return [trace.requests["conversation_id"].iloc[latest[segment]] for segment in segments]
