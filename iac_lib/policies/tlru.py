"""Tail-optimised LRU (T-LRU): first give up what cannot lengthen the slowest prefills."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iac_lib.policies.policy import Policy

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace


class TLRUParams(NamedTuple):
    spare_tokens: float


@dataclass(frozen=True, eq=False)
class TLRU(Policy):
    """LRU after the tokens that a conversation can lose and still start in time.

    A context of L tokens whose next query adds Q needs only L + Q - threshold of them
    cached; a leaf beyond that budget goes first.

    Parameters
    ----------
    threshold_tokens : float
        Uncached tokens that can be prefilled within the latency target. The paper gives
        no value for it; 1,024 is ours.
    next_prompt_tokens : float
        Q; `fit` sets it to the mean new tokens per request of the history.
    """

    threshold_tokens: float = 1024.0
    next_prompt_tokens: float | None = None
    name: str = "t-lru"

    def fit(self, history: Trace) -> TLRU:
        if not len(history):
            raise ValueError("T-LRU cannot learn from an empty history")
        total = history.column("input_tokens") + history.column("output_tokens")
        before = history.previous
        new = history.column("input_tokens") - np.where(before >= 0, total[before], 0)
        return replace(self, next_prompt_tokens=float(np.maximum(new, 0).mean()))

    def params(self) -> TLRUParams:
        if self.next_prompt_tokens is None:
            raise ValueError("T-LRU has no next prompt length: call fit(history)")
        return TLRUParams(self.next_prompt_tokens - self.threshold_tokens)

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        budget = max(node.context_tokens + p.spare_tokens, 0.0)
        spare = node.depth_tokens - node.tokens >= budget
        return (-1.0 if spare else 0.0, node.last_access_s)
