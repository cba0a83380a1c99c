"""Causal folds: learn from one stretch of conversations, replay the next (IAC, B.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from iac_lib.cache.replay import replay
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy
    from iac_lib.traces.arrivals import Delays
    from iac_lib.traces.conversations import Conversations


def replay_folds(
    conversations: Conversations,
    policies: Sequence[Policy],
    capacity_tokens: int,
    *,
    fold: int = 10_000,
    rate: float = 5.0,
    seed: int = 0,
    delays: Delays | None = None,
    max_context_tokens: int | None = None,
) -> pd.DataFrame:
    """Replay every fold but the first, each policy fitted on the fold before it.

    Parameters
    ----------
    conversations : Conversations
        In order of time; a last part shorter than `fold` is left out.
    policies : sequence of Policy
    capacity_tokens : int
    fold : int
        Conversations per fold, and so the window that statistics come from.
    rate : float
        New conversations per second.
    delays : Delays or None
        None keeps the original delays.

    Returns
    -------
    DataFrame
        ``fold`` (such as ``10K-20K``), ``policy, seed, hit_rate, update_s`` (seconds that
        the fit took).
    """
    rows, history = [], None
    for number in range(len(conversations) // fold):
        part = conversations.take(number * fold, (number + 1) * fold)
        trace = schedule(
            part,
            Poisson(rate),
            delays or OriginalDelays(),
            seed=1000 * seed + number,
            max_context_tokens=max_context_tokens,
        )
        name = f"{number * fold / 1000:g}K-{(number + 1) * fold / 1000:g}K"
        for policy in policies if history is not None else ():
            started = time.perf_counter()
            fitted = policy.fit(history)
            update_s = time.perf_counter() - started
            hit_rate = replay(trace, fitted, capacity_tokens).hit_rate
            row = {"fold": name, "policy": policy.name, "seed": seed, "hit_rate": hit_rate}
            rows.append(row | {"update_s": update_s})
        history = trace
    return pd.DataFrame(rows)
