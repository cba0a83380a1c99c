"""Workload-aware eviction (WA): reuse curves by request type and turn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iac_lib.policies.policy import Policy

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

HORIZON_S = 5.0
SHORTEST_REUSE_S = 0.3
SHORTEST_SCALE_S = 1e-3


class WAParams(NamedTuple):
    probability: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class WA(Policy):
    """Probability that a node of its category is reused within the next five seconds.

    The delay of category w = (request type, turn) is exponential with a free location;
    the priority is p_w * (exp(-a_w * idle) - exp(-a_w * (idle + 5 s))). The offset term
    of the block-cache version is 0, as prefixes protect themselves in a radix tree.

    Parameters
    ----------
    probability, rate : float64[types + 1, turns]
        p_w (0..1) and a_w (1/s); the last row is the unknown type, the last column all
        deeper turns. A category that the history lacks has probability 0.
    types : tuple of str or None
        Request types of the rows; None if nobody said.
    """

    index = "grouped"
    probability: np.ndarray | None = None
    rate: np.ndarray | None = None
    types: tuple[str, ...] | None = None
    name: str = "wa"

    def fit(self, history: Trace) -> WA:
        if not len(history):
            raise ValueError("WA cannot learn from an empty history")
        kinds = len(history.request_types)
        types = history.column("request_type").astype(np.int64)
        turns = history.column("turn").astype(np.int64)
        width = int(turns.max()) + 2
        cell = np.where(types < 0, kinds, types) * width + turns
        cells = (kinds + 1) * width
        touched = np.bincount(cell, minlength=cells)
        gap = history.next_gap_s
        again = gap > SHORTEST_REUSE_S
        reused = np.bincount(cell[again], minlength=cells)
        total = np.bincount(cell[again], weights=gap[again], minlength=cells)
        shortest = np.full(cells, np.inf)
        np.minimum.at(shortest, cell[again], gap[again])
        mean = total / np.maximum(reused, 1)
        pooled = gap[again].mean() - gap[again].min() if again.any() else 1.0
        # One reuse has no spread: such a category takes that of all (ours).
        scale = np.where(reused > 1, mean - np.where(reused > 1, shortest, 0.0), pooled)
        shape = (kinds + 1, width)
        return replace(
            self,
            probability=(reused / np.maximum(touched, 1)).reshape(shape),
            rate=(1.0 / np.maximum(scale, SHORTEST_SCALE_S)).reshape(shape),
            types=history.request_types,
        )

    def check(self, trace: Trace) -> None:
        if self.types is not None and self.types != trace.request_types:
            raise ValueError(
                f"WA learned the request types {self.types}, {trace.name} has "
                f"{trace.request_types}; give both traces the same categories, in the same order"
            )

    def params(self) -> WAParams:
        if self.probability is None or self.rate is None:
            raise ValueError("WA has no reuse curves: call fit(history)")
        return WAParams(self.probability, self.rate)

    def count_groups(self) -> int:
        return self.params().probability.size

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        turn = min(node.turn, p.rate.shape[1] - 1)
        rate = p.rate[node.request_type, turn]
        idle = now - node.last_access_s
        soon = math.exp(-rate * idle) - math.exp(-rate * (idle + HORIZON_S))
        return (p.probability[node.request_type, turn] * soon,)

    @staticmethod
    def group(node: Any, p: Any) -> int:
        turn = min(node.turn, p.rate.shape[1] - 1)
        row = node.request_type if node.request_type >= 0 else p.rate.shape[0] - 1
        return row * p.rate.shape[1] + turn
