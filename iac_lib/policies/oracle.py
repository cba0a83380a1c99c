"""Oracles: policies that are told when each node is needed next.

They bound what an online policy could do with whole-node eviction; the bound over all
policies is `iac_lib.cache.optimum`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from iac_lib.policies.policy import Policy


@dataclass(frozen=True, eq=False)
class MIN(Policy):
    """Belady: evict the node whose next use is farthest away; never used again first."""

    needs_future = True
    name: str = "min"

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (-node.next_use_s,)


# From well below one delay to well beyond: a factor of sqrt(2) between neighbours.
THRESHOLDS_S = tuple(round(8 * 2 ** (k / 2), 1) for k in range(13))


class ThresholdParams(NamedTuple):
    threshold_s: float


@dataclass(frozen=True, eq=False)
class TB(Policy):
    """Threshold-Belady: nodes not needed within the threshold go first, by LRU.

    Parameters
    ----------
    threshold_s : float or None
        The papers give no value. None stands for the best of `THRESHOLDS_S`, found anew
        for every trace and capacity.
    """

    index = "expiring"
    needs_future = True
    threshold_s: float | None = None
    name: str = "tb"

    def candidates(self) -> tuple[Policy, ...]:
        if self.threshold_s is not None:
            return (self,)
        return tuple(replace(self, threshold_s=threshold) for threshold in THRESHOLDS_S)

    def params(self) -> ThresholdParams:
        if self.threshold_s is None:
            raise ValueError(f"{self.name} has no threshold: set it or replay its candidates()")
        return ThresholdParams(self.threshold_s)

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (1.0 if node.next_use_s - now < p.threshold_s else 0.0, node.last_access_s)

    @staticmethod
    def expires_s(node: Any, p: Any) -> float:
        return node.next_use_s - p.threshold_s


@dataclass(frozen=True, eq=False)
class TBS(TB):
    """TB+S, the oracle IAC imitates: as `TB`, but among equals the smallest goes first."""

    name: str = "tb+s"

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (1.0 if node.next_use_s - now < p.threshold_s else 0.0, float(node.tokens))
