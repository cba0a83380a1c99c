"""Reuse statistics: does a request of (intent, turn) get a follow-up, and how soon?

Counts and log-delay moments by state, as tables that a policy can index directly. Knows
requests and their times; nothing of caches or of how intents were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

TIMEOUT_S = 1800.0
MAX_TURN = 64
DEFAULT_REUSE = 0.5
DEFAULT_WINDOW_S = 150.0
DEFAULT_SIGMA = 1.0
MIN_DELAY_S = 1e-3  # a delay of 0 has no logarithm


@dataclass(frozen=True)
class ReuseStatistics:
    """Tables by (intent, turn), shape [K + 1, T + 2].

    Index with an intent code and a turn clipped to T + 1. Row K is unknown intent (code
    -1 wraps around to it): a state like the others, so that a trace without labels still
    has statistics by turn. Column 0 is unused; column T + 1, everything deeper than the
    T turns seen, and every state that was not observed hold the defaults.

    Parameters
    ----------
    reuse : float64[K + 1, T + 2]
        P(t + 1 | i, t); 0.5 where the state was not reached (IAC, A.2).
    mu, sigma : float64[K + 1, T + 2]
        Mean and standard deviation of log delay in seconds; where no delay was seen, ln 150
        (IAC, A.2) and 1 (ours; the variance of the paper's synthetic delays). A single
        delay has sigma 0.
    reached, continued : float64[K + 1, T + 2]
        Requests in the state, and those with a follow-up within the timeout.
    intents : tuple of str or None
        What the codes mean; None if nobody said.
    """

    reuse: np.ndarray
    mu: np.ndarray
    sigma: np.ndarray
    reached: np.ndarray
    continued: np.ndarray
    intents: tuple[str, ...] | None = None

    @classmethod
    def from_moments(
        cls,
        reached: np.ndarray,
        continued: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        intents: tuple[str, ...] | None = None,
    ) -> ReuseStatistics:
        """Return the tables for counts and log-delay moments, defaults where there are none."""
        delayed = continued > 0
        return cls(
            reuse=np.where(reached > 0, continued / np.maximum(reached, 1), DEFAULT_REUSE),
            mu=np.where(delayed, mean, np.log(DEFAULT_WINDOW_S)),
            sigma=np.where(delayed, np.sqrt(np.maximum(variance, 0.0)), DEFAULT_SIGMA),
            reached=reached.astype(np.float64),
            continued=continued.astype(np.float64),
            intents=intents,
        )

    def check_intents(self, trace: Trace) -> None:
        """Refuse a trace whose intent codes mean something else than they did in the history.

        Raises
        ------
        ValueError
            Naming both sets of intents.
        """
        if self.intents is not None and self.intents != trace.intents:
            raise ValueError(
                f"statistics are of the intents {self.intents}, {trace.name} has {trace.intents}; "
                "give both traces the same categories, in the same order"
            )

    def windows(self, kind: Literal["median", "mean", "mode"] = "median") -> np.ndarray:
        """Return float64[K + 1, T + 2]: the reuse window M in seconds (IAC, 4.3 and Fig. 9)."""
        match kind:
            case "median":
                return np.exp(self.mu)
            case "mean":
                return np.exp(self.mu + self.sigma**2 / 2)
            case "mode":
                return np.exp(self.mu - self.sigma**2)
        raise ValueError(f"window must be median, mean or mode, got {kind!r}")

    def merge(self, groups: np.ndarray) -> ReuseStatistics:
        """Pool intents, keeping the shape so that original codes still index the tables.

        Parameters
        ----------
        groups : int[K]
            Group of each intent; unknown intent stays by itself.

        Raises
        ------
        ValueError
            If `groups` does not have one entry per intent.
        """
        groups = np.asarray(groups)
        if groups.shape != (len(self.reuse) - 1,):
            raise ValueError(f"need {len(self.reuse) - 1} groups, got shape {groups.shape}")
        return self.pool(np.append(groups, groups.max(initial=-1) + 1))

    def without_intent(self) -> ReuseStatistics:
        """Pool all intents, unknown included: statistics by turn alone (IAC, Fig. 8a)."""
        return self.pool(np.zeros(len(self.reuse), np.int64))

    def pool(self, groups: np.ndarray) -> ReuseStatistics:
        """Return the statistics of pooled rows; `groups` is int[K + 1]."""
        members = (groups[:, None] == groups[None, :]).astype(np.float64)
        reached, continued = members @ self.reached, members @ self.continued
        total = np.maximum(continued, 1)
        mean = members @ (self.continued * self.mu) / total
        within = members @ (self.continued * self.sigma**2)
        between = members @ (self.continued * self.mu**2) - total * mean**2
        variance = (within + between) / total
        return self.from_moments(reached, continued, mean, variance, self.intents)


def fit_statistics(
    trace: Trace, timeout_s: float = TIMEOUT_S, max_turn: int = MAX_TURN
) -> ReuseStatistics:
    """Estimate reuse probability and delay of every (intent, turn) (IAC, 4.2).

    A gap above the timeout completes a conversation; what follows is a new record that
    keeps its turn numbers. A record takes its most recent intent throughout. The end of the
    trace completes everything: cut histories between conversations, not at a time.

    Parameters
    ----------
    trace : Trace
    timeout_s : float
        Seconds without a follow-up that complete a conversation.
    max_turn : int
        Deepest turn with a state of its own (ours); deeper ones are too rare to estimate
        and get the defaults. T is the deepest turn seen, at most this.
    """
    order = np.argsort(trace.conversation_codes, kind="stable")
    turn = trace.column("turn")[order].astype(np.int64)
    gap = trace.next_gap_s[order]
    continues = gap <= timeout_s  # False for NaN: no next turn
    ends = np.flatnonzero(~continues)
    intent = trace.column("intent")[order].astype(np.int64)
    intent = np.repeat(intent[ends], np.diff(ends, prepend=-1))

    intents = len(trace.intents)
    seen = turn <= max_turn
    deepest = int(turn[seen].max(initial=0))
    shape = (intents + 1, deepest + 2)
    state = np.where(intent < 0, intents, intent) * shape[1] + turn
    reached = np.bincount(state[seen], minlength=shape[0] * shape[1])

    follow = continues & seen
    state, log_delay = state[follow], np.log(np.maximum(gap[follow], MIN_DELAY_S))
    continued = np.bincount(state, minlength=len(reached))
    total = np.maximum(continued, 1)
    mean = np.bincount(state, log_delay, len(reached)) / total
    variance = np.bincount(state, (log_delay - mean[state]) ** 2, len(reached)) / total
    tables = (table.reshape(shape) for table in (reached, continued, mean, variance))
    return ReuseStatistics.from_moments(*tables, trace.intents)
