"""RAGPulse: two weeks of a production chat assistant with retrieval.

A request names its input as chunks of any length: system prompt, retrieved passages,
history, web pages and the user's question, in this order. Passages stand before the
history, so a conversation whose passages change shares nothing of its history. It knows
arrival times, sessions and lengths, but no text and no intents.

The clock of ``timestamp`` starts again after a week: the 3,801st request is at 0 s, while
the Unix time in its session id is a week (604,800 s) after the first one's.
"""

from __future__ import annotations

import itertools
import logging
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.traces.data import RAGPULSE_FILES, find_data
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import need, parse_number, read_jsonl
from iac_lib.traces.schema import Blocks, Trace

ORDER = ("sys_prompt", "passages_ids", "history", "web_search", "user_input")
"""Kinds of chunks in the order in which the input holds them."""

TRACE_FILE, *CHUNK_FILES = RAGPULSE_FILES
UNNAMED_ROWS = "input_length differs from the named chunks"
UNNAMED_TOKENS = "tokens of input_length that no chunk names"
WRAPPED = "weeks after which the clock starts again"
WEEK_S = 7 * 24 * 3600.0


def load_ragpulse(directory: str | Path | None = None) -> Trace:
    """Return the RAGPulse trace.

    Parameters
    ----------
    directory : path or None
        Folder of the six files; None looks for them below ``IAC_DATA``.

    Returns
    -------
    Trace
        Named ``ragpulse``, with `Blocks` of no fixed size, ids as published.
        ``conversation_id`` is the session; turns count its requests in order of arrival.
        ``request_type`` is ``web`` with web pages, else ``rag`` with passages, else
        ``plain``. ``input_tokens`` is the sum of the named chunks: the published
        ``input_length`` is 6 to 12 tokens more in all 7,106 requests (9.2 on average),
        presumably those of a chat template. ``notes`` counts these rows and tokens.

    Raises
    ------
    DataNotFound
        If `directory` is None and the data are not on this machine.
    TraceError
        For a damaged file, an unknown chunk or a value that cannot be replayed.

    Notes
    -----
    Source: github.com/flashserve/RAGPulse (MIT).
    """
    folder = find_data(f"ragpulse/{TRACE_FILE}").parent if directory is None else Path(directory)
    known = read_chunks(folder)
    source, records, chunks = str(folder / TRACE_FILE), [], []
    notes = dict.fromkeys((UNNAMED_ROWS, UNNAMED_TOKENS, WRAPPED), 0)
    before = 0.0
    for row, record in read_jsonl(source):
        time = parse_number(record, "timestamp", float, source, row, least=0)
        time += notes[WRAPPED] * WEEK_S
        if time < before - WEEK_S / 2:
            notes[WRAPPED] += 1
            time += WEEK_S
        if time < before:
            problem = f"is earlier than the line before ({before} s); sort by time"
            value = record["timestamp"]
            raise TraceError(source, problem, row=row, column="timestamp", value=value)
        before = time
        session = need(record, "session_id", str, source, row)
        length = need(record, "input_length", int, source, row, least=1)
        answer = need(record, "output_length", int, source, row, least=0)
        named = need(record, "hash_ids", dict, source, row)
        ids = [i for kind in ORDER for i in need(named, kind, list, source, row, item=int)]
        for one in ids:
            if one not in known:
                problem = "is in none of the files of chunks"
                raise TraceError(source, problem, row=row, column="hash_ids", value=one)
        tokens = sum(known[i] for i in ids)
        kind = "web" if named["web_search"] else "rag" if named["passages_ids"] else "plain"
        records.append((row, session, time, tokens, answer, kind))
        chunks.append(ids)
        notes[UNNAMED_ROWS] += length != tokens
        notes[UNNAMED_TOKENS] += length - tokens
    columns = ["request_id", "conversation_id", "arrival_s", "input_tokens", "output_tokens"]
    requests = pd.DataFrame(records, columns=[*columns, "request_type"])
    requests["turn"] = requests.groupby("conversation_id").cumcount() + 1
    notes = {reason: count for reason, count in notes.items() if count}
    for reason, count in notes.items():
        logging.getLogger(__name__).info("%s: %d: %s", source, count, reason)
    flat = np.array(list(itertools.chain.from_iterable(chunks)), np.int64)
    sizes = np.array([known[i] for i in flat.tolist()], np.int32)
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in chunks])]).astype(np.int64)
    return Trace("ragpulse", requests, Blocks(flat, sizes, starts), source, notes)


def read_chunks(folder: Path) -> dict[int, int]:
    """Return tokens by chunk id, from the five files of chunks (ids are unique over all)."""
    known: dict[int, int] = {}
    for file in CHUNK_FILES:
        source = str(folder / file)
        field = file[2:].removesuffix(".jsonl").replace("passages", "passage") + "_id"
        for row, record in read_jsonl(source):
            chunk = need(record, field, int, source, row, least=0)
            if chunk in known:
                problem = "appears twice; ids must be unique"
                raise TraceError(source, problem, row=row, column=field, value=chunk)
            known[chunk] = need(record, "token_length", int, source, row, least=1, most=2**31 - 1)
    return known
