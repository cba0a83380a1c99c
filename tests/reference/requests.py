"""A trace as plain Python: what each request asks for, symbol by symbol."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from iac_lib.traces.schema import Trace


class Symbol(NamedTuple):
    """A run of tokens that is always used as a whole; equal symbols are equal tokens."""

    name: Hashable
    tokens: int


Path = tuple[Symbol, ...]


@dataclass(frozen=True)
class Request:
    """One row of a trace; `path` is everything that is cached once it is served."""

    row: int
    now: float
    path: Path
    input_tokens: int
    turn: int
    intent: int
    request_type: int

    @property
    def total_tokens(self) -> int:
        return token_count(self.path)


def token_count(symbols: Path | list[Symbol]) -> int:
    """Return the tokens of all `symbols`."""
    return sum(symbol.tokens for symbol in symbols)


def requests_of(trace: Trace) -> list[Request]:
    """Return the rows of `trace`, in order."""
    columns = ("arrival_s", "input_tokens", "turn", "intent", "request_type")
    rows = zip(paths_of(trace), *(trace.column(c).tolist() for c in columns), strict=True)
    return [
        Request(row, now, path, tokens, turn, intent, kind)
        for row, (path, now, tokens, turn, intent, kind) in enumerate(rows)
    ]


def paths_of(trace: Trace) -> list[Path]:
    """Return the path of each row: its blocks, or the turns of its conversation so far."""
    if trace.blocks is not None:
        blocks = trace.blocks
        symbols = [
            Symbol(i, t) for i, t in zip(blocks.ids.tolist(), blocks.tokens.tolist(), strict=True)
        ]
        starts = blocks.starts.tolist()
        return [tuple(symbols[a:b]) for a, b in itertools.pairwise(starts)]
    paths: list[Path] = []
    last: dict[Hashable, Path] = defaultdict(tuple)
    totals = trace.column("input_tokens") + trace.column("output_tokens")
    conversations = trace.requests["conversation_id"].tolist()
    for name, turn, total in zip(
        conversations, trace.column("turn").tolist(), totals.tolist(), strict=True
    ):
        last[name] += (Symbol((name, turn), total - token_count(last[name])),)
        paths.append(last[name])
    return paths


class Future:
    """When is a prefix used next?"""

    def __init__(self, requests: list[Request]) -> None:
        self.arrival = [request.now for request in requests]
        self.rows: dict[Path, list[int]] = defaultdict(list)
        for request in requests:
            for k in range(1, len(request.path) + 1):
                self.rows[request.path[:k]].append(request.row)

    def next_row(self, prefix: Path, row: int) -> float:
        """Return the first row after `row` whose path starts with `prefix`, inf if none."""
        rows = self.rows[prefix]
        k = bisect_right(rows, row)
        return rows[k] if k < len(rows) else float("inf")

    def next_use_s(self, prefix: Path, row: int) -> float:
        """Return when that row arrives, inf if there is none."""
        following = self.next_row(prefix, row)
        return self.arrival[int(following)] if following < len(self.arrival) else float("inf")
