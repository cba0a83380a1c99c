"""Blocks of one fixed size: checked when read, cut from any trace when written.

Block k of a request covers its input tokens ``k * size`` to ``(k + 1) * size``; the last
one may be partial. Knows nothing of file formats.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import need
from iac_lib.traces.schema import Blocks, Trace


def read_ids(record: dict, expected: int, size: int, source: str, row: int) -> np.ndarray:
    """Return ``hash_ids`` of a record (int64[k]), which must number `expected`.

    Raises
    ------
    TraceError
        If ids are missing, too many or too few for blocks of `size`, or beyond 64 bits.
    """
    ids = need(record, "hash_ids", list, source, row, item=int)
    if len(ids) != expected:
        problem = (
            f"the input makes {expected} blocks of {size} tokens; give the block size of the file"
        )
        raise TraceError(source, problem, row=row, column="number of hash_ids", value=len(ids))
    try:
        return np.array(ids, np.int64)
    except OverflowError as error:
        value = max(ids, key=abs)
        problem = "does not fit into 64 bits"
        raise TraceError(source, problem, row=row, column="hash_ids", value=value) from error


def check_size(size: int) -> None:
    """Raise `ValueError` unless `size` is a possible number of tokens per block."""
    if not 1 <= size < 2**31:
        raise ValueError(f"block size must be within 1 and {2**31 - 1} tokens, got {size}")


def fixed_blocks(ids: list[np.ndarray], input_tokens: list[int], size: int) -> Blocks:
    """Return blocks of `size` tokens, the last of each request cut to its input.

    Parameters
    ----------
    ids : n arrays, int64[ceil(input / size)]
        Block ids of each request.
    input_tokens : n int
        Input of each request, at least 1.
    size : int
        Tokens per block.
    """
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *ids])
    tokens = np.full(len(flat), size, np.int32)
    tokens[starts[1:] - 1] = np.asarray(input_tokens, np.int64) - (lengths - 1) * size
    return Blocks(flat, tokens, starts, size)


def blocks_of_size(trace: Trace, size: int) -> Blocks:
    """Return the blocks of `trace` in `size` tokens, its own if they are of that size."""
    check_size(size)
    own = trace.blocks
    if own is not None and own.size == size:
        inner = np.ones(len(own.ids), bool)
        inner[own.starts[1:] - 1] = False
        if (own.tokens[inner] == size).all():
            return own
    return cut_blocks(trace, size)


def cut_blocks(trace: Trace, size: int) -> Blocks:
    """Cut the input of every request into blocks of `size` tokens.

    Two requests share a full block if and only if they share everything up to its end:
    the block is named by the segment that holds its last token and by its number. A
    partial last block is named by its request's leaf and equals no full block. What
    requests share is thus rounded down to whole blocks, as in a paged cache.

    Parameters
    ----------
    trace : Trace
        Conversations (a later turn's input holds earlier answers) or blocks of any size.
    size : int
        Tokens per block.

    Returns
    -------
    Blocks
        Ids numbered 0, 1, 2 ... in order of first use, as Mooncake does.
    """
    segments, inputs = trace.segments, trace.column("input_tokens")
    last = segments.depth_tokens // size  # full blocks that end at or above the segment's end
    first = (segments.depth_tokens - segments.tokens) // size
    # Full block k that ends in segment s is number k + offset[s].
    offset = np.cumsum(last - first) - last
    partial = int((last - first).sum())
    rows = []
    for leaf, tokens in zip(segments.leaf.tolist(), inputs.tolist(), strict=True):
        pieces = [[partial + leaf]] if tokens % size else []
        segment, stop = leaf, tokens // size
        while segment >= 0:
            pieces.append(np.arange(first[segment], min(last[segment], stop)) + offset[segment])
            segment = segments.parent[segment]
        rows.append(np.concatenate(pieces[::-1]))
    numbers = pd.factorize(np.concatenate(rows))[0] if rows else np.empty(0, np.int64)
    cuts = np.cumsum([len(row) for row in rows])[:-1]
    return fixed_blocks(np.split(numbers, cuts) if rows else [], inputs, size)
