"""Qwen-Bailian's JSON Lines, in and out: block traces that know their conversations.

One request a line: ``chat_id``, ``parent_chat_id`` (-1 for a first turn), ``timestamp``
in seconds, ``input_length``, ``output_length``, ``type``, ``turn`` and ``hash_ids``, one
per block of 16 tokens.

A conversation is what hangs from one first turn. The published files are cut out of a
longer log, so a parent may be missing: such a request is taken for the first turn of its
conversation. Turns are numbered anew in order of arrival, which also gives siblings (one
parent, two answers) a number each.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pandas as pd

from iac_lib.files import write_atomically
from iac_lib.traces.blocks import blocks_of_size, check_size, fixed_blocks, read_ids
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import need, read_jsonl
from iac_lib.traces.schema import Trace
from iac_lib.traces.units import read_timestamp, to_seconds

NO_PARENT = -1
UNKNOWN = "unknown"
ORPHAN = "parent is not earlier in the file; taken for a first turn"
RENUMBERED = "turn was numbered anew"


def read_bailian(
    path: str | Path, block_size: int = 16, unit: str | None = None, name: str = "bailian"
) -> Trace:
    """Return a trace from Qwen-Bailian's format.

    Parameters
    ----------
    path : path
        ``.jsonl`` or ``.jsonl.gz``.
    block_size : int
        Tokens per id of ``hash_ids``; a file that contradicts it is refused.
    unit : {"s", "ms"} or None
        Unit of ``timestamp``; None means seconds, refused if they look like milliseconds
        (see `units`).
    name : str
        Label of the trace.

    Returns
    -------
    Trace
        With `Blocks` of `block_size`; ``request_id`` is the ``chat_id``,
        ``conversation_id`` the one of the first turn, ``request_type`` the ``type``
        (missing if "unknown"). ``notes`` counts requests without their parent and
        renumbered turns.

    Raises
    ------
    TraceError
        For a damaged file or a value that cannot be replayed.

    Notes
    -----
    Format: github.com/alibaba-edu/qwen-bailian-usagetraces-anon.
    """
    check_size(block_size)
    source, before = str(path), 0.0
    rows, times, ids, records = [], [], [], []
    notes, root, turns = {ORPHAN: 0, RENUMBERED: 0}, {}, {}
    for row, record in read_jsonl(path):
        before = read_timestamp(record, before, source, row)
        chat = need(record, "chat_id", int, source, row, least=0)
        parent = need(record, "parent_chat_id", int, source, row)
        tokens = need(record, "input_length", int, source, row, least=1)
        answer = need(record, "output_length", int, source, row, least=0)
        kind = need(record, "type", str, source, row)
        turn = need(record, "turn", int, source, row, least=1)
        if chat in root:
            problem = "appears twice; ids must be unique"
            raise TraceError(source, problem, row=row, column="chat_id", value=chat)
        if parent != NO_PARENT and parent not in root:
            notes[ORPHAN] += 1
        root[chat] = conversation = root.get(parent, chat)
        turns[conversation] = turns.get(conversation, 0) + 1
        notes[RENUMBERED] += turn != turns[conversation]
        rows.append(row)
        times.append(before)
        ids.append(read_ids(record, -(-tokens // block_size), block_size, source, row))
        kind = None if kind == UNKNOWN else kind
        records.append((chat, conversation, turns[conversation], tokens, answer, kind))
    columns = ["request_id", "conversation_id", "turn", "input_tokens", "output_tokens"]
    requests = pd.DataFrame(records, columns=[*columns, "request_type"])
    requests["arrival_s"] = to_seconds(times, rows, "s", unit, source)
    notes = {reason: count for reason, count in notes.items() if count}
    for reason, count in notes.items():
        logging.getLogger(__name__).warning("%s: %d requests: %s", source, count, reason)
    blocks = fixed_blocks(ids, requests["input_tokens"].tolist(), block_size)
    return Trace(name, requests, blocks, source, notes)


def write_bailian(trace: Trace, path: str | Path, block_size: int = 16) -> None:
    """Write `trace` in Qwen-Bailian's format, atomically.

    Parameters
    ----------
    trace : Trace
        Its blocks are written as they are if they are of `block_size`; other blocks and
        conversations are cut into blocks from their segments (see `blocks.cut_blocks`).
    path : path
        File to write.
    block_size : int
        Tokens per id.

    Notes
    -----
    ``chat_id`` is the request id where those are whole numbers from 0, else the row; the
    parent is the previous turn. Conversation ids and intents have no place in the format.
    """
    blocks = blocks_of_size(trace, block_size)
    chats = trace.requests["request_id"]
    if not pd.api.types.is_integer_dtype(chats) or (chats < 0).any():
        chats = pd.Series(range(len(trace)))
    chats, previous = chats.tolist(), trace.previous.tolist()
    kinds = trace.requests["request_type"].astype(object).fillna(UNKNOWN).tolist()
    columns = ("arrival_s", "input_tokens", "output_tokens", "turn")
    values = zip(*(trace.column(c).tolist() for c in columns), strict=True)
    ids, starts = blocks.ids.tolist(), blocks.starts.tolist()
    with write_atomically(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row, (time, tokens, answer, turn) in enumerate(values):
            record = {
                "chat_id": chats[row],
                "parent_chat_id": chats[previous[row]] if previous[row] >= 0 else NO_PARENT,
                "timestamp": time,
                "input_length": tokens,
                "output_length": answer,
                "type": kinds[row],
                "turn": turn,
                "hash_ids": ids[starts[row] : starts[row + 1]],
            }
            file.write(json.dumps(record) + "\n")
