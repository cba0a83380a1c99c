"""SGLang's own RadixCache, served by hand on a clock of ours."""

from __future__ import annotations

from typing import Any

import torch

from iac_lib.policies import Policy
from tests.reference.requests import Request
from tests.sglang.stand_ins import install

VERSION = install()
NEWER = VERSION >= (0, 5, 15)

import sglang.srt.mem_cache.radix_cache as module  # noqa: E402
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey  # noqa: E402

if NEWER:
    from array import array

    from sglang.srt.mem_cache.base_prefix_cache import (
        EvictParams,
        InsertParams,
        MatchPrefixParams,
    )
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams


class Clock:
    """The time of the trace; a little later at every look, as a real clock would be."""

    TICK_S = 1e-9

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += self.TICK_S
        return self.now

    perf_counter = monotonic


class NoPool:
    """An allocator that has nothing to free: tokens are counted by the tree."""

    device = torch.device("cpu")

    def free(self, indices: object) -> None: ...

    def free_segment(self, indices: object, start_pos: int = 0) -> None: ...


class NodeView:
    """A node of SGLang's with the attribute names that the kit's policies read."""

    def __init__(self, node: Any) -> None:
        self.created_s, self.turn, self.intent, _ = node.kit
        self.tokens, self.last_access_s = len(node.key), node.last_access_time


class KitStrategy:
    """Ranks SGLang's nodes by the kit's own priority function."""

    def __init__(self, policy: Policy, cache: RealRadix) -> None:
        self.policy, self.params, self.cache = policy, policy.params(), cache

    def get_priority(self, node: Any) -> tuple[float, ...]:
        return self.policy.priority(NodeView(node), self.cache.now, self.params)


class RealRadix(RadixCache):
    """SGLang's class, its methods untouched but for taking notes.

    Parameters
    ----------
    capacity : int
        Tokens.
    policy : str or Policy
        Name of one of SGLang's own strategies, or a fitted policy of the kit.
    """

    def __init__(self, capacity: int, policy: str | Policy) -> None:
        native = policy if isinstance(policy, str) else "lru"
        if NEWER:
            params = CacheInitParams(
                disable=False,
                req_to_token_pool=None,
                token_to_kv_pool_allocator=NoPool(),
                page_size=1,
                eviction_policy=native,
            )
            super().__init__(params)
        else:
            super().__init__(None, NoPool(), page_size=1, eviction_policy=native)
        self.capacity, self.now, self.request = capacity, 0.0, None
        if not isinstance(policy, str):
            self.eviction_strategy = KitStrategy(policy, self)
        self.victims: list[tuple[int, int, int]] = []
        self.clock = module.time = Clock()

    def serve(self, request: Request, tokens: list[int]) -> int:
        """Look up, make room, insert; return the tokens that were found."""
        self.request, self.now = request, request.now
        self.clock.now = max(self.clock.now, request.now)
        node, found = self.look_up(tokens[: request.input_tokens])
        missing = len(tokens) - found
        if len(tokens) > self.capacity:
            return found
        self.inc_lock_ref(node)
        short = self.total_size() + missing - self.capacity
        if short > 0:
            self.evict(EvictParams(num_tokens=short) if NEWER else short)
        self.put(tokens)
        self.dec_lock_ref(node)
        return found

    def look_up(self, tokens: list[int]) -> tuple[Any, int]:
        """Return the last node of the longest cached prefix, and its length."""
        if NEWER:
            result = self.match_prefix(MatchPrefixParams(key=RadixKey(array("q", tokens))))
            return result.last_device_node, result.device_prefix_len
        result = self.match_prefix(RadixKey(list(tokens)))
        return result.last_device_node, len(result.device_indices)

    def put(self, tokens: list[int]) -> None:
        """Insert, and give new nodes the metadata of the request."""
        if NEWER:
            self.insert(InsertParams(key=RadixKey(array("q", tokens))))
        else:
            self.insert(RadixKey(list(tokens)))
        stack = [self.root_node]
        while stack:
            node = stack.pop()
            if not hasattr(node, "kit"):
                r = self.request
                node.kit = (self.now, r.turn, r.intent, r.row)
            stack.extend(node.children.values())

    def _split_node(self, key: Any, child: Any, split_len: int) -> Any:
        upper = super()._split_node(key, child, split_len)
        upper.kit = child.kit
        return upper

    def _delete_leaf(self, node: Any) -> None:
        depth, above = 0, node
        while above is not self.root_node:
            depth += len(above.key)
            above = above.parent
        self.victims.append((self.request.row, depth, len(node.key)))
        super()._delete_leaf(node)
