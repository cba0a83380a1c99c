"""What a workload looks like: how long conversations get, and who comes back.

Everything is read off one table with a row per request, `turn_table`, which conversations
and traces have in common. Knows requests; nothing of caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from iac_lib.traces.arrivals import context_tokens
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.schema import Trace

HOUR_S = 3600.0
Z95 = 1.96


def turn_table(data: Conversations | Trace) -> pd.DataFrame:
    """Return one row per request, turns of a conversation together and in order.

    Returns
    -------
    DataFrame
        ``conversation`` (0, 1, ...), ``turn``, ``input_tokens`` (the whole context),
        ``output_tokens``, ``arrival_s`` and ``delay_s`` (seconds to the next turn's arrival;
        NaN where there is none or times are unknown), ``continues``, ``intent`` and
        ``request_type`` (categorical).
    """
    columns = ["turn", "output_tokens", "intent", "request_type"]
    if isinstance(data, Trace):
        order = np.argsort(data.conversation_codes, kind="stable")
        frame = data.requests.iloc[order].reset_index(drop=True)
        codes = data.conversation_codes[order]
        table = frame[["input_tokens", "arrival_s", *columns]]
    else:
        codes, turns = data.codes, data.turns
        table = turns.reindex(columns=columns)
        table["input_tokens"] = context_tokens(data) - turns["output_tokens"].to_numpy(np.int64)
        table["arrival_s"] = turns.get("start_s", np.nan)
    same = np.append(codes[1:] == codes[:-1], False)
    gap = np.append(np.diff(table["arrival_s"].to_numpy(np.float64)), np.nan)
    return table.assign(
        conversation=codes,
        continues=same,
        delay_s=np.where(same, gap, np.nan),
        intent=table["intent"].astype("category"),
        request_type=table["request_type"].astype("category"),
    )


def summarise_turns(table: pd.DataFrame) -> pd.Series:
    """Return the numbers of Table 2 for a `turn_table`.

    A conversation has as many tokens as its context at its longest, last answer included;
    tokens per turn are those, summed, over the number of requests.
    """
    size = table["input_tokens"] + table["output_tokens"]
    conversations = size.groupby(table["conversation"]).max()
    return pd.Series(
        {
            "timestamps": bool(table["delay_s"].notna().any()),
            "conversations": len(conversations),
            "requests": len(table),
            "turns": len(table) / len(conversations),
            "multi_turn": float(table["continues"][table["turn"] == 1].mean()),
            "tokens_per_turn": conversations.sum() / len(table),
            "tokens_per_conversation": conversations.mean(),
        }
    )


def context_by_turn(table: pd.DataFrame, turns: Sequence[int] = (1, 2, 4, 8, 16)) -> pd.DataFrame:
    """Return mean, quartiles and number of the inputs of each turn in `turns`, in tokens."""
    rows = table[table["turn"].isin(turns)]
    inputs = rows.groupby("turn")["input_tokens"]
    columns = {"mean": inputs.mean(), "requests": inputs.size()}
    quartiles = {f"p{100 * q:.0f}": inputs.quantile(q) for q in (0.25, 0.5, 0.75)}
    return pd.DataFrame(columns | quartiles).reset_index()


def continuation_by_turn(table: pd.DataFrame, max_turn: int = 20, least: int = 50) -> pd.DataFrame:
    """Return how often a request of turn t had a follow-up, with Wilson's 95 % interval.

    Parameters
    ----------
    table : DataFrame
        From `turn_table`.
    max_turn : int
        Deepest turn shown.
    least : int
        Turns with fewer requests than this are left out.
    """
    by_turn = table[table["turn"] <= max_turn].groupby("turn")["continues"]
    n, p = by_turn.size(), by_turn.mean()
    low, high = wilson_interval(p, n)
    columns = {"requests": n, "continuation": p, "low": low, "high": high}
    return pd.DataFrame(columns)[n >= least].reset_index()


def wilson_interval(share: pd.Series, count: pd.Series | int) -> tuple[pd.Series, pd.Series]:
    """Return Wilson's 95 % interval of each `share` seen in `count` cases, as low and high."""
    middle = (share + Z95**2 / (2 * count)) / (1 + Z95**2 / count)
    half = Z95 * np.sqrt(share * (1 - share) / count + Z95**2 / (4 * count**2))
    half /= 1 + Z95**2 / count
    # Rounding must not put the share itself outside, where it is 0 or 1.
    return np.minimum(middle - half, share), np.maximum(middle + half, share)


def turns_by_intent(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean turns by intent, with a 95 % interval, most turns first.

    A conversation takes the intent of its last request, as the reuse statistics do (IAC, 4.2).
    """
    last = table[~table["continues"]]
    turns = last.groupby("intent", observed=True)["turn"]
    mean, half = turns.mean(), Z95 * turns.sem()
    columns = {
        "conversations": turns.size(),
        "turns": mean,
        "low": mean - half,
        "high": mean + half,
    }
    return pd.DataFrame(columns).sort_values("turns", ascending=False).reset_index()


def behaviour_by_hour(table: pd.DataFrame, by: str = "intent", least: int = 20) -> pd.DataFrame:
    """Return mean turns and median delay by hour of the day and by one column.

    The hour is that in which a conversation starts, of a clock that starts with the data; its
    group is that of its last request.

    Parameters
    ----------
    table : DataFrame
        From `turn_table`, with arrival times.
    by : str
        ``intent`` or ``request_type``.
    least : int
        A mean of fewer conversations and a median of fewer delays are NaN.
    """
    conversations = table.groupby("conversation").agg(
        start_s=("arrival_s", "first"), turns=("turn", "max"), group=(by, "last")
    )
    conversations["hour"] = (conversations["start_s"] // HOUR_S % 24).astype(int)
    keys = ["group", "hour"]
    delays = table[["conversation", "delay_s"]].join(conversations[keys], on="conversation")
    turns = conversations.groupby(keys, observed=True)["turns"]
    delay = delays.groupby(keys, observed=True)["delay_s"]
    columns = {
        "conversations": turns.size(),
        "turns": turns.mean().where(turns.size() >= least),
        "delays": delay.count(),
        "median_delay_s": delay.median().where(delay.count() >= least),
    }
    return pd.DataFrame(columns).reset_index(names=[by, "hour"])
