"""From the messages of a chat to its turns: one query, one answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

USER = {"human", "user"}
ASSISTANT = {"gpt", "chatgpt", "bing", "bard", "assistant", "model", "llm"}
NO_ANSWER = "query without an answer"
NO_QUERY = "answer without a query"


class Message(NamedTuple):
    """What one side said; `time_s` in seconds since 1970, NaN = unknown."""

    role: object
    text: str
    time_s: float = math.nan


class Turn(NamedTuple):
    """A query and its answer; `time_s` in seconds since 1970, NaN = unknown."""

    query: str
    answer: str
    time_s: float


def pair_turns(messages: Iterable[Message], skipped: Counter[str]) -> list[Turn]:
    """Return the turns of a conversation; messages of one side in a row are one message.

    Parameters
    ----------
    messages : iterable of Message
        In the order in which they were said.
    skipped : Counter
        Messages that are no part of a turn are added to it, by reason: answers before the
        first query, roles other than user and assistant, a last query without an answer.

    Returns
    -------
    list of Turn
        The time of a turn is that of its query (its last message, the one that was answered),
        or that of its answer (its first message) where no message of the query has one.
    """
    turns: list[Turn] = []
    query = answer = ""
    asked = answered = math.nan
    for role, text, time_s in messages:
        side = role.lower() if isinstance(role, str) else role
        if side in USER:
            if query and answer:
                turns.append(Turn(query, answer, answered if math.isnan(asked) else asked))
                query = answer = ""
                asked = answered = math.nan
            query = f"{query}\n{text}" if query else text
            asked = asked if math.isnan(time_s) else time_s
        elif side in ASSISTANT:
            if not query:
                skipped[NO_QUERY] += 1
                continue
            answer = f"{answer}\n{text}" if answer else text
            answered = time_s if math.isnan(answered) else answered
        else:
            skipped[f"message from {role!r}"] += 1
    if query and answer:
        turns.append(Turn(query, answer, answered if math.isnan(asked) else asked))
    elif query:
        skipped[NO_ANSWER] += 1
    return turns
