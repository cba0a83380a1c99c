"""Greedy-Dual-Size-Frequency: frequency and size on an ageing clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from iac_lib.policies.policy import Policy


class GDSFParams(NamedTuple):
    cost_is_tokens: float


@dataclass(frozen=True, eq=False)
class GDSF(Policy):
    """Priority L + hits * cost / size, where L is the priority of the last victim.

    Parameters
    ----------
    cost : {"tokens", "one", "best"}
        What a miss costs. ``tokens``: the tokens to recompute, so cost / size is 1.
        ``one``: the same for every node, which favours small ones. ``best`` stands for
        whichever of the two hits more.
    """

    cost: Literal["tokens", "one", "best"] = "tokens"
    name: str = "gdsf"

    def candidates(self) -> tuple[Policy, ...]:
        costs = ("tokens", "one") if self.cost == "best" else (self.cost,)
        return tuple(replace(self, cost=cost) for cost in costs)

    def params(self) -> GDSFParams:
        if self.cost == "best":
            raise ValueError("GDSF(cost='best') is for sweeps; replay one of its candidates()")
        return GDSFParams(1.0 if self.cost == "tokens" else 0.0)

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        worth = 1.0 if p.cost_is_tokens > 0.0 else 1.0 / node.tokens
        return (node.inflation + node.hits * worth,)
