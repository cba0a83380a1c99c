"""Learned prefix caching (LPC): how likely is a follow-up, decayed by idle time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iac_lib.policies.policy import Policy
from iac_lib.reuse.statistics import fit_statistics

if TYPE_CHECKING:
    from collections.abc import Callable

    from iac_lib.traces.schema import Trace


class LPCParams(NamedTuple):
    decay_per_s: float


@dataclass(frozen=True, eq=False)
class LPC(Policy):
    """Evict the lowest probability of continuing, given how long nothing came.

    With p the predicted probability and d = exp(-s * idle time), the probability now is
    p * d / (p * d + 1 - p). Its order is that of logit(p) + s * last access, which does
    not change while nodes are idle.

    Parameters
    ----------
    decay_per_s : float
        s, about 1 / mean delay.
    continuation : float64[T] or None
        Probability of a follow-up by turn (last entry: deeper turns). `fit` sets it to
        the frequencies of the history. A learned per-request predictor goes in `scores`.
    scores : float64[n], callable (Trace) -> float64[n], or None
        One probability per request of the trace that is replayed, or the function that
        gives them; overrides the table.
    """

    decay_per_s: float = 0.01
    continuation: np.ndarray | None = None
    scores: np.ndarray | Callable[[Trace], np.ndarray] | None = None
    name: str = "lpc-by-turn"

    def fit(self, history: Trace) -> LPC:
        by_turn = fit_statistics(history).without_intent().reuse[-1]
        return replace(self, continuation=by_turn)

    def params(self) -> LPCParams:
        return LPCParams(self.decay_per_s)

    def score_requests(self, trace: Trace) -> np.ndarray:
        if self.scores is not None:
            scores = self.scores(trace) if callable(self.scores) else self.scores
            if len(scores) != len(trace):
                raise ValueError(f"{len(scores)} scores for {len(trace)} requests")
            return np.asarray(scores, np.float64)
        if self.continuation is None:
            raise ValueError("LPC has no scores: call fit(history) or give scores=")
        last = len(self.continuation) - 1
        return self.continuation[np.minimum(trace.column("turn"), last)]

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        chance = min(max(node.score, 1e-6), 1.0 - 1e-6)
        return (math.log(chance / (1.0 - chance)) + p.decay_per_s * node.last_access_s,)
