"""Conversations before they have arrival times: what was said, in which order.

A data set gives turns (and sometimes their own times); `arrivals.schedule` turns
them into a `Trace`. `split` is the papers' history/replay rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from iac_lib.traces.errors import TraceError
from iac_lib.traces.validation import as_numbers

TURN_COLUMNS = ("conversation_id", "turn", "user_tokens", "output_tokens")


@dataclass(frozen=True, eq=False)
class Conversations:
    """Turns of whole conversations, in data-set order.

    Parameters
    ----------
    name : str
        Label of the data set, such as ``sharegpt-prefix``.
    turns : DataFrame
        One row per turn, conversations contiguous, turns ascending from 1:
        ``conversation_id``, ``turn``, ``user_tokens`` (new tokens of the query),
        ``output_tokens``; optional ``start_s`` (original time of the turn, seconds,
        NaN = unknown), ``intent``, ``request_type``, ``user_text``.
    skipped : dict of str to int
        Records that could not be used, by reason; shown to the reader.

    Raises
    ------
    TraceError
        If a turn skips, is empty, or a conversation is not contiguous.
    """

    name: str
    turns: pd.DataFrame
    skipped: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        turns = self.turns.reset_index(drop=True)
        missing = [c for c in TURN_COLUMNS if c not in turns]
        if missing:
            problem = f"column(s) {', '.join(missing)} missing"
            if {"user_tokens", "output_tokens"} & set(missing):
                problem += "; iac_lib.traces.tokenizers.count_tokens(texts) counts tokens"
            raise TraceError(self.name, problem)
        whole = {c: as_numbers(turns[c], np.int64, self.name) for c in TURN_COLUMNS[1:]}
        turns = turns.assign(**whole)
        for column, least in (("user_tokens", 1), ("output_tokens", 0)):
            low = np.flatnonzero(~(turns[column].to_numpy() >= least))
            if len(low):
                row, value = int(low[0]), turns[column].iloc[int(low[0])]
                problem = f"must be at least {least}"
                raise TraceError(self.name, problem, row=row, column=column, value=value)
        object.__setattr__(self, "turns", turns)
        codes, turn = self.codes, turns["turn"].to_numpy()
        if len(codes) and (np.diff(codes) < 0).any():
            row = int(np.flatnonzero(np.diff(codes) < 0)[0]) + 1
            value = turns["conversation_id"].iloc[row]
            problem = "conversation is not contiguous; keep its turns together"
            raise TraceError(self.name, problem, row=row, column="conversation_id", value=value)
        first = np.concatenate([[True], np.diff(codes) != 0])[: len(codes)]
        skips = np.flatnonzero(turn != np.where(first, 1, np.roll(turn, 1) + 1))
        if len(skips):
            row = int(skips[0])
            problem = "turns must run 1, 2, 3 ... within a conversation"
            raise TraceError(self.name, problem, row=row, column="turn", value=int(turn[row]))

    @property
    def codes(self) -> np.ndarray:
        """int64[n]: conversations numbered in data-set order."""
        return pd.factorize(self.turns["conversation_id"])[0].astype(np.int64)

    def __len__(self) -> int:
        return int(self.turns["conversation_id"].nunique())

    def take(self, first: int, last: int) -> Conversations:
        """Return conversations number `first` (inclusive) to `last` (exclusive)."""
        codes = self.codes
        return replace(self, turns=self.turns[(codes >= first) & (codes < last)])


def split(
    conversations: Conversations, history: int = 40_000, replay: int = 10_000
) -> tuple[Conversations, Conversations]:
    """Split into the history that policies learn from and the replay they are judged on.

    Parameters
    ----------
    conversations : Conversations
        Sorted by time, or in data-set order when there are no times.
    history, replay : int
        Numbers of conversations; the paper uses 40,000 and 10,000 (IAC, A.4).

    Raises
    ------
    TraceError
        If there are too few conversations.
    """
    have = len(conversations)
    if have < history + replay:
        problem = f"has {have} conversations, fewer than history {history} + replay {replay}"
        raise TraceError(conversations.name, problem)
    return conversations.take(0, history), conversations.take(history, history + replay)
