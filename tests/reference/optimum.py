"""MIN on single tokens with bypass: no cache of this size can serve more."""

from __future__ import annotations

from iac_lib.traces.schema import Trace
from tests.reference.requests import Future, Path, requests_of

Token = tuple[Path, int]  # prefix up to its symbol, position within the symbol


def optimum(trace: Trace, capacity_tokens: int) -> list[int]:
    """Return the tokens of each request that are served from the cache.

    After each request the `capacity_tokens` tokens with the nearest next use stay, among
    all that are cached or were just used. Tokens of the same next use lie on one path:
    the shallower ones stay.
    """
    requests = requests_of(trace)
    future = Future(requests)
    cached: set[Token] = set()
    hits = []
    for request in requests:
        used = tokens_of(request.path)
        hits.append(sum(token in cached for token in used))

        def order(token: Token, row: int = request.row) -> tuple[float, int, int]:
            prefix, position = token
            return future.next_row(prefix, row), len(prefix), position

        wanted = [t for t in cached.union(used) if order(t)[0] < len(requests)]
        cached = set(sorted(wanted, key=order)[:capacity_tokens])
    return hits


def tokens_of(path: Path) -> list[Token]:
    """Return the tokens of `path`, each named by everything before it."""
    return [
        (path[:k], position)
        for k in range(1, len(path) + 1)
        for position in range(path[k - 1].tokens)
    ]
