"""Full-Horizon: IAC with the whole delay distribution in place of the recency window."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iac_lib.policies.policy import Policy
from iac_lib.reuse.statistics import ReuseStatistics, fit_statistics

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

SMALLEST_SIGMA = 1e-6
SHORTEST_AGE_S = 1e-9


class FullHorizonParams(NamedTuple):
    reuse: np.ndarray
    mu: np.ndarray
    spread: np.ndarray
    horizon_s: float


@dataclass(frozen=True, eq=False)
class FullHorizon(Policy):
    """Probability that the next turn comes within the horizon, given the age; then size.

    P(next turn within H | age) = P * (F(age + H) - F(age)) / (1 - P * F(age)), F the
    log-normal distribution of the delay (IAC paper, B.4).

    Parameters
    ----------
    statistics : ReuseStatistics or None
        `fit` sets them.
    horizon_s : float
        H. The paper gives no value; 150 s, its default reuse window, is ours.
    """

    index = "scan"
    statistics: ReuseStatistics | None = field(default=None, repr=False)
    horizon_s: float = 150.0
    name: str = "full-horizon"

    def fit(self, history: Trace) -> FullHorizon:
        return replace(self, statistics=fit_statistics(history))

    def check(self, trace: Trace) -> None:
        if self.statistics is not None:
            self.statistics.check_intents(trace)

    def params(self) -> FullHorizonParams:
        if self.statistics is None:
            raise ValueError("Full-Horizon has no statistics: call fit(history)")
        s = self.statistics
        spread = np.maximum(s.sigma, SMALLEST_SIGMA) * math.sqrt(2.0)
        return FullHorizonParams(s.reuse, s.mu, spread, self.horizon_s)

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        turn = min(node.turn, p.reuse.shape[1] - 1)
        reuse, mu = p.reuse[node.intent, turn], p.mu[node.intent, turn]
        spread = p.spread[node.intent, turn]
        age = max(now - node.created_s, SHORTEST_AGE_S)
        # Survival 1 - F keeps its digits in the tail, where F itself rounds to 1.
        after_now = 0.5 * math.erfc((math.log(age) - mu) / spread)
        after_then = 0.5 * math.erfc((math.log(age + p.horizon_s) - mu) / spread)
        open_still = 1.0 - reuse + reuse * after_now
        soon = reuse * (after_now - after_then) / open_still if open_still > 0.0 else 0.0
        return (soon, float(node.tokens))
