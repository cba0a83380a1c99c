"""RealHumanEval: programmers' chats about coding tasks, with text and real delays.

A row is one request: the list of messages so far (a Python literal) and the answer. A
conversation is one programmer's chat about one task while the list grows; when it starts
anew, the programmer has cleared the chat and the next conversation begins. Times are
seconds since the programmer's first request, so only delays within a conversation mean
something, not the order of programmers.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.csvs import read_csv
from iac_lib.traces.data import find_data
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import need, parse_number, shorten
from iac_lib.traces.tokenizers import Tokenizer, count_tokens

FIELDS = ("request", "response", "programmer_id", "timestamp", "task_name")
EMPTY = "request without a message"
CLEARED = "chat cleared by the programmer; a new conversation (nothing is left out)"


def load_realhumaneval(
    path: str | Path | None = None, tokenizer: Tokenizer | None = None
) -> Conversations:
    """Return RealHumanEval's chats, in data-set order.

    Parameters
    ----------
    path : path or None
        CSV with ``request``, ``response``, ``programmer_id``, ``timestamp`` and
        ``task_name``; None looks below ``IAC_DATA``.
    tokenizer : Tokenizer or None
        Default: Tekken.

    Returns
    -------
    Conversations
        Named ``realhumaneval``, with ``start_s`` (seconds since the programmer's first
        request) and ``user_text``: the messages that the conversation has not held yet.
        ``conversation_id`` is ``programmer/task/number``, numbered from 1 by chats
        cleared. ``skipped`` counts empty requests and cleared chats.

    Raises
    ------
    DataNotFound
        If `path` is None and the data are not on this machine.
    TraceError
        For a damaged file or a value that is no chat.

    Notes
    -----
    Source: github.com/clinicalml/realhumaneval (CC0).
    """
    path = find_data("realhumaneval/chat_data.csv") if path is None else Path(path)
    source, rows = str(path), []
    skipped: Counter[str] = Counter()
    held: dict[tuple[str, str], list[dict]] = {}
    number: Counter[tuple[str, str]] = Counter()
    turn: Counter[tuple[str, str]] = Counter()
    for row, record in read_csv(path, FIELDS):
        messages = parse_messages(record["request"], source, row)
        time = parse_number(record, "timestamp", float, source, row, least=0)
        key = (record["programmer_id"], record["task_name"])
        if not messages:
            skipped[EMPTY] += 1
            continue
        before = held.get(key)
        grows = before is not None and messages[: len(before)] == before != messages
        if not grows:
            skipped[CLEARED] += before is not None
            number[key] += 1
            before, turn[key] = [], 0
        turn[key] += 1
        held[key] = [*messages, {"content": record["response"], "role": "assistant"}]
        text = "\n".join(message["content"] for message in messages[len(before) :])
        rows.append(("/".join((*key, str(number[key]))), turn[key], time, text, record["response"]))
    columns = ["conversation_id", "turn", "start_s", "user_text", "answer"]
    turns = pd.DataFrame(rows, columns=columns)
    tokens = count_tokens([*turns["user_text"], *turns.pop("answer")], tokenizer)
    turns.insert(2, "user_tokens", tokens[: len(turns)])
    turns.insert(3, "output_tokens", tokens[len(turns) :])
    return Conversations("realhumaneval", turns, {r: n for r, n in skipped.items() if n})


def parse_messages(text: str, source: str, row: int) -> list[dict]:
    """Return the messages that a Python literal spells, without running it."""
    where = {"row": row, "column": "request", "value": shorten(text)}
    try:
        messages = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise TraceError(source, "is no Python literal", **where) from error
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise TraceError(source, "must be a list of messages", **where)
    for message in messages:
        need(message, "role", str, source, row)
        need(message, "content", str, source, row)
    return messages
