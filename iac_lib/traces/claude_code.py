"""Sessions of a coding agent (Claude Code), with their real intervals.

A session is one line: its requests, each with the ids of the full 64-token blocks of its
input, scoped to the session. An entry of type ``subagent`` is no request but the list of
a helper's own requests, timed from the helper's start; these are a conversation of their
own, whose blocks are the session's. Sessions have no dates, so when they start is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.traces.blocks import fixed_blocks, read_ids
from iac_lib.traces.data import find_data
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import NUMBER, need, read_jsonl
from iac_lib.traces.schema import Trace
from iac_lib.traces.starts import Poisson

# Far above the blocks of any session; larger ones could run into the next session's.
LARGEST_LOCAL_ID = 2**40
SUBAGENT_REQUESTS = "requests of sub-agents, as conversations of their own"


def load_claude_code(
    path: str | Path | None = None, rate_per_s: float = 0.01, seed: int = 0
) -> Trace:
    """Return the coding-agent sessions as one trace.

    Parameters
    ----------
    path : path or None
        One session a line, ``.jsonl`` or ``.jsonl.gz``; None looks below ``IAC_DATA``.
    rate_per_s : float
        Sessions start as a Poisson process of this rate. The default is ours, not the
        data's: sessions last 1.5 hours on average, so about 54 run at once.
    seed : int
        Of the starts.

    Returns
    -------
    Trace
        Named ``claude-code``, with `Blocks` of 64 tokens. Ids are made global: no two
        sessions share a block. The partial last block has no published id and gets one of
        its own, shared with nobody. ``request_id`` is ``session/number``;
        ``conversation_id`` the session, or ``session/agent``. ``request_type`` is
        ``tool_result`` if the newest input holds one, else ``text``. ``notes`` counts the
        requests of sub-agents.

    Raises
    ------
    DataNotFound
        If `path` is None and the data are not on this machine.
    TraceError
        For a damaged file or a value that cannot be replayed.

    Notes
    -----
    Source: github.com/callanjfox/kv-cache-tester (Apache-2.0).
    """
    path = find_data("claude-code/traces.jsonl.gz") if path is None else Path(path)
    source, sessions, records, ids = str(path), {}, [], []
    offset = partial = 0  # partial blocks are numbered -1, -2, ... and meet no published id
    nested, size = 0, None
    for row, session in read_jsonl(path):
        name = need(session, "id", str, source, row)
        if name in sessions:
            problem = "appears twice; ids must be unique"
            raise TraceError(source, problem, row=row, column="id", value=name)
        sessions[name] = number = len(sessions)
        block = need(session, "block_size", int, source, row, least=1, most=2**31 - 1)
        size, used = size or block, 0
        if block != size:
            problem = f"differs from {size} in the sessions before"
            raise TraceError(source, problem, row=row, column="block_size", value=block)
        for place, (conversation, start, request) in enumerate(walk(session, name, source, row)):
            time = start + need(request, "t", NUMBER, source, row, least=0)
            tokens = need(request, "in", int, source, row, least=1)
            answer = need(request, "out", int, source, row, least=0)
            local = read_ids(request, tokens // size, size, source, row)
            foreign = local[(local < 0) | (local > LARGEST_LOCAL_ID)]
            if len(foreign):
                problem = f"must be from 0 to {LARGEST_LOCAL_ID}"
                value = int(foreign[0])
                raise TraceError(source, problem, row=row, column="hash_ids", value=value)
            blocks = [local + offset]
            used = max(used, local.max(initial=-1) + 1)
            if tokens % size:
                partial -= 1
                blocks.append([partial])
            ids.append(np.concatenate(blocks))
            newest = need(request, "input_types", list, source, row, item=str)
            kind = "tool_result" if "tool_result" in newest else "text"
            records.append((f"{name}/{place}", conversation, number, time, tokens, answer, kind))
            nested += conversation != name
        offset += used
    starts = Poisson(rate_per_s).sample(len(sessions), np.random.default_rng(seed))
    columns = ["request_id", "conversation_id", "session", "time", "input_tokens", "output_tokens"]
    requests = pd.DataFrame(records, columns=[*columns, "request_type"])
    requests["arrival_s"] = starts[requests["session"]] + requests["time"]
    order = np.argsort(requests["arrival_s"].to_numpy(), kind="stable")
    blocks = fixed_blocks(ids, requests["input_tokens"].tolist(), size).select(order)
    requests = requests.iloc[order]
    requests["turn"] = requests.groupby("conversation_id").cumcount() + 1
    return Trace("claude-code", requests, blocks, source, {SUBAGENT_REQUESTS: nested})


def walk(session: dict, name: str, source: str, row: int) -> Iterator[tuple[str, float, dict]]:
    """Yield (conversation, seconds from which its times count, request) of a session."""
    for entry in need(session, "requests", list, source, row, item=dict):
        if need(entry, "type", str, source, row) != "subagent":
            yield name, 0.0, entry
            continue
        agent = f"{name}/{need(entry, 'agent_id', str, source, row)}"
        start = need(entry, "t", NUMBER, source, row, least=0)
        for request in need(entry, "requests", list, source, row, item=dict):
            yield agent, start, request
