"""Intent-aware caching (IAC): recency window, reuse probability, size.

The paper's policy (section 4.3, Eq. 1) and every ablation of it: signals in any order or
subset, other windows, merged intents, no intent at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from iac_lib.policies.policy import Policy
from iac_lib.reuse.statistics import ReuseStatistics, fit_statistics

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

SIGNALS = ("recency", "reuse", "size")
UNUSED = len(SIGNALS)


class IACParams(NamedTuple):
    window: np.ndarray
    reuse: np.ndarray
    first: int
    second: int
    third: int
    recency_used: bool


@dataclass(frozen=True, eq=False)
class IAC(Policy):
    """Keep what is young for its (intent, turn), likely to be reused, and large.

    Parameters
    ----------
    statistics : ReuseStatistics or None
        Reuse probability and log-delay tables by (intent, turn); `fit` sets them.
    signals : tuple of {"recency", "reuse", "size"}
        Which signals rank, most important first.
    window : {"median", "mean", "mode"}
        Estimator of the recency window from the log-normal delay.
    use_intent : bool
        False groups by turn only.
    groups : int64[K] or None
        Merged group of each intent (such as the 20- and 10-class taxonomies).
    """

    index = "expiring"
    statistics: ReuseStatistics | None = field(default=None, repr=False)
    signals: tuple[str, ...] = SIGNALS
    window: Literal["median", "mean", "mode"] = "median"
    use_intent: bool = True
    groups: np.ndarray | None = field(default=None, repr=False)
    name: str = "iac"

    def __post_init__(self) -> None:
        unknown = [s for s in self.signals if s not in SIGNALS]
        if unknown or len(set(self.signals)) != len(self.signals) or not self.signals:
            raise ValueError(f"signals must be distinct, from {SIGNALS}; got {self.signals}")

    def fit(self, history: Trace) -> IAC:
        return replace(self, statistics=fit_statistics(history))

    def check(self, trace: Trace) -> None:
        if self.statistics is not None and self.use_intent:
            self.statistics.check_intents(trace)

    def params(self) -> IACParams:
        if self.statistics is None:
            raise ValueError("IAC has no statistics: call fit(history) or give statistics=")
        statistics = self.statistics
        if not self.use_intent:
            statistics = statistics.without_intent()
        elif self.groups is not None:
            statistics = statistics.merge(self.groups)
        order = [SIGNALS.index(s) for s in self.signals] + [UNUSED, UNUSED]
        return IACParams(
            statistics.windows(self.window), statistics.reuse, *order[:3], "recency" in self.signals
        )

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        turn = min(node.turn, p.window.shape[1] - 1)
        fresh = 1.0 if now - node.created_s < p.window[node.intent, turn] else 0.0
        signal = (fresh, p.reuse[node.intent, turn], float(node.tokens), 0.0)
        return (signal[p.first], signal[p.second], signal[p.third])

    @staticmethod
    def expires_s(node: Any, p: Any) -> float:
        if not p.recency_used:
            return math.inf
        return node.created_s + p.window[node.intent, min(node.turn, p.window.shape[1] - 1)]
