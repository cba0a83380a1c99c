"""A slow radix cache with SGLang's semantics, over explicit symbols.

Written from the specification, not from the compiled replay. Whatever can be derived
(size, depth, locks, which nodes are leaves) is derived each time, so that there is no
state to keep consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from iac_lib.traces.schema import Trace
from tests.reference.requests import Future, Path, Request, Symbol, requests_of, token_count

Priority = Callable[["Node", float], tuple[float, ...]]
Score = Callable[[Request], float]


@dataclass(eq=False)
class Node:
    """A run of symbols that was cached at once, and what is known about it."""

    symbols: list[Symbol]
    parent: Node | None
    seq: int
    created_s: float = 0.0
    last_access_s: float = 0.0
    hits: int = 0
    turn: int = 0
    intent: int = -1
    request_type: int = -1
    score: float = 0.0
    context_tokens: int = 0
    next_use_s: float = float("inf")
    inflation: float = 0.0
    children: list[Node] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return token_count(self.symbols)

    @property
    def depth_tokens(self) -> int:
        """Tokens from the root to the node's end."""
        return sum(node.tokens for node in self.ancestry())

    @property
    def first_prefix(self) -> Path:
        """Symbols from the root to the first symbol of the node."""
        above = [node.symbols for node in self.ancestry()][1:]
        return (*(s for symbols in reversed(above) for s in symbols), self.symbols[0])

    def ancestry(self) -> Iterator[Node]:
        """Yield the node, its parent and so on; not the root."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent

    def below(self) -> Iterator[Node]:
        """Yield every node under this one."""
        for child in self.children:
            yield child
            yield from child.below()


class Victim(NamedTuple):
    """A node that was evicted while `request` was served."""

    request: int
    depth_tokens: int
    tokens: int


class RadixCache:
    """The cache; `serve` one request after the other.

    Parameters
    ----------
    capacity_tokens : int
    priority : callable
        ``priority(node, now)`` is a tuple; the lowest is evicted first.
    future : Future
        The oracle behind ``next_use_s``.
    score : callable
        Score of a request, kept in the nodes it touches.
    """

    def __init__(
        self, capacity_tokens: int, priority: Priority, future: Future, score: Score
    ) -> None:
        self.capacity_tokens = capacity_tokens
        self.priority = priority
        self.future = future
        self.score = score
        self.root = Node(symbols=[], parent=None, seq=-1)
        self.next_seq = 0
        self.inflation = 0.0
        self.in_flight: list[tuple[float, Node]] = []  # finish time, end of the locked path
        self.victims: list[Victim] = []

    @property
    def used_tokens(self) -> int:
        return sum(node.tokens for node in self.root.below())

    def serve(self, request: Request, service_s: float | None = None) -> int:
        """Look up and cache the path of `request`; return its tokens that were cached."""
        self.in_flight = [(end_s, node) for end_s, node in self.in_flight if end_s > request.now]
        matched = self.lookup(request)
        for node in matched:
            node.hits += 1
            node.inflation = self.inflation
            node.score = self.score(request)
            node.context_tokens = request.total_tokens
            node.next_use_s = self.future.next_use_s(node.first_prefix, request.row)
        hit_tokens = sum(node.tokens for node in matched)
        missing = missing_symbols(request.path, matched)
        path = list(matched)
        if missing and self.make_room(request, token_count(missing), matched):
            path.append(self.insert(request, missing, matched[-1] if matched else self.root))
        if service_s is not None and path:
            self.in_flight.append((request.now + service_s, path[-1]))
        return hit_tokens

    def lookup(self, request: Request) -> list[Node]:
        """Return the nodes whose symbols lead the path, splitting the last if it must be."""
        matched: list[Node] = []
        node, rest = self.root, list(request.path)
        while rest:
            child = next((c for c in node.children if c.symbols[0] == rest[0]), None)
            if child is None:
                break
            child.last_access_s = request.now
            common = common_length(child.symbols, rest)
            if common < len(child.symbols):
                matched.append(self.split(child, common, request.row))
                break
            matched.append(child)
            node, rest = child, rest[common:]
        return matched

    def split(self, lower: Node, length: int, row: int) -> Node:
        """Cut `lower` after `length` symbols; return the new node above it."""
        upper = copy(lower)
        upper.seq = self.take_seq()
        upper.symbols, lower.symbols = lower.symbols[:length], lower.symbols[length:]
        upper.children = [lower]
        siblings = upper.parent.children
        siblings[siblings.index(lower)] = upper
        lower.parent = upper
        lower.next_use_s = self.future.next_use_s(lower.first_prefix, row)
        return upper

    def make_room(self, request: Request, missing_tokens: int, matched: list[Node]) -> bool:
        """Evict until `missing_tokens` fit; False, and nothing evicted, if they never will."""
        kept = self.locked() | set(matched)
        if sum(node.tokens for node in kept) + missing_tokens > self.capacity_tokens:
            return False
        while self.used_tokens + missing_tokens > self.capacity_tokens:
            leaves = [n for n in self.root.below() if not n.children and n not in kept]
            victim = min(leaves, key=lambda n: self.rank(n, request.now))
            self.inflation = self.priority(victim, request.now)[0]
            self.victims.append(Victim(request.row, victim.depth_tokens, victim.tokens))
            victim.parent.children.remove(victim)
        return True

    def locked(self) -> set[Node]:
        """Return the nodes on the path of a request that is still in flight."""
        return {node for _, end in self.in_flight for node in end.ancestry()}

    def rank(self, node: Node, now: float) -> tuple[tuple[float, ...], float, int]:
        """Return what is compared between leaves; the lowest goes."""
        return self.priority(node, now), node.last_access_s, node.seq

    def insert(self, request: Request, symbols: list[Symbol], parent: Node) -> Node:
        """Cache `symbols` below `parent` as one node."""
        node = Node(
            symbols=symbols,
            parent=parent,
            seq=self.take_seq(),
            created_s=request.now,
            last_access_s=request.now,
            hits=1,
            turn=request.turn,
            intent=request.intent,
            request_type=request.request_type,
            score=self.score(request),
            context_tokens=request.total_tokens,
            inflation=self.inflation,
        )
        node.next_use_s = self.future.next_use_s(node.first_prefix, request.row)
        parent.children.append(node)
        return node

    def take_seq(self) -> int:
        """Return the next creation number."""
        self.next_seq += 1
        return self.next_seq - 1


def common_length(a: Sequence[Symbol], b: Sequence[Symbol]) -> int:
    """Return how many leading symbols are equal."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def missing_symbols(path: Path, matched: list[Node]) -> list[Symbol]:
    """Return the end of `path` that `matched` does not cover."""
    return list(path[sum(len(node.symbols) for node in matched) :])


class Replay(NamedTuple):
    """What happened, request by request."""

    hit_tokens: list[int]
    used_tokens: list[int]
    victims: list[Victim]


def replay(
    trace: Trace,
    capacity_tokens: int,
    priority: Priority,
    *,
    score: Score = lambda request: 0.0,
    service_s: Sequence[float] | None = None,
) -> Replay:
    """Serve all requests of `trace`; `service_s` are the seconds each path stays locked."""
    requests = requests_of(trace)
    cache = RadixCache(capacity_tokens, priority, Future(requests), score)
    hits, used = [], []
    for request in requests:
        service = None if service_s is None else float(service_s[request.row])
        hits.append(cache.serve(request, service))
        used.append(cache.used_tokens)
    return Replay(hits, used, cache.victims)
