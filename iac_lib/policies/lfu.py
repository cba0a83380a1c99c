"""Least frequently used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iac_lib.policies.policy import Policy


@dataclass(frozen=True, eq=False)
class LFU(Policy):
    """Evict what was used least often; among equals the least recently used.

    A count starts anew when a node is cached again. In sglang 0.5.3 ``hit_count`` never
    moves, so that version's LFU is LRU; later versions count as here.
    """

    name: str = "lfu"

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (float(node.hits), node.last_access_s)
