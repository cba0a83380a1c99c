"""Mooncake's JSON Lines, the de-facto format of block traces, in and out.

One request a line: ``timestamp`` in milliseconds, ``input_length``, ``output_length``
and ``hash_ids``, one per block of 512 tokens. It has no sessions, turns or types: each
request becomes a conversation of its own, and what requests share is in the blocks alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from iac_lib.files import write_atomically
from iac_lib.traces.blocks import blocks_of_size, check_size, fixed_blocks, read_ids
from iac_lib.traces.jsonl import need, read_jsonl
from iac_lib.traces.schema import Trace
from iac_lib.traces.units import read_timestamp, to_seconds


def read_mooncake(
    path: str | Path, block_size: int = 512, unit: str | None = None, name: str = "mooncake"
) -> Trace:
    """Return a trace from Mooncake's format.

    Parameters
    ----------
    path : path
        ``.jsonl`` or ``.jsonl.gz``.
    block_size : int
        Tokens per id of ``hash_ids``; a file that contradicts it is refused.
    unit : {"ms", "s"} or None
        Unit of ``timestamp``; None means milliseconds, refused if they look like seconds
        (see `units`).
    name : str
        Label of the trace.

    Returns
    -------
    Trace
        With `Blocks` of `block_size`; ``request_id`` is the position in the file.

    Raises
    ------
    TraceError
        For a damaged file or a value that cannot be replayed.

    Notes
    -----
    Format and data: github.com/kvcache-ai/Mooncake (Apache-2.0).
    """
    check_size(block_size)
    source, before = str(path), 0.0
    rows, times, inputs, outputs, ids = [], [], [], [], []
    for row, record in read_jsonl(path):
        before = read_timestamp(record, before, source, row)
        rows.append(row)
        times.append(before)
        inputs.append(need(record, "input_length", int, source, row, least=1))
        outputs.append(need(record, "output_length", int, source, row, least=0))
        ids.append(read_ids(record, -(-inputs[-1] // block_size), block_size, source, row))
    requests = pd.DataFrame(
        {
            "request_id": np.arange(len(rows)),
            "conversation_id": np.arange(len(rows)),
            "turn": 1,
            "arrival_s": to_seconds(times, rows, "ms", unit, source),
            "input_tokens": inputs,
            "output_tokens": outputs,
        }
    )
    return Trace(name, requests, fixed_blocks(ids, inputs, block_size), source)


def write_mooncake(trace: Trace, path: str | Path, block_size: int = 512) -> None:
    """Write `trace` in Mooncake's format, atomically.

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
    Times are rounded to whole milliseconds; conversations, turns, types and intents have
    no place in the format.
    """
    blocks = blocks_of_size(trace, block_size)
    columns = [
        np.round(trace.column("arrival_s") * 1000).astype(np.int64).tolist(),
        trace.column("input_tokens").tolist(),
        trace.column("output_tokens").tolist(),
    ]
    ids, starts = blocks.ids.tolist(), blocks.starts.tolist()
    with write_atomically(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row, (time, tokens, answer) in enumerate(zip(*columns, strict=True)):
            record = {
                "timestamp": time,
                "input_length": tokens,
                "output_length": answer,
                "hash_ids": ids[starts[row] : starts[row + 1]],
            }
            file.write(json.dumps(record) + "\n")
