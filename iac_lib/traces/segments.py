"""Segments: the maximal runs of tokens that are always used together.

Every trace is a prefix tree that is known in full once the trace is known. Its
edges, cut wherever some request diverges or ends, are segments: no request ever
uses part of one. A cache that replays the trace never needs the tokens themselves,
only which segments it holds, and a node of a radix tree is always a run of whole
segments. Segments know nothing of time, caches or policies.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iac_lib.traces.schema import Blocks, Trace


@dataclass(frozen=True)
class Segments:
    """The static prefix tree of a trace.

    Parameters
    ----------
    parent : int32[s]
        Segment above; -1 at the root. A parent's number is lower than its child's.
    tokens : int64[s]
        Tokens in the segment, at least 1.
    depth_tokens : int64[s]
        Tokens from the root to the segment's end.
    leaf : int32[n]
        For each request, the segment in which its cached path ends: input and output
        for conversations, input only for block traces (which do not name outputs).
    """

    parent: np.ndarray
    tokens: np.ndarray
    depth_tokens: np.ndarray
    leaf: np.ndarray


def build_segments(trace: Trace) -> Segments:
    """Return the segments of `trace`."""
    if trace.blocks is None:
        return segments_of_conversations(trace)
    return segments_of_blocks(trace.blocks)


def segments_of_conversations(trace: Trace) -> Segments:
    """One segment per turn: the new query and its answer, below the previous turn's."""
    depth = trace.column("input_tokens") + trace.column("output_tokens")
    parent = trace.previous.astype(np.int32)
    above = np.where(parent >= 0, depth[parent], 0)
    return Segments(parent, depth - above, depth, np.arange(len(trace), dtype=np.int32))


def segments_of_blocks(blocks: Blocks) -> Segments:
    """Build the compact trie of all block sequences.

    Sequences are sorted; the common prefix of neighbours is where they diverge. A
    partial block is a different block from the full one with the same id.
    """
    symbol = np.stack([blocks.ids, blocks.tokens], axis=1).astype(">i8")
    symbol[:, 0] ^= np.int64(-(2**63))  # negative ids must sort below positive ones
    raw, width = symbol.tobytes(), 16
    starts = blocks.starts
    keys = [raw[a * width : b * width] for a, b in itertools.pairwise(starts)]
    order = sorted(range(len(keys)), key=keys.__getitem__)

    parent, end, first_block = [], [], []  # per segment, while it is open or closed
    leaf = np.empty(len(keys), np.int32)
    stack: list[int] = []  # open segments, root first
    for position, request in enumerate(order):
        key = keys[request]
        shared = common_blocks(keys[order[position - 1]], key, width) if position else 0
        tail = -1
        while stack and end[stack[-1]] > shared:
            tail = stack.pop()
        above = stack[-1] if stack else -1
        if tail >= 0 and (end[above] if above >= 0 else 0) < shared:
            # The neighbour diverges inside `tail`: cut it, the upper part stays open.
            cut = len(parent)
            parent.append(above)
            end.append(shared)
            first_block.append(first_block[tail])
            parent[tail] = cut
            stack.append(cut)
        if len(key) // width > shared:
            parent.append(stack[-1] if stack else -1)
            end.append(len(key) // width)
            first_block.append(starts[request])
            stack.append(len(parent) - 1)
        leaf[request] = stack[-1]
    return renumber(parent, end, first_block, leaf, blocks)


def common_blocks(a: bytes, b: bytes, width: int) -> int:
    """Return how many leading `width`-byte blocks of `a` and `b` are equal."""
    n = min(len(a), len(b)) // width * width
    x, y = np.frombuffer(a[:n], np.uint64), np.frombuffer(b[:n], np.uint64)
    differ = np.flatnonzero(x != y)
    return int(differ[0]) * 8 // width if len(differ) else n // width


def renumber(
    parent: list[int], end: list[int], first_block: list[int], leaf: np.ndarray, blocks: Blocks
) -> Segments:
    """Sort segments so that parents come first, and measure them in tokens.

    `end` counts blocks from the root; `first_block` is where the path of a request
    through the segment starts in ``blocks``.
    """
    ends = np.array(end, np.int64)
    order = np.argsort(ends, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    above = np.array(parent, np.int64)[order]
    new_parent = np.where(above >= 0, rank[above], -1).astype(np.int32)
    total = np.concatenate([[0], np.cumsum(blocks.tokens, dtype=np.int64)])
    first = np.array(first_block, np.int64)[order]
    depth = total[first + ends[order]] - total[first]
    above_depth = np.where(new_parent >= 0, depth[new_parent], 0)
    return Segments(new_parent, depth - above_depth, depth, rank[leaf])
