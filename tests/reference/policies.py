"""Priorities in plain Python; the leaf with the lowest is evicted.

Each maker returns ``priority(node, now)`` for `radix.replay`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tests.reference.radix import Node, Priority, Score

WA_STEP_S = 5.0
CERTAIN = 1e-6  # scores closer than this to 0 or 1 are cut off


def lru() -> Priority:
    return lambda node, now: (node.last_access_s,)


def lfu() -> Priority:
    return lambda node, now: (node.hits, node.last_access_s)


def slru(threshold: int) -> Priority:
    return lambda node, now: (node.hits >= threshold, node.last_access_s)


def gdsf(cost: str) -> Priority:
    if cost == "tokens":
        return lambda node, now: (node.inflation + node.hits,)
    return lambda node, now: (node.inflation + node.hits / node.tokens,)


def lpc(decay_per_s: float) -> Priority:
    def priority(node: Node, now: float) -> tuple[float]:
        p = min(max(node.score, CERTAIN), 1 - CERTAIN)
        return (math.log(p / (1 - p)) + decay_per_s * node.last_access_s,)

    return priority


def score_by_turn(continuation: np.ndarray) -> Score:
    """Score of a request: the frequency of a follow-up at its turn."""
    return lambda request: float(continuation[min(request.turn, len(continuation) - 1)])


def tlru(threshold_tokens: float, next_prompt_tokens: float) -> Priority:
    def priority(node: Node, now: float) -> tuple[float, float]:
        budget = max(node.context_tokens + next_prompt_tokens - threshold_tokens, 0)
        return (-1 if node.depth_tokens - node.tokens >= budget else 0, node.last_access_s)

    return priority


def lookup(table: np.ndarray, row: int, turn: int) -> float:
    """Return the entry of a table whose last row is unknown and last column everything deeper."""
    return float(table[row, min(turn, table.shape[1] - 1)])


def iac(window: np.ndarray, reuse: np.ndarray, signals: Sequence[str]) -> Priority:
    def priority(node: Node, now: float) -> tuple[float, ...]:
        value = {
            "recency": now - node.created_s < lookup(window, node.intent, node.turn),
            "reuse": lookup(reuse, node.intent, node.turn),
            "size": node.tokens,
        }
        return tuple(value[signal] for signal in signals)

    return priority


def full_horizon(
    reuse: np.ndarray, mu: np.ndarray, sigma: np.ndarray, horizon_s: float
) -> Priority:
    def priority(node: Node, now: float) -> tuple[float, float]:
        p, m, s = (lookup(table, node.intent, node.turn) for table in (reuse, mu, sigma))
        age = now - node.created_s
        alive, later = survival(age, m, s), survival(age + horizon_s, m, s)
        left = 1 - p + p * alive  # 1 - P F, without losing the tail where F rounds to 1
        return (p * (alive - later) / left if left > 0 else 0.0, node.tokens)

    return priority


def survival(x: float, mu: float, sigma: float) -> float:
    """P(delay > x) of a log-normal delay; half at the median, also in the limit sigma = 0."""
    if x <= 0:
        return 1.0
    later = math.log(x) - mu
    if sigma == 0 or later == 0:
        return 0.5 if later == 0 else float(later < 0)
    return 0.5 * math.erfc(later / (sigma * math.sqrt(2)))


def wa(probability: np.ndarray, rate: np.ndarray) -> Priority:
    def priority(node: Node, now: float) -> tuple[float]:
        p, a = (lookup(table, node.request_type, node.turn) for table in (probability, rate))
        idle = now - node.last_access_s
        return (p * (math.exp(-a * idle) - math.exp(-a * (idle + WA_STEP_S))),)

    return priority


def minimum() -> Priority:
    return lambda node, now: (-node.next_use_s,)


def tb(threshold_s: float) -> Priority:
    return lambda node, now: (node.next_use_s - now < threshold_s, node.last_access_s)


def tbs(threshold_s: float) -> Priority:
    return lambda node, now: (node.next_use_s - now < threshold_s, node.tokens)
