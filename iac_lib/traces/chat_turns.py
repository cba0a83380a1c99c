"""From chats, one after the other, to `Conversations`: paired, counted, timed and sorted.

Texts are tokenised a few thousand conversations at a time, and the answers forgotten.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.pairing import Message, Turn, pair_turns
from iac_lib.traces.tokenizers import Tokenizer, count_tokens

BATCH = 2000
DUPLICATE = "conversation that is there twice"
UNANSWERED = "conversation without an answered query"
UNTIMED = "conversation without times"
NO_TIME = "turn from the first without a time on"
BACKWARD = "turn from the first whose time runs backwards on"
TEXT = pd.ArrowDtype(pa.large_string())


class Chat(NamedTuple):
    """What was said in one conversation, in order."""

    conversation_id: str
    messages: list[Message]


def build_conversations(
    name: str,
    chats: Iterable[Chat],
    tokenizer: Tokenizer | None = None,
    *,
    limit: int | None = None,
    skipped: Counter[str] | None = None,
    timed: bool,
) -> Conversations:
    """Pair, count, time and sort chats.

    Parameters
    ----------
    name : str
        Label of the data set.
    chats : iterable of Chat
        Consumed piece by piece.
    tokenizer : Tokenizer or None
        Default: Tekken.
    limit : int or None
        Read only so many chats.
    skipped : Counter or None
        What was left out before, by reason.
    timed : bool
        Sort by the time of the first turn and give ``start_s``, seconds since the earliest. A
        conversation is cut before its first turn without a time or with one earlier than the
        turn before. False: data-set order, no ``start_s``.

    Raises
    ------
    TraceError
        If nothing is left.
    """
    skipped = Counter() if skipped is None else skipped
    seen: set[str] = set()
    frames = []
    chats = islice(chats, limit)
    while batch := list(islice(chats, BATCH)):
        rows = list(turn_rows(batch, seen, skipped, timed))
        if rows:
            frames.append(count_turns(rows, tokenizer))
    if not frames:
        problem = f"no conversation can be used; left out: {dict(+skipped) or 'nothing'}"
        raise TraceError(name, problem)
    turns = pd.concat(frames, ignore_index=True)
    turns = sort_by_time(turns) if timed else turns.drop(columns="start_s")
    return Conversations(name, turns, dict(+skipped))


def turn_rows(
    chats: list[Chat], seen: set[str], skipped: Counter[str], timed: bool
) -> Iterator[tuple[str, int, Turn]]:
    """Yield (conversation, number, turn) of every usable turn."""
    for conversation_id, messages in chats:
        if conversation_id in seen:
            skipped[DUPLICATE] += 1
            continue
        seen.add(conversation_id)
        turns = pair_turns(messages, skipped)
        if not turns:
            skipped[UNANSWERED] += 1
        elif timed:
            turns = cut_at_bad_time(turns, skipped)
        for number, turn in enumerate(turns, start=1):
            yield conversation_id, number, turn


def cut_at_bad_time(turns: list[Turn], skipped: Counter[str]) -> list[Turn]:
    """Return the turns before the first whose time is unknown or earlier than the last."""
    if math.isnan(turns[0].time_s):
        skipped[UNTIMED] += 1
        return []
    for i in range(1, len(turns)):
        # Negated, so that an unknown time counts.
        if not turns[i].time_s >= turns[i - 1].time_s:
            reason = NO_TIME if math.isnan(turns[i].time_s) else BACKWARD
            skipped[reason] += len(turns) - i
            return turns[:i]
    return turns


def count_turns(rows: list[tuple[str, int, Turn]], tokenizer: Tokenizer | None) -> pd.DataFrame:
    """Return the table of some turns, with their tokens; the answers are not kept."""
    ids, numbers, turns = zip(*rows, strict=True)
    queries, answers, times = zip(*turns, strict=True)
    tokens = count_tokens([*queries, *answers], tokenizer)
    return pd.DataFrame(
        {
            "conversation_id": np.array(ids, object),
            "turn": np.array(numbers, np.int32),
            "user_tokens": tokens[: len(rows)],
            "output_tokens": tokens[len(rows) :],
            "start_s": np.array(times, np.float64),
            "user_text": pd.array(queries, TEXT),
        }
    )


def sort_by_time(turns: pd.DataFrame) -> pd.DataFrame:
    """Return conversations in order of their first turn, times counted from the earliest."""
    first = turns["turn"].to_numpy() == 1
    starts = turns["start_s"].to_numpy()[first]
    rank = np.empty(len(starts), np.int64)
    rank[np.argsort(starts, kind="stable")] = np.arange(len(starts))
    order = np.argsort(rank[np.cumsum(first) - 1], kind="stable")
    turns = turns.iloc[order].reset_index(drop=True)
    return turns.assign(start_s=turns["start_s"] - starts.min())
