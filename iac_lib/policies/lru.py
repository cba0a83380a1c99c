"""Least recently used, and SGLang's segmented LRU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from iac_lib.policies.policy import Policy


@dataclass(frozen=True, eq=False)
class LRU(Policy):
    """Evict what was used longest ago."""

    name: str = "lru"

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (node.last_access_s,)


class SLRUParams(NamedTuple):
    threshold: float


@dataclass(frozen=True, eq=False)
class SLRU(Policy):
    """LRU in two segments: nodes used at least `threshold` times are protected (SGLang).

    Parameters
    ----------
    threshold : int
        Uses, the first included, from which a node counts as protected.
    """

    threshold: int = 2
    name: str = "slru"

    def params(self) -> SLRUParams:
        return SLRUParams(float(self.threshold))

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (1.0 if node.hits >= p.threshold else 0.0, node.last_access_s)
