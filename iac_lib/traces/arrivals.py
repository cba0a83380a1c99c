"""Arrival times: from conversations to a trace.

Two independent choices make a trace: when conversations start (`starts`) and how long users
take between turns (`delays`). Each has its own random stream, so changing one leaves the
other as it was. The patterns are offered here too, beside `schedule`, which takes them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.delays import ConstantDelays, Delays, LogNormalDelays, OriginalDelays
from iac_lib.traces.schema import Trace
from iac_lib.traces.starts import Diurnal, OnOff, OriginalTimes, Pareto, Poisson, Starts

__all__ = [
    "ConstantDelays",
    "Delays",
    "Diurnal",
    "LogNormalDelays",
    "OnOff",
    "OriginalDelays",
    "OriginalTimes",
    "Pareto",
    "Poisson",
    "Starts",
    "limit_context",
    "schedule",
]

DROPPED = "turns beyond the context limit"


def context_tokens(conversations: Conversations) -> np.ndarray:
    """Return int64[n]: tokens of the whole conversation up to and including each answer."""
    turns = conversations.turns
    added = turns["user_tokens"].astype(np.int64) + turns["output_tokens"].astype(np.int64)
    return added.groupby(conversations.codes).cumsum().to_numpy()


def limit_context(conversations: Conversations, max_context_tokens: int) -> Conversations:
    """Drop every turn whose input and output exceed a model's context, and all after it.

    The context never shrinks, so what is left of a conversation are its first turns,
    perhaps none. How many turns were dropped is added to ``skipped``.

    Parameters
    ----------
    conversations : Conversations
    max_context_tokens : int
        Longest input plus output that is served.
    """
    keep = context_tokens(conversations) <= max_context_tokens
    dropped = int(len(keep) - keep.sum())
    if not dropped:
        return conversations
    skipped = dict(conversations.skipped)
    skipped[DROPPED] = skipped.get(DROPPED, 0) + dropped
    return replace(conversations, turns=conversations.turns[keep], skipped=skipped)


def schedule(
    conversations: Conversations,
    starts: Starts,
    delays: Delays,
    seed: int = 0,
    *,
    max_context_tokens: int | None = None,
) -> Trace:
    """Give every turn an arrival time and its whole input.

    The delay of a turn is its arrival minus the arrival of the turn before; the input of
    turn t is everything said before it plus its query (IAC, section 2 and A.4).

    Parameters
    ----------
    conversations : Conversations
        Started in data-set order, except under `OriginalTimes`.
    starts : Poisson, OnOff, Pareto, Diurnal or OriginalTimes
    delays : LogNormalDelays, ConstantDelays or OriginalDelays
    seed : int
        Same seed, same trace. Starts and delays draw from separate streams.
    max_context_tokens : int or None
        Turns whose input plus output exceed it are dropped with all later turns of their
        conversation; call `limit_context` first to see how many. None keeps everything.

    Returns
    -------
    Trace
        Sorted by arrival; simultaneous requests stay in data-set order. ``request_id``
        is the row of the turn in (the limited) `conversations`.

    Raises
    ------
    TraceError
        If original times are asked for and missing.
    """
    if max_context_tokens is not None:
        conversations = limit_context(conversations, max_context_tokens)
    turns = conversations.turns
    first = turns["turn"].to_numpy() == 1
    count = int(first.sum())
    start_rng, delay_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    step = np.empty(len(turns))
    step[first] = (
        starts.read(conversations)
        if isinstance(starts, OriginalTimes)
        else starts.sample(count, start_rng)
    )
    step[~first] = (
        delays.read(conversations)
        if isinstance(delays, OriginalDelays)
        else delays.sample(len(turns) - count, delay_rng)
    )
    codes = np.cumsum(first) - 1
    arrival = pd.Series(step).groupby(codes).cumsum().to_numpy()
    order = np.argsort(arrival, kind="stable")
    context = context_tokens(conversations)
    requests = turns.assign(
        request_id=np.arange(len(turns), dtype=np.int64),
        arrival_s=arrival,
        input_tokens=context - turns["output_tokens"].to_numpy(np.int64),
    ).iloc[order]
    return Trace(conversations.name, requests)
